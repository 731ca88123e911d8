"""Parsing and validation of one organization of another program, by the rules of organizations here."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from domain import identifiers
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

Value = TypeVar("Value")

LONGEST_NAME = 128
LONGEST_ROLE = 1024
MOST = 100_000
"""Members, teams or invitations of one organization."""
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?", re.ASCII)
_MEMBER = frozenset({"id", "userId", "role", "createdAt"})
_TEAM = frozenset({"id", "name", "createdAt", "updatedAt", "userIds"})
_INVITATION = frozenset({"id", "email", "role", "inviterId", "teamIds", "expiresAt", "createdAt"})


@dataclass(slots=True)
class _Parts:
    """Takes the parts of an organization; those with a problem are left out if they may be."""

    rules: Rules
    left: list[Problem]

    def one(self, take: Callable[[], Value], default: Value) -> Value:
        """Return a part, or the default."""
        try:
            return take()
        except Problem as problem:
            if problem.may_be_left not in self.rules.without:
                raise
            self.left.append(problem)
            return default

    def each(self, tables: Sequence[Fields], take: Callable[[Fields], Value]) -> tuple[Value, ...]:
        """Return the parts of a list."""
        taken = (self.one(partial(take, table), None) for table in tables)
        return tuple(part for part in taken if part is not None)


def read(fields: Fields, rules: Rules) -> tuple[ImportedOrganization, tuple[Problem, ...]]:
    """Return the organization, and the problems of parts that are left out. Raises Problem for a refused one."""
    parts = _Parts(rules, [])
    organization = ImportedOrganization(
        id=parse.id_of(fields.get("id"), f"{rules.origin} organization", ""),
        name=_name(fields),
        slug=_slug(fields),
        logo=parts.one(lambda: _logo(fields), None),
        custom_data=parts.one(lambda: _metadata(fields), None),
        created_at=values.past(fields, "createdAt", rules.now),
        members=parts.each(
            values.tables(fields, "members", MOST, _MEMBER, Field.MEMBERS), lambda each: _member(each, rules)
        ),
        teams=parts.each(
            values.tables(fields, "teams", MOST, _TEAM, Field.TEAMS), lambda each: _team(each, rules)
        ),
        invitations=parts.each(
            values.tables(fields, "invitations", MOST, _INVITATION, Field.INVITATIONS),
            lambda each: _invitation(each, rules),
        ),
        api_keys=parts.one(lambda: api_keys.read(fields, rules.organization_kinds, rules.now), ()),
    )
    return organization, tuple(parts.left)


def _name(fields: Fields) -> str:
    name = values.line(fields, "name", LONGEST_NAME)
    if not name or not name.strip():
        raise Problem("name", "must not be blank")
    return name


def _slug(fields: Fields) -> str:
    slug = (values.text(fields, "slug", parse.LONGEST_SUBJECT) or "").lower()
    if not _SLUG.fullmatch(slug):
        raise Problem("slug", "must be 1 to 64 of a-z, 0-9, _ and -, with a letter or digit at both ends")
    return slug


def _logo(fields: Fields) -> str | None:
    text = values.text(fields, "logo", 2**20, Field.IMAGE)
    if text and identifiers.image_or_none(text) is None:
        raise Problem("logo", "is not an http or https URL of at most 2048 characters", Field.IMAGE)
    return text or None


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
        raise Problem(name, f"somebody has more than {MOST_ROLES} roles", part)
    for role in names:
        if role not in rules.organization_roles:
            raise Problem(name, f"{role[:32]} is not a configured role of organizations", part)
    return roles.text_of(names)


def _team(table: Fields, rules: Rules) -> ImportedTeam:
    name = values.line(table, "name", LONGEST_NAME)
    if not name or not name.strip():
        raise Problem("teams", "a name must not be blank", Field.TEAMS)
    user_ids = values.present(table, "userIds")
    return ImportedTeam(
        id=_team_id(table.get("id"), rules),
        name=name,
        user_ids=tuple(
            parse.id_of(each, rules.origin, "") for each in (user_ids if isinstance(user_ids, list) else ())
        ),
        created_at=values.past(table, "createdAt", rules.now),
        updated_at=values.past(table, "updatedAt", rules.now),
    )


def _team_id(value: object, rules: Rules) -> str:
    return parse.id_of(value, f"{rules.origin} team", "")


def _invitation(table: Fields, rules: Rules) -> ImportedInvitation:
    expires_at = values.instant(table, "expiresAt")
    if expires_at is None:
        raise Problem("invitations", "need an expiry", Field.INVITATIONS)
    team_ids = values.present(table, "teamIds")
    return ImportedInvitation(
        id=parse.id_of(table.get("id"), f"{rules.origin} invitation", ""),
        email=_email(table),
        role=_role(table, rules, "invitations", Field.INVITATIONS),
        inviter_id=parse.id_of(table.get("inviterId"), rules.origin, ""),
        expires_at=expires_at,
        team_ids=tuple(
            dict.fromkeys(_team_id(each, rules) for each in (team_ids if isinstance(team_ids, list) else ()))
        ),
        created_at=values.past(table, "createdAt", rules.now),
    )


def _email(table: Fields) -> str:
    text = values.text(table, "email", parse.LONGEST_ISSUER, Field.INVITATIONS)
    try:
        return identifiers.email(text or "")
    except Refusal:
        raise Problem("invitations", "an email address is not valid", Field.INVITATIONS) from None
