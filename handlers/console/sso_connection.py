"""The page of one connection for single sign-on, and the forms that change it."""

from collections.abc import Callable, Mapping
from typing import Any

from domain.context import Context
from domain.localization import N_
from domain.scim import management
from domain.scim.policy import ScimPolicy
from domain.sso_connections import connections, domains, forms, search
from domain.sso_connections.domains import Connection
from domain.sso_connections.errors import SsoProviderNotFound
from handlers import shapes
from handlers.account_pages import shown_once
from handlers.console import layout
from handlers.console.sso_connections import LIST, page_of, words
from handlers.console.view import ConsoleView, view
from handlers.responses.reply import Page, Redirect
from handlers.sso_connections import provider_shape
from handlers.sso_pages import certificates
from handlers.sso_pages.connections import urls_of
from models.sso_connection import ConnectionRow, ConnectionSource, ConnectionState, ConnectionType

NOTICES = {
    "connection-active": N_(
        "The connection is active. Users with addresses in its verified domains can sign in with it."
    ),
    "connection-paused": N_(
        "The connection is paused. Users cannot sign in with it until it is active again."
    ),
    "connection-deleted": N_("The connection is deleted, with the identities and sessions of its users."),
    "connection-gone": N_("This connection no longer exists."),
}
FIELD_TEXTS = {"typedConnection": N_("This is not the identifier of the connection.")}


# console.sso_connection.show
async def show(ctx: Context, provider_id: str, ui_locales: str | None = None) -> Page:
    """Show a connection with its domains, certificates and SCIM directory."""
    search.require(ctx)
    found = await connections.get(ctx, provider_id)
    here = view(ctx, page_of(provider_id), ui_locales)
    return layout.render(
        ctx,
        here,
        "sso/show.html",
        headers=shown_once.forget(ctx),
        **await values(ctx, here, found),
        provider=provider_shape(ctx, found),
        certificates=certificates.certificates_of(ctx, found.row),
        urls=urls_of(ctx, found.row),
        directory=await _directory(ctx, found),
    )


async def values(ctx: Context, here: ConsoleView, found: Connection) -> Mapping[str, Any]:
    """Return the template values that all pages of a connection need."""
    row, own = found
    return {
        "connection": row,
        "domains": own,
        "page": page_of(row.provider_id),
        "is_read_only": row.source == ConnectionSource.CONFIG,
        "is_saml": row.type == ConnectionType.SAML,
        "organization": await search.organization_of(ctx, row),
        "record": domains.label(row.provider_id),
        **words(here),
    }


async def _directory(ctx: Context, found: Connection) -> Mapping[str, Any] | None:
    """Return the state and the tokens of a connection's SCIM directory; None if SCIM is off."""
    if not ctx.policy[ScimPolicy].enabled:
        return None
    return {
        "state": await management.state_of(ctx, found.row),
        "tokens": await management.list_tokens(ctx, found.row),
        "most": management.MOST_TOKENS,
    }


async def show_form(
    ctx: Context,
    provider_id: str,
    act: str,
    template: str,
    ui_locales: str | None,
    *,
    values_of: Callable[[Context, ConsoleView, ConnectionRow], Mapping[str, Any]] | None = None,
    **more: Any,
) -> Page | Redirect:
    """Return the page with a form that changes a connection; `act` is the last part of the page's path.

    `more` has values for the template; the texts among them are also the page's query. `values_of` returns further
    values for the template. If the connection does not exist, redirect to the list.
    """
    search.require(ctx, fresh=True)
    try:
        found = await connections.get(ctx, provider_id)
    except SsoProviderNotFound:
        return gone(ctx, view(ctx, None, ui_locales))
    page = page_of(provider_id)
    query = {name: value for name, value in more.items() if isinstance(value, str)}
    here = view(ctx, f"{page}/{act}", ui_locales, **query)
    return layout.render(
        ctx,
        here,
        f"sso/{template}",
        connection_url=here.url(page),
        action=here.action(f"{page}/{act}"),
        **({} if values_of is None else values_of(ctx, here, found.row)),
        **{**await values(ctx, here, found), **more},
    )


def gone(ctx: Context, here: ConsoleView) -> Redirect:
    """Return the redirect to the list of connections, which shows that the connection no longer exists."""
    return layout.done(ctx, here, LIST, "connection-gone")


# console.sso_connection.show_pausing
async def show_pausing(ctx: Context, provider_id: str, ui_locales: str | None = None) -> Page | Redirect:
    """Ask for confirmation before a connection is paused."""
    return await show_form(ctx, provider_id, "pause", "pause.html", ui_locales)


# console.sso_connection.pause
async def pause(ctx: Context, provider_id: str, body: shapes.ConsoleConnectionButtonForm) -> Redirect:
    """Pause a connection."""
    return await _set_state(ctx, provider_id, ConnectionState.PAUSED, "connection-paused")


# console.sso_connection.activate
async def activate(ctx: Context, provider_id: str, body: shapes.ConsoleConnectionButtonForm) -> Redirect:
    """Activate a connection, so that users can sign in through it."""
    return await _set_state(ctx, provider_id, ConnectionState.ACTIVE, "connection-active")


async def _set_state(ctx: Context, provider_id: str, state: ConnectionState, notice: str) -> Redirect:
    search.require(ctx, fresh=True)
    here = view(ctx)
    await connections.update(ctx, provider_id, {"state": state.value})
    return layout.done(ctx, here, page_of(provider_id), notice)


# console.sso_connection.show_deletion
async def show_deletion(ctx: Context, provider_id: str, ui_locales: str | None = None) -> Page | Redirect:
    """Ask for confirmation before a connection is deleted."""
    return await show_form(ctx, provider_id, "delete", "delete.html", ui_locales)


# console.sso_connection.delete
async def delete(ctx: Context, provider_id: str, body: shapes.ConsoleConnectionDeletionForm) -> Redirect:
    """Delete a connection if its identifier was typed as confirmation."""
    search.require(ctx, fresh=True)
    here = view(ctx)
    try:
        await forms.remove(ctx, provider_id, body["typedConnection"])
    except SsoProviderNotFound:  # A form that is sent twice.
        return gone(ctx, here)
    return layout.done(ctx, here, LIST, "connection-deleted")
