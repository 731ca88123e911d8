"""Parsing and validation of one organization of another program, by the rules of organizations here."""

import re

from domain.data_import.eligibility import Field, Problem
from domain.data_import.organizations import (
    ImportedInvitation,
    ImportedMember,
    ImportedOrganization,
    ImportedTeam,
)
from domain.errors import Refusal
from domain.organizations import fields as rules_of_fields
from domain.organizations import roles
from domain.users.roles import MOST_ROLES
from domain.users.roles import parse as role_names
from server.importers import api_keys, parse, values
from server.importers.parse import Rules
from server.importers.values import Fields

LONGEST_NAME = 128
LONGEST_ROLE = 1024
MOST = 100_000
"""Most members, teams or invitations of one organization."""
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?", re.ASCII)
_MEMBER = frozenset({"id", "userId", "role", "createdAt"})
_TEAM = frozenset({"id", "name", "createdAt", "updatedAt", "userIds"})
_INVITATION = frozenset({"id", "email", "role", "inviterId", "teamIds", "expiresAt", "createdAt"})


def read(fields: Fields, rules: Rules) -> tuple[ImportedOrganization, tuple[Problem, ...]]:
    """Return the organization in these fields, and the problems of parts that are left out.

    Raises Problem if the whole organization is refused.
    """
    parts = parse.Parts(rules, [])
    organization = ImportedOrganization(
        id=parse.id_of(fields.get("id"), f"{rules.origin} organization", ""),
        name=_name(fields, Problem("name", "must not be blank")),
        slug=_slug(fields),
        logo=parts.one(lambda: values.image(fields, "logo"), None),
        custom_data=parts.one(lambda: _metadata(fields), None),
        created_at=values.past(fields, "createdAt", rules.now),
        members=parts.each(values.tables(fields, "members", MOST, _MEMBER, Field.MEMBERS), _member),
        teams=parts.each(values.tables(fields, "teams", MOST, _TEAM, Field.TEAMS), _team),
        invitations=parts.each(
            values.tables(fields, "invitations", MOST, _INVITATION, Field.INVITATIONS),
            _invitation,
        ),
        api_keys=parts.one(lambda: api_keys.read(fields, rules.organization_kinds, rules.now), ()),
    )
    return organization, tuple(parts.left)


def _name(fields: Fields, problem: Problem) -> str:
    name = values.line(fields, "name", LONGEST_NAME)
    if not name or not name.strip():
        raise problem
    return name


def _slug(fields: Fields) -> str:
    slug = (values.text(fields, "slug", parse.LONGEST_SUBJECT) or "").lower()
    if not _SLUG.fullmatch(slug):
        raise Problem("slug", "must be 1 to 64 of a-z, 0-9, _ and -, with a letter or digit at both ends")
    return slug


def _metadata(fields: Fields) -> str | None:
    value = values.present(fields, "metadata")
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Problem("metadata", "must be an object", Field.METADATA)
    try:
        text: str | None = rules_of_fields.columns({"metadata": value})["custom_data"]
    except Refusal:
        raise Problem(
            "metadata", "must have at most 4096 bytes as JSON and 8 levels", Field.METADATA
        ) from None
    return text


def _member(table: Fields, rules: Rules) -> ImportedMember:
    return ImportedMember(
        id=parse.id_of(table.get("id"), f"{rules.origin} member", ""),
        user_id=parse.id_of(table.get("userId"), rules.origin, ""),
        role=_role(table, rules, "members", Field.MEMBERS),
        created_at=values.past(table, "createdAt", rules.now),
    )


def _role(table: Fields, rules: Rules, name: str, part: Field) -> str:
    """Return known roles as they are stored; `member` for none."""
    names = role_names(values.text(table, "role", LONGEST_ROLE, part) or roles.MEMBER)
    if len(names) > MOST_ROLES:
        raise Problem(name, f"an entry has more than {MOST_ROLES} roles", part)
    for role in names:
        if role not in rules.organization_roles:
            raise Problem(name, f"{role[:32]} is not a configured role of organizations", part)
    return roles.text_of(names)


def _team(table: Fields, rules: Rules) -> ImportedTeam:
    return ImportedTeam(
        id=parse.id_of(table.get("id"), f"{rules.origin} team", ""),
        name=_name(table, Problem("teams", "a name must not be blank", Field.TEAMS)),
        user_ids=_ids(table, "userIds", rules.origin),
        created_at=values.past(table, "createdAt", rules.now),
        updated_at=values.past(table, "updatedAt", rules.now),
    )


def _ids(table: Fields, name: str, origin: str) -> tuple[str, ...]:
    ids = values.present(table, name)
    return tuple(parse.id_of(each, origin, "") for each in ids) if isinstance(ids, list) else ()


def _invitation(table: Fields, rules: Rules) -> ImportedInvitation:
    expires_at = values.instant(table, "expiresAt")
    if expires_at is None:
        raise Problem("invitations", "need an expiry", Field.INVITATIONS)
    return ImportedInvitation(
        id=parse.id_of(table.get("id"), f"{rules.origin} invitation", ""),
        email=values.email(table, Problem("invitations", "an email address is not valid", Field.INVITATIONS)),
        role=_role(table, rules, "invitations", Field.INVITATIONS),
        inviter_id=parse.id_of(table.get("inviterId"), rules.origin, ""),
        expires_at=expires_at,
        team_ids=tuple(dict.fromkeys(_ids(table, "teamIds", f"{rules.origin} team"))),
        created_at=values.past(table, "createdAt", rules.now),
    )
