"""Users of a Django application, from its database, with the tables of django-allauth and django-otp if they are there.

The columns are those of https://docs.djangoproject.com/en/stable/ref/contrib/auth/,
https://github.com/pennersr/django-allauth and https://github.com/django-otp/django-otp.
"""

import base64
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from domain.data_import.eligibility import Field, Problem
from server.importers import metadata
from server.importers.source import Row
from server.importers.tables import Record, SourceDatabase, SourceTable, flag, instant
from server.importers.values import Fields

ORIGIN = "django"
TABLE = "auth_user"
INACTIVE = "Not active in the application this user comes from"
ADMINISTRATOR, STAFF = "admin", "staff"
"""The roles here of superusers, and of other users who may sign in to Django's administration."""
UNUSABLE = "!"
"""The first character of a password hash that Django stores for a user without a password."""

_USER = ("id", "email", "password")
_EMAIL = ("user_id", "email", "verified")
_ACCOUNT = ("user_id", "provider", "uid")
_AUTHENTICATOR = ("user_id", "type", "data")
_DEVICE = ("user_id", "key", "step", "t0", "digits", "confirmed")
_GROUP = ("id", "name")
_MEMBERSHIP = ("user_id", "group_id")
_USUAL_DEVICE = (30, 0, 6)
"""Seconds of a code, the start of the first one, and digits."""


@dataclass(frozen=True)
class Tables:
    """The tables with data of users; a table that the application does not have is None."""

    emails: SourceTable | None
    accounts: SourceTable | None
    authenticators: SourceTable | None
    devices: SourceTable | None
    memberships: SourceTable | None


@dataclass(frozen=True)
class Django:
    """The source that reads the open database of a Django application."""

    origin = ORIGIN
    source: SourceDatabase
    users: SourceTable
    tables: Tables
    total: int | None
    groups: Mapping[object, str]
    """The names of the groups by their ids."""

    async def rows(self) -> AsyncIterator[Row]:
        """Yield every user. Raises SourceRefused if the database fails."""
        position = 0
        async for page in self.source.pages(self.users):
            ids = [record["id"] for record in page]
            emails = await self.source.rows_of_users(self.tables.emails, ids)
            accounts = await self.source.rows_of_users(self.tables.accounts, ids)
            authenticators = await self.source.rows_of_users(self.tables.authenticators, ids)
            devices = await self.source.rows_of_users(self.tables.devices, ids)
            memberships = await self.source.rows_of_users(self.tables.memberships, ids)
            for record in page:
                position, id_ = position + 1, record["id"]
                fields = {
                    **_user(record),
                    "emailVerified": _is_verified(record["email"], emails.get(id_, [])),
                    "role": self._role(record, memberships.get(id_, [])),
                    "accounts": [_account(each) for each in accounts.get(id_, [])],
                    "twoFactor": _second_factor(authenticators.get(id_, []), devices.get(id_, [])),
                }
                yield Row(f"id {id_}", fields, str(id_), position)

    def _role(self, record: Record, memberships: list[Record]) -> str | None:
        roles = [self.groups[each["groupid"]] for each in memberships if each["groupid"] in self.groups]
        if flag(record.get("issuperuser")) is True:
            roles.insert(0, ADMINISTRATOR)
        elif flag(record.get("isstaff")) is True:
            roles.insert(0, STAFF)
        return ",".join(roles) or None


async def django(source: SourceDatabase, *, table: str = TABLE) -> Django:
    """Return the source of the users in `table`. Raises SourceRefused if that table or a column is missing."""
    users = source.table(table, _USER)
    tables = Tables(
        emails=source.optional_table("account_emailaddress", _EMAIL),
        accounts=source.optional_table("socialaccount_socialaccount", _ACCOUNT),
        authenticators=source.optional_table("mfa_authenticator", _AUTHENTICATOR),
        devices=source.optional_table("otp_totp_totpdevice", _DEVICE),
        memberships=source.optional_table(f"{table}_groups", _MEMBERSHIP),
    )
    return Django(source, users, tables, await source.count(users), await _group_names(source))


async def _group_names(source: SourceDatabase) -> dict[object, str]:
    groups = source.optional_table("auth_group", _GROUP)
    if groups is None:
        return {}
    return {record["id"]: record["name"] async for page in source.pages(groups) for record in page}


def _user(record: Record) -> Fields:
    active = flag(record.get("isactive", True))
    names = (record.get("firstname"), record.get("lastname"))
    given = " ".join(part for each in names if (part := metadata.text(each)))
    password = record["password"]
    return {
        "id": record["id"],
        "email": record["email"]
        or Problem("email", "is missing: the user signs in without an email address"),
        "name": given or metadata.text(record.get("name")),
        "username": _username(record),
        "banned": not active if isinstance(active, bool) else active,
        "banReason": INACTIVE if active is False else None,
        "createdAt": instant(record.get("datejoined")),
        "passwordHash": None if not password or password.startswith(UNUSABLE) else password,
    }


def _username(record: Record) -> str | None:
    """Return the username; many applications store the email address there as well."""
    username = metadata.text(record.get("username"))
    return None if username and username.lower() == str(record["email"]).lower() else username


def _is_verified(email: object, records: list[Record]) -> bool:
    return any(
        flag(each["verified"]) is True and str(each["email"]).lower() == str(email).lower()
        for each in records
    )


def _account(record: Record) -> Fields:
    return {
        "providerId": record["provider"],
        "accountId": record["uid"],
        "createdAt": instant(record.get("datejoined")),
    }


def _second_factor(authenticators: list[Record], devices: list[Record]) -> object:
    by_type = {each["type"]: metadata.parse(each["data"]) for each in authenticators}
    if "totp" in by_type:
        return {"secret": by_type["totp"].get("secret")}
    confirmed = [each for each in devices if flag(each["confirmed"]) is True]
    if confirmed:
        return _secret_of(confirmed[0])
    # A security key as second factor: without a secret, the user gets codes by email.
    return {} if "webauthn" in by_type else None


def _secret_of(device: Record) -> object:
    if (device["step"], device["t0"], device["digits"]) != _USUAL_DEVICE:
        return Problem("twoFactor", "is not an authenticator of six digits and 30 seconds", Field.TWO_FACTOR)
    try:
        return {"secret": base64.b32encode(bytes.fromhex(device["key"])).decode()}
    except ValueError:
        return Problem("twoFactor", "the key is not hexadecimal", Field.TWO_FACTOR)
