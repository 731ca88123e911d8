"""Users from a database of Better Auth, with its plugins username, admin and twoFactor where they were mounted."""

import base64
import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt
from nacl.exceptions import CryptoError

from domain.newcomers import Field, Problem
from models import CREDENTIAL
from server.importing.records import flag, instant
from server.importing.sources import Row
from server.importing.tables import Record, SourceDatabase, SourceTable

ORIGIN = "better-auth"
NONCE_BYTES = 24

_USER = ("id", "email", "name", "emailVerified", "createdAt")
_ACCOUNT = ("id", "userId", "providerId", "accountId", "password")
_TWO_FACTOR = ("id", "userId", "secret")
_ENVELOPE = re.compile(r"\$ba\$[0-9]+\$(?P<sealed>.*)", re.DOTALL)
"""How it marks what is encrypted under one of several secrets."""
_SCOPES = re.compile(r"[ ,]+")


@dataclass(frozen=True)
class BetterAuth:
    """An open database of Better Auth."""

    origin = ORIGIN
    source: SourceDatabase
    users: SourceTable
    accounts: SourceTable
    second_factors: SourceTable | None
    total: int | None
    secrets: Sequence[str] = field(repr=False)
    """Its own, to decrypt the secrets of authenticators; may be empty."""

    async def rows(self) -> AsyncIterator[Row]:
        """Give every user. Raises SourceRefused when the database fails on the way."""
        position = 0
        async for page in self.source.pages(self.users):
            ids = [record["id"] for record in page]
            accounts = await self.source.belonging(self.accounts, ids)
            factors = await self.source.belonging(self.second_factors, ids)
            for record in page:
                position, id_ = position + 1, record["id"]
                fields = self._fields(record, accounts.get(id_, []), factors.get(id_, []))
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
            "createdAt": instant(record["createdat"]),
            "updatedAt": instant(record.get("updatedat")),
            "passwordHash": passwords[0] if passwords else None,
            "twoFactor": self._second_factor(record, factors),
            "accounts": [_account(each) for each in accounts if each["providerid"] != CREDENTIAL],
        }

    def _second_factor(self, record: Record, factors: list[Record]) -> object:
        if not record.get("twofactorenabled"):
            return None
        sealed = [factor["secret"] for factor in factors if factor["secret"]]
        if not sealed:
            return Problem("twoFactor", "is on, but there is no secret", Field.TWO_FACTOR)
        if not self.secrets:
            return Problem("twoFactor", "is encrypted: its secret is needed to read it", Field.TWO_FACTOR)
        opened = decrypted(sealed[0], self.secrets)
        if opened is None:
            return Problem("twoFactor", "cannot be decrypted with the given secret", Field.TWO_FACTOR)
        return {"secret": base64.b32encode(opened).decode("ascii")}


async def better_auth(source: SourceDatabase, secrets: Sequence[str]) -> BetterAuth:
    """Find its tables in a database. Raises SourceRefused when one of them, or a column, is missing."""
    users = source.table("user", _USER)
    accounts = source.table("account", _ACCOUNT)
    factors = source.optional_table("twoFactor")
    if factors is not None:
        factors = source.table("twoFactor", _TWO_FACTOR)
    return BetterAuth(source, users, accounts, factors, await source.count(users), secrets)


def decrypted(sealed: Any, secrets: Sequence[str]) -> bytes | None:
    """Open what Better Auth has encrypted; None when none of the secrets fits.

    That is XChaCha20-Poly1305 under the SHA-256 of a secret, in hexadecimal digits, with the nonce in front.
    """
    envelope = _ENVELOPE.fullmatch(sealed) if isinstance(sealed, str) else None
    try:
        octets = bytes.fromhex(envelope["sealed"] if envelope is not None else sealed)
    except (ValueError, TypeError):
        return None
    for secret in secrets:
        key = hashlib.sha256(secret.encode()).digest()
        try:
            return crypto_aead_xchacha20poly1305_ietf_decrypt(
                octets[NONCE_BYTES:], None, octets[:NONCE_BYTES], key
            )
        except (CryptoError, ValueError):
            continue
    return None


def _account(record: Record) -> dict[str, object]:
    scope = record.get("scope")
    return {
        "providerId": record["providerid"],
        "issuer": record.get("issuer") or None,
        "accountId": record["accountid"],
        "scopes": [each for each in _SCOPES.split(scope) if each] if isinstance(scope, str) else None,
        "createdAt": instant(record.get("createdat")),
    }
