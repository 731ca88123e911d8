"""The forms that change the settings of a connection, or replace its identity provider."""

from collections.abc import Mapping

from domain import identifiers
from domain.context import Context
from domain.localization import N_
from domain.sso_connections import connections, forms
from handlers import shapes
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect
from handlers.sso_pages import layout, settings_form
from handlers.sso_pages.provider_form import named_fields, sent_fields

FIELD_LABELS: Mapping[str, str] = {"typedConnection": N_("Identifier of the connection")}
FIELD_TEXTS: Mapping[str, str] = {"typedConnection": N_("This is not the identifier of the connection.")}


# sso_pages.show_settings
async def show_settings(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    connection: str | None = None,
) -> Page | Redirect:
    """Show the settings of a connection as a form."""
    opened = await layout.open_connection(ctx, id_, "/settings", callback_url, ui_locales, connection)
    if isinstance(opened, Redirect):
        return opened
    values = settings_form.values(ctx, opened.view, opened.connection.row)
    return layout.render(ctx, opened, "settings.html", **values)


# sso_pages.update_settings
async def update_settings(ctx: Context, id_: str, body: shapes.SsoSettingsForm) -> Redirect:
    """Change the settings of a connection, unless the connection was changed after the form was shown."""
    view, provider_id = views.view(ctx), body["connection"]
    if await layout.find(ctx, id_, provider_id) is None:
        return layout.gone(view, id_)
    sent, names = settings_form.sent_fields({**body}), settings_form.attribute_names({**body})
    seen = identifiers.instant_or_none(body.get("version", ""))
    await forms.update_settings(ctx, provider_id, sent, names, seen=seen)
    return layout.to(view, id_, "", provider_id, reason="saved")


# sso_pages.show_provider
async def show_provider(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    connection: str | None = None,
) -> Page | Redirect:
    """Show a form that replaces the identity provider of a connection."""
    opened = await layout.open_connection(ctx, id_, "/provider", callback_url, ui_locales, connection)
    return opened if isinstance(opened, Redirect) else layout.render(ctx, opened, "provider.html")


# sso_pages.update_provider
async def update_provider(ctx: Context, id_: str, body: shapes.SsoProviderForm) -> Redirect:
    """Replace the identity provider of a connection: its metadata, or its issuer and client."""
    view, provider_id = views.view(ctx), body["connection"]
    found = await layout.find(ctx, id_, provider_id)
    if found is None:
        return layout.gone(view, id_)
    with named_fields():
        sent = sent_fields({**body}, found.row.type, is_new=False)
        await connections.update(ctx, provider_id, sent)
    return layout.to(view, id_, "", provider_id, reason="saved")
