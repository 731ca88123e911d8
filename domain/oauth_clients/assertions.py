"""Assertions: tokens that clients sign with their own keys to authenticate themselves (RFC 7523)."""

import binascii
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Protocol

import orjson
from sqlalchemy import select
from sqlmodel import col

from domain import tokens
from domain.context import Context
from models import OneTimeToken, Purpose
from models.oauth_client import ClientRow
from models.statements import upsert

TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

_LONGEST_LIFE = timedelta(minutes=5)
_LEEWAY = timedelta(minutes=1)
"""How far ahead the clock of a client may be."""
_LONGEST_ID = 255
_AUDIENCES = ("", "/oauth2/token", "/oauth2/par")
"""What an assertion may be for: the issuer, the token endpoint, and that of RFC 9126 (section 2)."""


class AssertionVerifier(Protocol):
    """Verifies signatures with the public keys of clients."""

    def verify(self, assertion: str, keys: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the claims of an assertion; None unless one of `keys` (a JWK set) has signed it."""


def subject(assertion: str) -> str | None:
    """Return the client id that an assertion names, without verifying the assertion; None if it names none."""
    try:
        payload = assertion.split(".")[1]
        claims = orjson.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (IndexError, binascii.Error, ValueError):
        return None
    found = claims.get("sub") if isinstance(claims, dict) else None
    # PostgreSQL stores no U+0000, so that the look-up of such a client would fail.
    return found if isinstance(found, str) and "\0" not in found else None


async def is_valid(ctx: Context, client: ClientRow, assertion: str) -> bool:
    """Use up an assertion; return whether the client has signed it for this service, and it was not used before.

    It stays used up if the request is refused. Of simultaneous calls with a valid assertion only one returns True.
    """
    claims = ctx.port[AssertionVerifier].verify(assertion, client.metadata["jwks"])
    if claims is None or not _is_for(ctx, claims, client.client_id):
        return False
    expiry = _instant(claims.get("exp"))
    # defence: O12 expiry
    if expiry is None or not ctx.now < expiry <= ctx.now + _LONGEST_LIFE:
        return False
    for name in ("nbf", "iat"):
        since = _instant(claims.get(name, 0))
        if since is None or since > ctx.now + _LEEWAY:
            return False
    jti = claims.get("jti")
    if not isinstance(jti, str) or not 0 < len(jti) <= _LONGEST_ID:
        return False
    used = partial(_use, mark=tokens.digest(f"{client.client_id}\0{jti}"), expiry=expiry)
    return await ctx.in_new_transaction(used)  # defence: O12 once


def _is_for(ctx: Context, claims: Mapping[str, Any], client_id: str) -> bool:
    """Return whether claims name the client twice, and this service as the audience."""
    sent = claims.get("aud")
    audiences = sent if isinstance(sent, list) else [sent]
    issuer = ctx.policy.base_url + ctx.policy.base_path
    # defence: O12 audience
    is_ours = any(issuer + path in audiences for path in _AUDIENCES)
    return is_ours and claims.get("iss") == client_id and claims.get("sub") == client_id


async def _use(ctx: Context, *, mark: bytes, expiry: datetime) -> bool:
    """Mark an assertion as used; return whether this request was the first to do so."""
    request = tokens.digest(ctx.client.request_id)
    row = {
        "digest": mark,
        "purpose": Purpose.SPENT,
        "binding": request,
        "attempts": 0,
        "expires_at": expiry,
        "created_at": ctx.now,
        "updated_at": ctx.now,
    }
    added = await ctx.db.execute(
        upsert(ctx.db.dialect, OneTimeToken)
        .values(row)
        .on_conflict_do_nothing(index_elements=["digest"])
        .returning(col(OneTimeToken.digest))
    )
    if added:
        return True
    # A request that runs again after a conflict has used it already.
    own = select(col(OneTimeToken.digest)).where(
        col(OneTimeToken.digest) == mark, col(OneTimeToken.binding) == request
    )
    return bool(ctx.client.request_id and await ctx.db.execute(own))


def _instant(seconds: object) -> datetime | None:
    """Return a NumericDate (RFC 7519, 2), or None for anything else."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None
