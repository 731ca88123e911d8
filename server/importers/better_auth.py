"""Users and organizations from a Better Auth database, with its plugins username, admin, twoFactor, API key, passkey
and organization if in use."""

import base64
import re
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from domain.data_import.eligibility import Field, Problem
from models import CREDENTIAL
from server.crypto import imported_secrets
from server.importers import values
from server.importers.api_keys import KEY_NAMES
from server.importers.parse import NAMES
from server.importers.passkeys import PASSKEY_NAMES
from server.importers.source import Row
from server.importers.tables import Record, SourceDatabase, SourceTable, flag, instant
from server.importers.values import Fields

ORIGIN = "better-auth"

_USER = ("id", "email", "name", "emailVerified", "createdAt")
_ACCOUNT = ("id", "userId", "providerId", "accountId", "password")
_TWO_FACTOR = ("id", "userId", "secret")
_API_KEY = ("id", "key", "referenceId")
_PASSKEY = ("id", "userId", "credentialID", "publicKey", "counter")
_ORGANIZATION = ("id", "name", "slug")
_MEMBER = ("id", "organizationId", "userId", "role")
_INVITATION = ("id", "organizationId", "email", "status", "inviterId", "expiresAt")
_TEAM = ("id", "organizationId", "name")
_TEAM_MEMBER = ("id", "teamId", "userId")
_USER_NAMES = NAMES - {"passwordHash", "twoFactor", "accounts", "apiKeys", "passkeys"}
_PASSKEY_NAMES = PASSKEY_NAMES - {"rpId", "userHandle", "lastUsedAt"}
_FLAGS = ("emailVerified", "banned", "enabled", "rateLimitEnabled", "backedUp")
_INSTANTS = ("banExpires", "lastRequest")
"""The names of time columns that do not end with `At`."""
_SCOPES = re.compile(r"[ ,]+")


@dataclass(frozen=True, slots=True)
class OrganizationTables:
    """The tables of the plugin organization. Those of teams are None if teams are not in use."""

    organizations: SourceTable
    members: SourceTable
    invitations: SourceTable | None
    teams: SourceTable | None
    team_members: SourceTable | None
    total: int


@dataclass(frozen=True)
class BetterAuth:
    """An open Better Auth database."""

    origin = ORIGIN
    source: SourceDatabase
    users: SourceTable
    accounts: SourceTable
    second_factors: SourceTable | None
    api_keys: SourceTable | None
    passkeys: SourceTable | None
    total: int | None
    secrets: Sequence[str] = field(repr=False)
    """The secrets of Better Auth, to decrypt authenticator secrets; may be empty."""
    organizations: OrganizationTables | None = None

    @property
    def organization_total(self) -> int | None:
        """Return the number of organizations; None without the plugin."""
        return None if self.organizations is None else self.organizations.total

    async def rows(self) -> AsyncIterator[Row]:
        """Yield every user. Raises SourceRefused if the database fails."""
        position = 0
        async for page in self.source.pages(self.users):
            ids = [record["id"] for record in page]
            accounts = await self.source.rows_of_users(self.accounts, ids)
            factors = await self.source.rows_of_users(self.second_factors, ids)
            keys = await self.source.rows_of_users(self.api_keys, ids, by="referenceid")
            passkeys = await self.source.rows_of_users(self.passkeys, ids)
            for record in page:
                position, id_ = position + 1, record["id"]
                linked = accounts.get(id_, [])
                passwords = [each["password"] for each in linked if each["providerid"] == CREDENTIAL]
                fields = {
                    **_fields(record, _USER_NAMES),
                    "passwordHash": passwords[0] if passwords else None,
                    "twoFactor": self._second_factor(record, factors.get(id_, [])),
                    "accounts": [_account(each) for each in linked if each["providerid"] != CREDENTIAL],
                    "apiKeys": [_api_key(each) for each in keys.get(id_, [])],
                    # Better Auth does not store the user handle, which is random.
                    "passkeys": [_fields(each, _PASSKEY_NAMES) for each in passkeys.get(id_, [])],
                }
                yield Row(f"id {id_}", fields, str(id_), position)

    async def organization_rows(self, now: datetime) -> AsyncIterator[Row]:
        """Yield every organization with its members, teams, API keys, and the invitations that are pending at `now`.

        Raises SourceRefused if the database fails.
        """
        tables, position = self.organizations, 0
        if tables is None:
            return
        async for page in self.source.pages(tables.organizations):
            for record in page:
                position += 1
                yield Row(
                    f"organization {record['id']}",
                    await self._organization(tables, record, now),
                    str(record["id"]),
                    position,
                )

    async def _organization(self, tables: OrganizationTables, record: Record, now: datetime) -> Fields:
        ids, of = [record["id"]], "organizationid"
        members = await self.source.rows_of(tables.members, ids, of)
        invitations = await self.source.rows_of(tables.invitations, ids, of)
        teams = await self.source.rows_of(tables.teams, ids, of)
        places = await self.source.rows_of_users(
            tables.team_members, [team["id"] for team in teams], by="teamid"
        )
        keys = await self.source.rows_of(self.api_keys, ids, "referenceid")
        return {
            **_fields(record, ("id", "name", "slug", "logo", "createdAt")),
            "metadata": _json(record.get("metadata")),
            "members": [_fields(each, ("id", "userId", "role", "createdAt")) for each in members],
            "teams": [_team(each, places.get(each["id"], [])) for each in teams],
            "invitations": [_invitation(each) for each in invitations if _is_pending(each, now)],
            "apiKeys": [_api_key(each) for each in keys],
        }

    def _second_factor(self, record: Record, factors: list[Record]) -> object:
        if not record.get("twofactorenabled"):
            return None
        ciphertext = [factor["secret"] for factor in factors if factor["secret"]]
        if not ciphertext:
            return Problem("twoFactor", "is enabled, but there is no secret", Field.TWO_FACTOR)
        if not self.secrets:
            return Problem(
                "twoFactor", "is encrypted: pass BETTER_AUTH_SECRET with --secret-file", Field.TWO_FACTOR
            )
        # Better Auth encrypts the text of the secret; authenticators and this service use its bytes in base32.
        opened = imported_secrets.decrypt_better_auth(ciphertext[0], self.secrets)
        if opened is None:
            return Problem("twoFactor", "cannot be decrypted with the given secret", Field.TWO_FACTOR)
        return {"secret": base64.b32encode(opened).decode("ascii")}


