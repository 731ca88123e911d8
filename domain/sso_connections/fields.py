"""Check the fields of connections in requests and commands, and convert them to stored values."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from domain import identifiers
from domain.context import Context
from domain.errors import Field, ValidationError
from domain.organizations import roles
from domain.organizations.errors import RoleNotFound
from domain.sso.domain_names import DomainNames, InvalidDomain
from domain.sso_connections.errors import InvalidSsoDomain
from models.sso_connection import ConnectionState, SecondFactor

NAME_LENGTH = 64
MOST_DOMAINS = 100
MOST_GROUPS = 200
GROUP_LENGTH = 256

MAPPING = {
    "id": "id",
    "email": "email",
    "name": "name",
    "firstName": "first_name",
    "lastName": "last_name",
    "image": "image",
    "groups": "groups",
}
"""The attributes of `AttributeNames` by the names of the fields of `mapping` in requests."""
ENDPOINTS = {
    "discoveryEndpoint": "discovery_url",
    "authorizationEndpoint": "authorization_endpoint",
    "tokenEndpoint": "token_endpoint",
    "userInfoEndpoint": "userinfo_endpoint",
    "jwksEndpoint": "jwks_uri",
    "endSessionEndpoint": "end_session_endpoint",
}
"""The attributes of `OidcConfig` with URLs, by the names of their fields in requests."""

_COLUMNS = {
    "name": "name",
    "state": "state",
    "signUp": "sign_up",
    "secondFactor": "second_factor",
    "idpInitiated": "idp_initiated",
}
"""The fields that are stored as they are, with their columns."""

NAMES = {
    **{column: name for name, column in _COLUMNS.items()},
    "default_role": "defaultRole",
    "group_roles": "groupRoles",
}
"""The names of fields by the names of their columns."""


def columns(ctx: Context, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the column values of the fields in `sent`, except issuer, configuration and domains.

    Raises ValidationError.
    """
    values = {column: sent[name] for name, column in _COLUMNS.items() if name in sent}
    name = values.get("name")
    if name is not None and (not 1 <= len(name) <= NAME_LENGTH or not identifiers.is_name(name)):
        refuse("name", f"must have 1 to {NAME_LENGTH} characters, without control characters")
    _check_word(values, "state", "state", [one.value for one in ConnectionState])
    _check_word(values, "second_factor", "secondFactor", [one.value for one in SecondFactor])
    if "defaultRole" in sent:
        values["default_role"] = _role(ctx, "defaultRole", sent["defaultRole"])
    if "groupRoles" in sent:
        values["group_roles"] = _group_roles(ctx, sent["groupRoles"])
    return values


def roles_in(values: Mapping[str, Any]) -> list[str]:
    """Return all roles in the columns `default_role` and `group_roles`, those that are present."""
    groups = json.loads(values.get("group_roles", "{}"))
    return [*([values["default_role"]] if "default_role" in values else []), *groups.values()]


def _check_word(values: Mapping[str, Any], column: str, name: str, words: Sequence[str]) -> None:
    if column in values and values[column] not in words:
        refuse(name, f"must be one of {', '.join(words)}")


def _group_roles(ctx: Context, sent: Mapping[str, str]) -> str:
    if len(sent) > MOST_GROUPS or not all(0 < len(group) <= GROUP_LENGTH for group in sent):
        refuse("groupRoles", f"must have at most {MOST_GROUPS} groups of 1 to {GROUP_LENGTH} characters")
    found = {group: _role(ctx, "groupRoles", role) for group, role in sent.items()}
    return json.dumps(found, ensure_ascii=False, sort_keys=True)


def _role(ctx: Context, name: str, text: str) -> str:
    """Return roles of an organization as they are stored. No provider gives the role of owners."""
    try:
        names = roles.names_of(ctx.policy, text)
    except RoleNotFound:
        refuse(name, "must be roles of organizations that are configured")
    if roles.OWNER in names:  # defence: SSO10 never-owner
        refuse(name, "must not be owner: an owner makes owners")
    return roles.text_of(names)


def domains(ctx: Context, text: str | Sequence[str]) -> list[str]:
    """Return domains in their stored form, from a list or a text that is separated by commas.

    Raises ValidationError, InvalidSsoDomain.
    """
    written = text.split(",") if isinstance(text, str) else text
    names = [name.strip() for name in written if name.strip()]
    if not 1 <= len(names) <= MOST_DOMAINS:
        refuse("domain", f"must be 1 to {MOST_DOMAINS} domains, separated by commas")
    return list(dict.fromkeys(domain(ctx, name) for name in names))


def domain(ctx: Context, text: str) -> str:
    """Return a domain in the form in which it is stored. Raises InvalidSsoDomain."""
    try:
        return ctx.port[DomainNames].normalize(text)
    except InvalidDomain as fault:
        raise InvalidSsoDomain(f"{InvalidSsoDomain.message}: {fault}") from None


def refuse(name: str, problem: str) -> NoReturn:
    """Raise ValidationError for the field `name` of the body, with the problem as message."""
    raise ValidationError(f"[body.{name}] {problem}", Field("body", name, problem))
