"""Users from a Better Auth database, with its plugins username, admin, twoFactor, API key and passkey if in use."""

import base64
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import orjson

from domain.data_import.eligibility import Field, Problem
from models import CREDENTIAL
from server.crypto import imported_secrets
from server.importers.rows import flag, instant
from server.importers.source import Row
from server.importers.tables import Record, SourceDatabase, SourceTable

ORIGIN = "better-auth"

_USER = ("id", "email", "name", "emailVerified", "createdAt")
_ACCOUNT = ("id", "userId", "providerId", "accountId", "password")
_TWO_FACTOR = ("id", "userId", "secret")
_API_KEY = ("id", "key", "referenceId")
_PASSKEY = ("id", "userId", "credentialID", "publicKey", "counter")
_SCOPES = re.compile(r"[ ,]+")


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
                fields = self._fields(record, accounts.get(id_, []), factors.get(id_, []))
                fields["apiKeys"] = [_api_key(each) for each in keys.get(id_, [])]
                fields["passkeys"] = [_passkey(each) for each in passkeys.get(id_, [])]
                yield Row(f"id {id_}", fields, str(id_), position)

    def _fields(self, record: Record, accounts: list[Record], factors: list[Record]) -> dict[str, object]:
        passwords = [account["password"] for account in accounts if account["providerid"] == CREDENTIAL]
        return {
            "id": record["id"],
            "email": record["email"],
            "emailVerified": flag(record["emailverified"]),
            "name": record["name"],
            "image": record.get("image"),
            "username": record.get("username"),
            "displayUsername": record.get("displayusername"),
            "role": record.get("role"),
            "banned": flag(record.get("banned")),
            "banReason": record.get("banreason"),
            "banExpires": instant(record.get("banexpires")),
            "locale": record.get("locale"),
            "createdAt": instant(record["createdat"]),
            "updatedAt": instant(record.get("updatedat")),
            "passwordHash": passwords[0] if passwords else None,
            "twoFactor": self._second_factor(record, factors),
            "accounts": [_account(each) for each in accounts if each["providerid"] != CREDENTIAL],
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
    """Return the users in a database. Raises SourceRefused if a table or a column is missing."""
    users = source.table("user", _USER)
    accounts = source.table("account", _ACCOUNT)
    factors = source.optional_table("twoFactor", _TWO_FACTOR)
    keys = source.optional_table("apikey", _API_KEY)
    passkeys = source.optional_table("passkey", _PASSKEY)
    number = await source.count(users)
    return BetterAuth(source, users, accounts, factors, keys, passkeys, number, secrets)


def _account(record: Record) -> dict[str, object]:
    scope = record.get("scope")
    return {
        "providerId": record["providerid"],
        "issuer": record.get("issuer") or None,
        "accountId": record["accountid"],
        "scopes": [each for each in _SCOPES.split(scope) if each] if isinstance(scope, str) else None,
        "createdAt": instant(record.get("createdat")),
    }


def _api_key(record: Record) -> dict[str, object]:
    """Return an API key; Better Auth stores the digest of its text, and permissions as JSON."""
    return {
        "digest": record["key"],
        "configId": record.get("configid"),
        "name": record.get("name"),
        "prefix": record.get("prefix"),
        "start": record.get("start"),
        "enabled": flag(record.get("enabled")),
        "expiresAt": instant(record.get("expiresat")),
        "lastRequest": instant(record.get("lastrequest")),
        "remaining": record.get("remaining"),
        "refillAmount": record.get("refillamount"),
        "refillInterval": record.get("refillinterval"),
        "lastRefillAt": instant(record.get("lastrefillat")),
        "rateLimitEnabled": flag(record.get("ratelimitenabled")),
        "rateLimitTimeWindow": record.get("ratelimittimewindow"),
        "rateLimitMax": record.get("ratelimitmax"),
        "permissions": _json(record.get("permissions")),
        "createdAt": instant(record.get("createdat")),
    }


def _passkey(record: Record) -> dict[str, object]:
    """Return a passkey; Better Auth does not store the user handle, which is random."""
    return {
        "name": record.get("name"),
        "credentialID": record["credentialid"],
        "publicKey": record["publickey"],
        "counter": record["counter"],
        "deviceType": record.get("devicetype"),
        "backedUp": flag(record.get("backedup")),
        "transports": record.get("transports"),
        "aaguid": record.get("aaguid"),
        "createdAt": instant(record.get("createdat")),
    }


def _json(value: object) -> object:
    """Return a value that may be stored as JSON text; anything else unchanged, and refused later."""
    try:
        return orjson.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
