"""Users of a Supabase project, from the schema `auth` of its database, which Supabase Auth (GoTrue) creates.

The tables are those of its migrations, https://github.com/supabase/auth/tree/master/migrations.
"""

import base64
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from domain.data_import.eligibility import Field, Problem
from models.passkey import MULTI_DEVICE, SINGLE_DEVICE
from server.crypto import supabase as encryption
from server.importers import metadata
from server.importers.source import Row
from server.importers.tables import Record, SourceDatabase, SourceTable
from server.importers.values import Fields

ORIGIN = "supabase"
SCHEMA = "auth"

_USER = (
    "id", "email", "encrypted_password", "email_confirmed_at", "raw_app_meta_data", "raw_user_meta_data", "created_at"
)  # fmt: skip
_IDENTITY = ("user_id", "provider", "provider_id", "identity_data")
_FACTOR = ("id", "user_id", "factor_type", "status", "secret", "created_at")
_PASSKEY = ("user_id", "credential_id", "public_key", "sign_count")
_OWN = frozenset({"email", "phone"})
"""The providers of identities that are not accounts at another provider."""
PROVIDERS = {"azure": "microsoft", "linkedin_oidc": "linkedin", "slack_oidc": "slack"}
"""The provider ids of this service, by Supabase's names where they differ."""
AUTHENTICATOR = "totp"
"""The kind of a second factor that is an authenticator app."""
_MICROSOFT_ISSUER = "https://login.microsoftonline.com/"
"""The start of the issuers of Microsoft, one for each tenant. Supabase keeps the one of each identity."""
_FOREVER = 9999
"""The year of the end that PostgreSQL's `infinity` is read as."""


@dataclass(frozen=True)
class Supabase:
    """The source that reads the open database of a Supabase project."""

    origin = ORIGIN
    source: SourceDatabase
    users: SourceTable
    identities: SourceTable
    factors: SourceTable | None
    passkeys: SourceTable | None
    total: int | None
    keys: Mapping[str, bytes] = field(repr=False)
    """The keys of encrypted columns by id; empty if no column is encrypted."""

    async def rows(self) -> AsyncIterator[Row]:
        """Yield every user. Raises SourceRefused if the database fails."""
        position = 0
        async for page in self.source.pages(self.users):
            ids = [record["id"] for record in page]
            identities = await self.source.rows_of_users(self.identities, ids)
            factors = await self.source.rows_of_users(self.factors, ids)
            passkeys = await self.source.rows_of_users(self.passkeys, ids)
            for record in page:
                position, id_ = position + 1, record["id"]
                if left_out := _left_out(record):
                    yield Row(f"id {id_}", {}, str(id_), position, left_out)
                    continue
                fields = {
                    **_user(record),
                    "passwordHash": self._password(record),
                    "twoFactor": self._second_factor(factors.get(id_, [])),
                    "accounts": [
                        _account(each) for each in identities.get(id_, []) if each["provider"] not in _OWN
                    ],
                    "passkeys": [_passkey(each) for each in passkeys.get(id_, [])],
                }
                notes = _notes(record, factors.get(id_, []))
                yield Row(f"id {id_}", fields, str(id_), position, notes=notes)

    def _password(self, record: Record) -> object:
        hashed = record["encryptedpassword"] or None
        if hashed is None:
            return None
        return self._decrypted(hashed, record["id"], "passwordHash", Field.PASSWORD)

    def _second_factor(self, factors: list[Record]) -> object:
        verified = _verified(factors)
        if not verified:
            return None
        authenticators = [factor for factor in verified if factor["factortype"] == AUTHENTICATOR]
        if not authenticators:
            # A phone or a security key as second factor: without a secret, the user gets codes by email.
            return {}
        first = min(authenticators, key=lambda factor: factor["createdat"])
        secret = self._decrypted(first["secret"] or "", first["id"], "twoFactor", Field.TWO_FACTOR)
        return secret if isinstance(secret, Problem) else {"secret": secret}

    def _decrypted(self, value: str, id_: Any, name: str, part: Field) -> str | Problem:
        if not encryption.is_encrypted(value):
            return value
        if not self.keys:
            return Problem(name, "is encrypted: pass the keys with --keys-file", part)
        opened = encryption.decrypt(value, str(id_), self.keys)
        return Problem(name, "cannot be decrypted with the given keys", part) if opened is None else opened


