"""Convert between the form with the settings of a connection and the fields of API operations."""

import json
from collections.abc import Mapping
from typing import Any

from domain.context import Context
from domain.localization import N_
from domain.organizations.policy import OrganizationPolicy
from domain.organizations.roles import OWNER
from domain.sso.configuration import AttributeNames, config_of
from domain.sso.policy import SsoPolicy
from domain.sso_connections import forms
from handlers import wire
from handlers.organization_pages.layout import role_name
from handlers.pages.view import View
from models.sso_connection import ConnectionRow

FIELD_TEXTS: Mapping[str, str] = {
    "groupRoles": N_(
        "Write a group, an equals sign and a role on each line, such as “admins = admin”. No user becomes an owner by "
        "a group."
    ),
    "defaultRole": N_("Choose a role that exists. No user becomes an owner by signing in."),
}

FIELD_LABELS: Mapping[str, str] = {
    "defaultRole": N_("Role of new members"),
    "emailAttribute": N_("Email address"),
    "groupRoles": N_("Roles by group"),
    "groupsAttribute": N_("Groups"),
    "nameAttribute": N_("Full name"),
    "secondFactor": N_("Second factor"),
}

_ATTRIBUTES = {"emailAttribute": "email", "nameAttribute": "name", "groupsAttribute": "groups"}
"""The form fields with names of attributes, and the members of the attribute mapping that they stand for."""


def values(ctx: Context, view: View, row: ConnectionRow) -> Mapping[str, Any]:
    """Return the template values for the form with the settings of a connection."""
    known = [name for name in ctx.policy[OrganizationPolicy].roles if name != OWNER]
    # Several roles, or one that is no longer configured, would otherwise be lost when another field is changed.
    offered = known if row.default_role in known else [row.default_role, *known]
    return {
        "stored": _stored(ctx, row),
        "version": wire.instant(row.updated_at),
        "roles": [(name, role_name(view.localization, name)) for name in offered],
        "role_names": known,
        "allows_unsolicited": ctx.policy[SsoPolicy].idp_initiated,
        "is_stale": view.form.code == "STALE_SSO_PROVIDER",
    }


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


def sent_fields(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of an API operation from a form; those about roles only if the form contains them.

    Raises ValidationError if the roles of groups are malformed.
    """
    sent = {
        "name": body["name"].strip(),
        "signUp": "signUp" in body,
        "secondFactor": body["secondFactor"],
        "idpInitiated": "idpInitiated" in body,
        "overrideUserInfo": "overrideUserInfo" in body,
    }
    if "defaultRole" in body:
        sent["defaultRole"] = body["defaultRole"]
        sent["groupRoles"] = forms.group_roles(body.get("groupRoles", ""))
    return sent


def attribute_names(body: Mapping[str, Any]) -> Mapping[str, str | None]:
    """Return the names of attributes from a form, by member of the attribute mapping; None for the default name."""
    return {column: body.get(name, "").strip() or None for name, column in _ATTRIBUTES.items()}
