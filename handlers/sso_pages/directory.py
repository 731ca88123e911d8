"""The SCIM directory of a connection: its tokens, and the button that resumes a stopped directory."""

from collections.abc import Mapping
from datetime import timedelta

from domain.context import Context
from domain.localization import N_
from domain.scim import management
from domain.scim.errors import DirectoryNotStopped, ScimTokenNotFound
from handlers import shapes
from handlers.account_pages import shown_once
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect
from handlers.sso_pages import layout
from models.sso_connection import ConnectionRow

ERROR_TEXTS: Mapping[str, str] = {
    "TOO_MANY_SCIM_TOKENS": N_("There are as many tokens as are allowed. Revoke one first."),
}
ERROR_FIELDS: Mapping[str, tuple[str, ...]] = {"TOO_MANY_SCIM_TOKENS": ("tokenName",)}
FIELD_LABELS: Mapping[str, str] = {"tokenName": N_("Name of a new token"), "days": N_("It expires")}
FIELD_TEXTS: Mapping[str, str] = {"tokenName": N_("Enter a name that no other token of this directory has.")}

_PAGE = "/directory"


# sso_pages.show_directory
async def show_directory(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    connection: str | None = None,
    reason: str | None = None,
) -> Page | Redirect:
    """Show the state and the tokens of a SCIM directory. `reason` selects the notice to show after a form."""
    opened = await layout.open_connection(ctx, id_, _PAGE, callback_url, ui_locales, connection)
    if isinstance(opened, Redirect):
        return opened
    row = opened.connection.row
    tokens = await management.list_tokens(ctx, row)
    return layout.render(
        ctx,
        opened,
        "directory.html",
        headers=shown_once.forget(ctx),
        reason=reason,
        state=await management.state_of(ctx, row),
        tokens=tokens,
        can_create=len(tokens) < management.MOST_TOKENS,
    )


# sso_pages.create_token
async def create_token(ctx: Context, id_: str, body: shapes.SsoTokenForm) -> Redirect:
    """Create a SCIM token, and redirect to the page that shows it once."""
    view, provider_id = views.view(ctx), body["connection"]
    connection = await _managed(ctx, id_, provider_id)
    if connection is None:
        return layout.gone(view, id_)
    days = int(body.get("days", "") or 0)
    row, text = await management.create_token(
        ctx, connection, body["tokenName"].strip(), timedelta(days=days) if days else None, is_new_name=True
    )
    state = await management.state_of(ctx, connection)
    page = layout.path_of(id_, "/token")
    return shown_once.redirect(
        ctx, view, page, connection=provider_id, name=row.name, url=state.url, text=text
    )


async def _managed(ctx: Context, organization_id: str, provider_id: str) -> ConnectionRow | None:
    """Return a connection, locked, whose directory the caller may change; None if there is none."""
    if await layout.find(ctx, organization_id, provider_id) is None:
        return None
    return await management.managed(ctx, provider_id, change=True)


# sso_pages.show_token
async def show_token(
    ctx: Context, id_: str, callback_url: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Show a new SCIM token; redirect to the list of connections if the token is no longer available."""
    opened = await layout.open_page(ctx, id_, "/token", callback_url, ui_locales)
    if isinstance(opened, Redirect):
        return opened
    content = shown_once.content_of(ctx, opened.view, layout.path_of(id_, "/token"))
    if content is None:
        return opened.view.redirect(layout.path_of(id_))
    return layout.render(ctx, opened, "token.html", **content)


# sso_pages.show_revocation
async def show_revocation(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    connection: str | None = None,
    token: str | None = None,
) -> Page | Redirect:
    """Ask for confirmation before a SCIM token is revoked."""
    opened = await layout.open_connection(
        ctx, id_, f"{_PAGE}/revoke", callback_url, ui_locales, connection, token=token
    )
    if isinstance(opened, Redirect):
        return opened
    row = opened.connection.row
    found = [one for one in await management.list_tokens(ctx, row) if one.id == token]
    if not found:
        return layout.to(opened.view, id_, _PAGE, row.provider_id, reason="token-gone")
    return layout.render(ctx, opened, "revocation.html", token=found[0])


# sso_pages.revoke_token
async def revoke_token(ctx: Context, id_: str, body: shapes.SsoTokenRevocationForm) -> Redirect:
    """Revoke a SCIM token."""
    view, provider_id, reason = views.view(ctx), body["connection"], "token-revoked"
    connection = await _managed(ctx, id_, provider_id)
    if connection is None:
        return layout.gone(view, id_)
    try:
        await management.revoke_token(ctx, connection, body["token"])
    except ScimTokenNotFound:  # A form that is sent twice.
        reason = "token-gone"
    return layout.to(view, id_, _PAGE, provider_id, reason=reason)


# sso_pages.confirm_directory
async def confirm_directory(ctx: Context, id_: str, body: shapes.SsoConnectionForm) -> Redirect:
    """Resume a directory that was stopped because it disabled too many users."""
    view, provider_id, reason = views.view(ctx), body["connection"], "directory-confirmed"
    connection = await _managed(ctx, id_, provider_id)
    if connection is None:
        return layout.gone(view, id_)
    try:
        await management.confirm(ctx, connection)
    except DirectoryNotStopped:  # A form that is sent twice.
        reason = "directory-not-stopped"
    return layout.to(view, id_, _PAGE, provider_id, reason=reason)
