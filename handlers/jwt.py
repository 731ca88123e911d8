"""The operations of openapi/paths/jwt.yaml."""

from datetime import timedelta
from functools import lru_cache

from domain.context import Context
from domain.jwt import session_tokens
from domain.jwt.policy import JwtPolicy
from domain.ports import KeyDocument, SigningKeys
from handlers import shapes
from handlers.responses.reply import Document


# jwt.issue
async def issue(ctx: Context, audience: str | None = None) -> shapes.SessionToken:
    """Return a signed token about the caller for other services."""
    return {"token": await session_tokens.issue(ctx, audience)}


# jwt.keys
async def keys(ctx: Context) -> Document:
    """Return the keys that verify tokens."""
    # From memory: other services must be able to verify tokens while the database is down.
    # defence: JWT12 memory
    document, policy = ctx.port[SigningKeys].document, ctx.policy[JwtPolicy]
    return _cacheable(document, policy.jwks_max_age)


@lru_cache(maxsize=1)
def _cacheable(document: KeyDocument, max_age: timedelta) -> Document:
    return Document(document.body, document.etag, max_age=int(max_age.total_seconds()))


# jwt.well_known_keys
async def well_known_keys(ctx: Context) -> Document:
    """Return the keys that verify tokens, at the path that some verifiers expect."""
    return await keys(ctx)
