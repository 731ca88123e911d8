"""The domains of a connection for single sign-on: add, verify, require and remove them."""

from domain.context import Context
from domain.localization import N_
from domain.sso_connections import connections, search
from domain.sso_connections.errors import DomainVerificationFailed, DomainVerified
from handlers import shapes
from handlers.console import layout
from handlers.console.sso_connection import show_form
from handlers.console.sso_connections import page_of
from handlers.console.view import view
from handlers.responses.reply import Page, Redirect
from handlers.sso_pages import provider_form

NOTICES = {
    "domains-added": N_("The domains are added. Create the record of each, and then check it."),
    "domains-verified": N_("The domains are verified."),
    "domains-not-verified": N_(
        "A record was not found. It can take some hours until a new record is visible everywhere. Try again later."
    ),
    "domain-required": N_("Users with addresses in this domain must sign in with this connection now."),
    "domain-not-required": N_("Users with addresses in this domain can also sign in another way now."),
    "domain-removed": N_("The domain is removed."),
}


# console.sso_domains.add
async def add(ctx: Context, provider_id: str, body: shapes.ConsoleDomainsForm) -> Redirect:
    """Add domains to a connection."""
    search.require(ctx, fresh=True)
    here = view(ctx)
    with provider_form.named_fields():
        await connections.add_domains(ctx, provider_id, body["domains"])
    return layout.done(ctx, here, page_of(provider_id), "domains-added")


# console.sso_domains.verify
async def verify(ctx: Context, provider_id: str, body: shapes.ConsoleConnectionButtonForm) -> Redirect:
    """Verify the domains of a connection by their DNS records."""
    search.require(ctx, fresh=True)
    here, notice = view(ctx), "domains-verified"
    try:
        await connections.verify_domains(ctx, provider_id)
    except DomainVerificationFailed:  # The record may be found later, and other domains are verified now.
        notice = "domains-not-verified"
    except DomainVerified:  # A form that is sent twice.
        pass
    return layout.done(ctx, here, page_of(provider_id), notice)


# console.sso_domains.show_requirement
async def show_requirement(
    ctx: Context, provider_id: str, domain: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Ask for confirmation before users of a domain are required to sign in through its connection."""
    return await show_form(
        ctx, provider_id, "require-domain", "require_domain.html", ui_locales, domain=domain or ""
    )


# console.sso_domains.require
async def require(ctx: Context, provider_id: str, body: shapes.ConsoleRequiredDomainForm) -> Redirect:
    """Require users with an email address in a domain to sign in through the connection."""
    return await _set_required(
        ctx, provider_id, body["domain"], required=True, revoke_others="revokeOtherSessions" in body
    )


# console.sso_domains.release
async def release(ctx: Context, provider_id: str, body: shapes.ConsoleDomainForm) -> Redirect:
    """Stop requiring users of a domain to sign in through its connection."""
    return await _set_required(ctx, provider_id, body["domain"], required=False)


async def _set_required(
    ctx: Context, provider_id: str, domain: str, *, required: bool, revoke_others: bool = False
) -> Redirect:
    search.require(ctx, fresh=True)
    here = view(ctx)
    await connections.require_domain(ctx, provider_id, domain, required=required, revoke_others=revoke_others)
    notice = "domain-required" if required else "domain-not-required"
    return layout.done(ctx, here, page_of(provider_id), notice)


# console.sso_domains.show_removal
async def show_removal(
    ctx: Context, provider_id: str, domain: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Ask for confirmation before a domain is removed."""
    return await show_form(
        ctx, provider_id, "remove-domain", "remove_domain.html", ui_locales, domain=domain or ""
    )


# console.sso_domains.remove
async def remove(ctx: Context, provider_id: str, body: shapes.ConsoleDomainForm) -> Redirect:
    """Remove a domain from a connection."""
    search.require(ctx, fresh=True)
    here = view(ctx)
    await connections.remove_domain(ctx, provider_id, body["domain"])
    return layout.done(ctx, here, page_of(provider_id), "domain-removed")
