"""The list of the connections of an organization, and the page of one: show, switch on, pause and delete it."""

from collections.abc import Mapping

from domain.context import Context
from domain.scim.policy import ScimPolicy
from domain.sso import endpoints
from domain.sso.configuration import SamlConfig, config_of
from domain.sso_connections import connections, forms
from handlers import shapes
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect
from handlers.sso_pages import certificates, layout
from models.sso_connection import ConnectionRow, ConnectionType


# sso_pages.show_connections
async def show_connections(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    reason: str | None = None,
) -> Page | Redirect:
    """Show the connections of an organization. `reason` selects the notice to show after a form."""
    opened = await layout.open_page(ctx, id_, "", callback_url, ui_locales)
    if isinstance(opened, Redirect):
        return opened
    found = await connections.list_of_organization(ctx, id_)
    return layout.render(
        ctx,
        opened,
        "connections.html",
        reason=reason,
        connections=[(*one, certificates.first_end(ctx, one.row)) for one in found],
    )


# sso_pages.show_connection
async def show_connection(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    connection: str | None = None,
    reason: str | None = None,
) -> Page | Redirect:
    """Show a connection: the remaining steps, its certificates, and the URLs that the identity provider needs."""
    opened = await layout.open_connection(ctx, id_, "", callback_url, ui_locales, connection)
    if isinstance(opened, Redirect):
        return opened
    row, domains = opened.connection
    return layout.render(
        ctx,
        opened,
        "connection.html",
        reason=reason,
        has_verified=any(one.verified_at is not None for one in domains),
        certificates=certificates.certificates_of(ctx, row),
        values=urls_of(ctx, row),
        has_directory=ctx.policy[ScimPolicy].enabled,
    )


def urls_of(ctx: Context, row: ConnectionRow) -> Mapping[str, str]:
    """Return the URLs of this service that the identity provider of a connection needs, by their kinds.

    The kind is `redirect` for OpenID Connect; for SAML there are `acs`, `entity`, `logout` and `metadata`.
    """
    if row.type == ConnectionType.OIDC:
        return {"redirect": endpoints.callback_url(ctx.policy, row.provider_id)}
    config = config_of(ctx.cipher, row)
    metadata = endpoints.metadata_url(ctx.policy, row.provider_id)
    audience = config.audience if isinstance(config, SamlConfig) else None
    return {
        "acs": endpoints.acs_url(ctx.policy, row.provider_id),
        "entity": audience or metadata,
        "logout": endpoints.logout_url(ctx.policy, row.provider_id),
        "metadata": metadata,
    }


# sso_pages.set_state
async def set_state(ctx: Context, id_: str, body: shapes.SsoStateForm) -> Redirect:
    """Activate or pause a connection."""
    view, provider_id = views.view(ctx), body["connection"]
    if await layout.find(ctx, id_, provider_id) is None:
        return layout.gone(view, id_)
    await connections.update(ctx, provider_id, {"state": body["state"]})
    return layout.to(view, id_, "", provider_id, reason=body["state"])


# sso_pages.show_deletion
async def show_deletion(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    connection: str | None = None,
) -> Page | Redirect:
    """Show the form that deletes a connection; the user must type its identifier as confirmation."""
    opened = await layout.open_connection(ctx, id_, "/delete", callback_url, ui_locales, connection)
    return opened if isinstance(opened, Redirect) else layout.render(ctx, opened, "deletion.html")


# sso_pages.delete_connection
async def delete_connection(ctx: Context, id_: str, body: shapes.SsoDeletionForm) -> Redirect:
    """Delete a connection if its identifier was typed as confirmation."""
    view, provider_id = views.view(ctx), body["connection"]
    # A form that is sent twice, or from a stale page, has reached its goal already.
    if await layout.find(ctx, id_, provider_id) is not None:
        await forms.remove(ctx, provider_id, body["typedConnection"])
    return view.redirect(layout.path_of(id_), reason="deleted")
