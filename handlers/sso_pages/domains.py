"""The domains of a connection: add, verify, require and remove them."""

from domain.context import Context
from domain.sso_connections import connections, domains
from domain.sso_connections.errors import DomainVerificationFailed, DomainVerified
from handlers import shapes
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect
from handlers.sso_pages import layout

_PAGE = "/domains"


# sso_pages.show_domains
async def show_domains(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    connection: str | None = None,
    reason: str | None = None,
) -> Page | Redirect:
    """Show the domains of a connection, and the DNS records to create for those that are not verified."""
    opened = await layout.open_connection(ctx, id_, _PAGE, callback_url, ui_locales, connection)
    if isinstance(opened, Redirect):
        return opened
    row, rows = opened.connection
    return layout.render(
        ctx,
        opened,
        "domains.html",
        reason=reason,
        record=domains.label(row.provider_id),
        pending=[one for one in rows if one.verified_at is None],
    )


# sso_pages.add_domains
async def add_domains(ctx: Context, id_: str, body: shapes.SsoDomainsForm) -> Redirect:
    """Add domains to a connection."""
    view, provider_id = views.view(ctx), body["connection"]
    if await layout.find(ctx, id_, provider_id) is None:
        return layout.gone(view, id_)
    await connections.add_domains(ctx, provider_id, body["domains"])
    return layout.to(view, id_, _PAGE, provider_id, reason="added")


# sso_pages.verify_domains
async def verify_domains(ctx: Context, id_: str, body: shapes.SsoConnectionForm) -> Redirect:
    """Verify the domains of a connection by their DNS records."""
    view, provider_id = views.view(ctx), body["connection"]
    if await layout.find(ctx, id_, provider_id) is None:
        return layout.gone(view, id_)
    try:
        await connections.verify_domains(ctx, provider_id)
    # Not an error of the form: the record may be found later, and other domains are verified now.
    except DomainVerificationFailed:
        return layout.to(view, id_, _PAGE, provider_id, reason="not-verified")
    # A form that is sent twice, or from a stale page, has reached its goal already.
    except DomainVerified:
        pass
    return layout.to(view, id_, _PAGE, provider_id, reason="verified")


# sso_pages.show_requirement
async def show_requirement(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    connection: str | None = None,
    domain: str | None = None,
) -> Page | Redirect:
    """Ask for confirmation before users of a domain are required to sign in with a connection."""
    return await _ask(ctx, id_, "require", "requirement.html", callback_url, ui_locales, connection, domain)


async def _ask(
    ctx: Context,
    id_: str,
    act: str,
    template: str,
    callback_url: str | None,
    ui_locales: str | None,
    connection: str | None,
    domain: str | None,
) -> Page | Redirect:
    opened = await layout.open_connection(
        ctx, id_, f"{_PAGE}/{act}", callback_url, ui_locales, connection, domain=domain
    )
    if isinstance(opened, Redirect):
        return opened
    row, rows = opened.connection
    if domain not in {one.domain for one in rows}:
        return layout.to(opened.view, id_, _PAGE, row.provider_id)
    return layout.render(ctx, opened, template, domain=domain, is_last=len(rows) == 1)


# sso_pages.require_domain
async def require_domain(ctx: Context, id_: str, body: shapes.SsoRequiredDomainForm) -> Redirect:
    """Require the users of a domain to sign in with a connection, or no longer require it."""
    view, provider_id = views.view(ctx), body["connection"]
    required = body.get("required") == "true"
    if await layout.find(ctx, id_, provider_id) is None:
        return layout.gone(view, id_)
    revoke_others = "revokeOtherSessions" in body
    await connections.require_domain(
        ctx, provider_id, body["domain"], required=required, revoke_others=revoke_others
    )
    return layout.to(view, id_, _PAGE, provider_id, reason="required" if required else "not-required")


# sso_pages.show_domain_removal
async def show_domain_removal(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    connection: str | None = None,
    domain: str | None = None,
) -> Page | Redirect:
    """Ask for confirmation before a domain is removed; the last domain of a connection cannot be removed."""
    return await _ask(ctx, id_, "remove", "domain_removal.html", callback_url, ui_locales, connection, domain)


# sso_pages.remove_domain
async def remove_domain(ctx: Context, id_: str, body: shapes.SsoDomainForm) -> Redirect:
    """Remove a domain from a connection."""
    view, provider_id = views.view(ctx), body["connection"]
    if await layout.find(ctx, id_, provider_id) is None:
        return layout.gone(view, id_)
    await connections.remove_domain(ctx, provider_id, body["domain"])
    return layout.to(view, id_, _PAGE, provider_id, reason="domain-removed")
