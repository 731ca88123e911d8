"""The operations of openapi/paths/jwt.yaml: signed tokens (JWT) for other services, and the keys that sign them."""

from datetime import timedelta
from functools import lru_cache

from domain.context import Context
from domain.jwt import session_tokens
from domain.jwt.policy import JwtPolicy
from domain.jwt.signing_keys import KeyDocument, SigningKeys
from domain.operations import signing_keys
from handlers import shapes, wire
from handlers.responses.reply import Document


# jwt.issue
async def issue(ctx: Context, audience: str | None = None) -> shapes.SessionToken:
    """Return a signed token about the caller for other services."""
    return {"token": await session_tokens.issue(ctx, audience)}


# jwt.keys
async def keys(ctx: Context) -> Document:
    """Return the public keys that verify tokens."""
    # From memory: other services must be able to verify tokens while the database is down.
    # defence: JWT12 memory
    document, policy = ctx.port[SigningKeys].document, ctx.policy[JwtPolicy]
    return _cacheable(document, policy.jwks_max_age)


@lru_cache(maxsize=1)
def _cacheable(document: KeyDocument, max_age: timedelta) -> Document:
    return Document(document.body, document.etag, max_age=int(max_age.total_seconds()))


# jwt.well_known_keys
async def well_known_keys(ctx: Context) -> Document:
    """Return the public keys that verify tokens, at the path that some verifiers expect."""
    return await keys(ctx)


# jwt.list_signing_keys
async def list_signing_keys(ctx: Context) -> shapes.SigningKeys:
    """Return the signing keys and their states, without the private keys."""
    return {
        "keys": [
            {
                "id": row.kid,
                "algorithm": row.algorithm,
                "state": state.value,
                "createdAt": wire.instant(row.created_at),
                "signsFrom": wire.instant(row.signs_from),
                "signsUntil": wire.optional_instant(row.signs_until),
                "publishedUntil": wire.optional_instant(row.published_until),
                "revokedAt": wire.optional_instant(row.revoked_at),
            }
            for row, state in await signing_keys.list_keys(ctx)
        ]
    }


# jwt.rotate_signing_key
async def rotate_signing_key(ctx: Context, body: shapes.RotateSigningKeyRequest) -> shapes.SigningKeys:
    """Create the next signing key of an algorithm; return all signing keys."""
    await signing_keys.rotate(ctx, body["algorithm"], at_once=body.get("now", False))
    return await list_signing_keys(ctx)


# jwt.revoke_signing_key
async def revoke_signing_key(ctx: Context, body: shapes.RevokeSigningKeyRequest) -> shapes.SigningKeys:
    """Revoke a signing key; return all signing keys."""
    await signing_keys.revoke(ctx, body["keyId"])
    return await list_signing_keys(ctx)
