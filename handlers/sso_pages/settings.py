"""The settings of a connection, and its identity provider, as forms."""

import json
from collections.abc import Mapping
from typing import Any

from domain import identifiers
from domain.context import Context
from domain.localization import N_
from domain.organizations.policy import OrganizationPolicy
from domain.organizations.roles import OWNER
from domain.sso.configuration import AttributeNames, config_of
from domain.sso.policy import SsoPolicy
from domain.sso_connections import connections, forms
from handlers import shapes, wire
from handlers.organization_pages.layout import role_name
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect
from handlers.sso_pages import layout
from handlers.sso_pages.provider_form import named_fields, sent_fields
from models.sso_connection import ConnectionRow

FIELD_TEXTS: Mapping[str, str] = {
    "groupRoles": N_(
        "Write a group, an equals sign and a role on each line, such as “admins = admin”. Nobody becomes an owner by "
        "a group."
    ),
    "defaultRole": N_("Choose a role that exists. Nobody becomes an owner by signing in."),
    "typedConnection": N_("This is not the identifier of the connection."),
}

_ATTRIBUTES = {"emailAttribute": "email", "nameAttribute": "name", "groupsAttribute": "groups"}
"""The fields with names of attributes, with those of the mapping."""


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
    row, localization = opened.connection.row, opened.view.localization
    known = [name for name in ctx.policy[OrganizationPolicy].roles if name != OWNER]
    offered = known if row.default_role in known else [row.default_role, *known]
    return layout.render(
        ctx,
        opened,
        "settings.html",
        stored=_stored(ctx, row),
        version=wire.instant(row.updated_at),
        roles=[(name, role_name(localization, name)) for name in offered],
        role_names=known,
        allows_unsolicited=ctx.policy[SsoPolicy].idp_initiated,
        is_stale=opened.view.form.code == "STALE_SSO_PROVIDER",
    )


def _stored(ctx: Context, row: ConnectionRow) -> Mapping[str, Any]:
    config = config_of(ctx.cipher, row)
    names = AttributeNames() if config is None else config.names
    groups: Mapping[str, str] = json.loads(row.group_roles)
    return {
        "name": row.name,
        "signUp": row.sign_up,
        "secondFactor": row.second_factor,
        "defaultRole": row.default_role,
        "groupRoles": "\n".join(f"{group} = {role}" for group, role in groups.items()),
        "idpInitiated": row.idp_initiated,
        "overrideUserInfo": config is not None and config.override_user_info,
        **{name: getattr(names, column) or "" for name, column in _ATTRIBUTES.items()},
    }


# sso_pages.update_settings
async def update_settings(ctx: Context, id_: str, body: shapes.SsoSettingsForm) -> Redirect:
    """Change the settings of a connection, unless it was changed after the form was shown."""
    view, provider_id = views.view(ctx), body["connection"]
    if await layout.find(ctx, id_, provider_id) is None:
        return layout.gone(view, id_)
    seen = identifiers.instant_or_none(body.get("version", ""))
    await forms.update_settings(ctx, provider_id, _sent({**body}), _mapping({**body}), seen=seen)
    return layout.to(view, id_, "", provider_id, reason="saved")


def _sent(body: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "name": body["name"].strip(),
        "signUp": "signUp" in body,
        "secondFactor": body["secondFactor"],
        "defaultRole": body["defaultRole"],
        "groupRoles": forms.group_roles(body.get("groupRoles", "")),
        "idpInitiated": "idpInitiated" in body,
        "overrideUserInfo": "overrideUserInfo" in body,
    }


def _mapping(body: Mapping[str, Any]) -> Mapping[str, str | None]:
    return {column: body.get(name, "").strip() or None for name, column in _ATTRIBUTES.items()}


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
