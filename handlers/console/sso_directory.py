"""The SCIM directory of a connection: its tokens, and the button that resumes a stopped directory."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from domain.context import Context
from domain.localization import N_
from domain.scim import management
from domain.scim.errors import DirectoryNotStopped, ScimTokenNotFound
from domain.sso_connections import search
from handlers import shapes
from handlers.account_pages import shown_once
from handlers.console import layout
from handlers.console.sso_connection import show_form
from handlers.console.sso_connections import LIST, page_of
from handlers.console.view import view
from handlers.responses.reply import Page, Redirect

FIELD_TEXTS: Mapping[str, str] = {"tokenName": N_("Enter a name that no other token of this directory has.")}
NOTICES = {
    "token-revoked": N_("The token is revoked. Requests with it are refused."),
    "token-gone": N_("This token no longer exists."),
    "directory-confirmed": N_("The directory may continue."),
    "directory-not-stopped": N_("The directory is not stopped, so there was nothing to confirm."),
}
TOKEN = f"{LIST}/token"
DAYS = (30, 90, 365)
"""The lifetimes of tokens that the form offers, in days; it also offers tokens that do not expire."""


# console.sso_directory.create_token
async def create_token(ctx: Context, provider_id: str, body: shapes.ConsoleScimTokenForm) -> Redirect:
    """Create a SCIM token, and redirect to the page that shows it once."""
    search.require(ctx, fresh=True)
    here = view(ctx)
    connection = await management.managed(ctx, provider_id, change=True)
    days = int(body.get("days", "") or 0)
    expires_in = timedelta(days=days) if days else None
    row, text = await management.create_token(
        ctx, connection, body["tokenName"].strip(), expires_in, is_new_name=True
    )
    state = await management.state_of(ctx, connection)
    return shown_once.redirect(
        ctx, here, TOKEN, provider=provider_id, name=row.name, url=state.url, text=text
    )


# console.sso_directory.show_token
async def show_token(ctx: Context, ui_locales: str | None = None) -> Page | Redirect:
    """Show a new SCIM token; redirect to the list of connections if the token is no longer available."""
    search.require(ctx)
    here = view(ctx, TOKEN, ui_locales)
    content = shown_once.content_of(ctx, here, TOKEN)
    if content is None:
        return here.redirect(LIST)
    return layout.render(
        ctx, here, "sso/token.html", connection_url=here.url(page_of(content["provider"])), **content
    )


# console.sso_directory.show_revocation
async def show_revocation(
    ctx: Context, provider_id: str, token: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Ask for confirmation before a SCIM token is revoked."""
    search.require(ctx, fresh=True)
    connection = await management.managed(ctx, provider_id)
    found = [one for one in await management.list_tokens(ctx, connection) if one.id == token]
    if not found:
        return layout.done(ctx, view(ctx, None, ui_locales), page_of(provider_id), "token-gone")
    # A connection from the configuration has tokens, too.
    more: dict[str, Any] = {"token": found[0].id, "row": found[0], "is_read_only": False}
    return await show_form(ctx, provider_id, "revoke-token", "revoke_token.html", ui_locales, **more)


# console.sso_directory.revoke_token
async def revoke_token(ctx: Context, provider_id: str, body: shapes.ConsoleScimRevocationForm) -> Redirect:
    """Revoke a SCIM token."""
    search.require(ctx, fresh=True)
    here, notice = view(ctx), "token-revoked"
    connection = await management.managed(ctx, provider_id, change=True)
    try:
        await management.revoke_token(ctx, connection, body["token"])
    except ScimTokenNotFound:  # A form that is sent twice.
        notice = "token-gone"
    return layout.done(ctx, here, page_of(provider_id), notice)


# console.sso_directory.confirm
async def confirm(ctx: Context, provider_id: str, body: shapes.ConsoleConnectionButtonForm) -> Redirect:
    """Resume a directory that was stopped because it disabled too many users."""
    search.require(ctx, fresh=True)
    here, notice = view(ctx), "directory-confirmed"
    connection = await management.managed(ctx, provider_id, change=True)
    try:
        await management.confirm(ctx, connection)
    except DirectoryNotStopped:  # A form that is sent twice.
        notice = "directory-not-stopped"
    return layout.done(ctx, here, page_of(provider_id), notice)