async def supabase(source: SourceDatabase, keys: Mapping[str, bytes]) -> Supabase:
    """Return the source of the users in a database. Raises SourceRefused if a table or a column is missing."""
    users = source.table("users", _USER)
    identities = source.table("identities", _IDENTITY)
    factors = source.optional_table("mfa_factors", _FACTOR)
    passkeys = source.optional_table("webauthn_credentials", _PASSKEY)
    return Supabase(source, users, identities, factors, passkeys, await source.count(users), keys)


def _verified(factors: list[Record]) -> list[Record]:
    return [factor for factor in factors if factor["status"] == "verified"]


def _notes(record: Record, factors: list[Record]) -> tuple[Problem, ...]:
    """Return what is known of a user here, and not imported."""
    kinds = Counter(factor["factortype"] for factor in _verified(factors))
    found = [Problem("phone", "numbers are not imported")] if record.get("phone") else []
    if kinds[AUTHENTICATOR] > 1:
        found.append(Problem("twoFactor", "only the oldest of several authenticator apps is imported"))
    instead = "" if kinds[AUTHENTICATOR] else ": the user gets codes by email instead"
    others = sorted(kinds.keys() - {AUTHENTICATOR})
    found += [Problem("twoFactor", f"{kind} is not imported{instead}") for kind in others]
    return tuple(found)


def _left_out(record: Record) -> str:
    if record.get("deletedat") is not None:
        return "deleted users"
    return "anonymous users" if record.get("isanonymous") else ""


def _user(record: Record) -> Fields:
    own = metadata.parse(record["rawusermetadata"])
    banned_until = record.get("banneduntil")
    return {
        "id": record["id"],
        "email": record["email"]
        or Problem("email", "is missing: the user signs in without an email address"),
        "emailVerified": record["emailconfirmedat"] is not None,
        "name": metadata.text(own.get("full_name"), own.get("name")),
        "image": metadata.text(own.get("avatar_url"), own.get("picture")),
        "locale": metadata.text(own.get("locale")),
        "role": metadata.role(metadata.parse(record["rawappmetadata"])),
        "banned": banned_until is not None,
        "banExpires": None if banned_until is None or banned_until.year == _FOREVER else banned_until,
        "createdAt": record["createdat"],
        "updatedAt": record.get("updatedat"),
    }


def _account(record: Record) -> Fields:
    name, issuer = record["provider"], metadata.parse(record["identitydata"]).get("iss")
    is_tenant = isinstance(issuer, str) and issuer.startswith(_MICROSOFT_ISSUER)
    return {
        # Providers that a project has defined itself are named `custom:` and their identifier.
        "providerId": PROVIDERS.get(name, name.removeprefix("custom:")),
        "accountId": record["providerid"],
        "issuer": issuer if is_tenant else None,
        "createdAt": record.get("createdat"),
    }


def _passkey(record: Record) -> Fields:
    transports = metadata.parse_list(record.get("transports"))
    return {
        "credentialID": _base64url(record["credentialid"]),
        "publicKey": base64.b64encode(record["publickey"]).decode(),
        "counter": record["signcount"],
        "name": record.get("friendlyname") or None,
        "deviceType": MULTI_DEVICE if record.get("backupeligible") else SINGLE_DEVICE,
        "backedUp": record.get("backedup"),
        "transports": ",".join(each for each in transports if isinstance(each, str)),
        "aaguid": None if record.get("aaguid") is None else str(record["aaguid"]),
        # Supabase Auth tells authenticators the id of the user as text.
        "userHandle": _base64url(str(record["userid"]).encode()),
        "createdAt": record.get("createdat"),
        "lastUsedAt": record.get("lastusedat"),
    }


def _base64url(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")