async def better_auth(source: SourceDatabase, secrets: Sequence[str]) -> BetterAuth:
    """Return the source of the users in a database. Raises SourceRefused if a table or a column is missing."""
    users = source.table("user", _USER)
    accounts = source.table("account", _ACCOUNT)
    factors = source.optional_table("twoFactor", _TWO_FACTOR)
    keys = source.optional_table("apikey", _API_KEY)
    passkeys = source.optional_table("passkey", _PASSKEY)
    number = await source.count(users)
    organizations = await _organization_tables(source)
    return BetterAuth(source, users, accounts, factors, keys, passkeys, number, secrets, organizations)


async def _organization_tables(source: SourceDatabase) -> OrganizationTables | None:
    organizations = source.optional_table("organization", _ORGANIZATION)
    if organizations is None:
        return None
    return OrganizationTables(
        organizations,
        source.table("member", _MEMBER),
        source.optional_table("invitation", _INVITATION),
        source.optional_table("team", _TEAM),
        source.optional_table("teamMember", _TEAM_MEMBER),
        await source.count(organizations),
    )


def _fields(record: Record, names: Collection[str]) -> dict[str, object]:
    """Return the fields of the import format that a row has under the same names."""
    return {name: _value(name, record[name.lower()]) for name in names if name.lower() in record}


def _value(name: str, value: Any) -> object:
    if name in _FLAGS:
        return flag(value)
    return instant(value) if name.endswith("At") or name in _INSTANTS else value


def _account(record: Record) -> dict[str, object]:
    scope = record.get("scope")
    return {
        **_fields(record, ("providerId", "accountId", "createdAt")),
        "issuer": record.get("issuer") or None,
        "scopes": [each for each in _SCOPES.split(scope) if each] if isinstance(scope, str) else None,
    }


def _api_key(record: Record) -> dict[str, object]:
    """Return an API key; Better Auth stores the digest of its text, and permissions as JSON."""
    permissions = _json(record.get("permissions"))
    return {**_fields(record, KEY_NAMES), "digest": record["key"], "permissions": permissions}


def _team(record: Record, places: list[Record]) -> dict[str, object]:
    user_ids = [place["userid"] for place in places]
    return {**_fields(record, ("id", "name", "createdAt", "updatedAt")), "userIds": user_ids}


def _is_pending(record: Record, now: datetime) -> bool:
    """Return whether an invitation can still be accepted; one with an unreadable expiry is refused later."""
    if record["status"] != "pending":
        return False
    try:
        expires_at = values.instant({"expiresAt": instant(record["expiresat"])}, "expiresAt")
    except Problem:
        return True
    return expires_at is None or expires_at > now


def _invitation(record: Record) -> dict[str, object]:
    """Return an invitation; Better Auth stores its teams with commas."""
    teams = record.get("teamid")
    return {
        **_fields(record, ("id", "email", "role", "inviterId", "expiresAt", "createdAt")),
        "teamIds": [each for each in teams.split(",") if each] if isinstance(teams, str) else None,
    }


def _json(value: object) -> object:
    """Return a value that may be stored as JSON text; anything else unchanged, and refused later."""
    try:
        return orjson.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
