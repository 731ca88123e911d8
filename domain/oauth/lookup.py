"""Look up issued tokens by their text."""

from collections.abc import Mapping
from typing import Any

from domain.context import Context
from domain.jwt.signing_keys import SigningKeys
from domain.oauth import tokens
from domain.oauth.tokens import ACCESS_PREFIX, REFRESH_PREFIX, SIGNED_ACCESS
from domain.oauth_clients import clients, documents
from models.oauth_client import CLIENT_BY_ID, ClientRow
from models.oauth_revoked_token import REVOKED_TOKEN
from models.oauth_token_query import (
    GRANT_BY_ID,
    TOKEN_AND_USER_BY_DIGEST,
    TOKEN_BY_DIGEST,
    StoredToken,
)
from models.user import UserRow


def digest_of(text: str) -> bytes | None:
    """Return the digest of an opaque access or refresh token; None if the text does not have the form of one."""
    return tokens.digest(text, ACCESS_PREFIX) or tokens.digest(text, REFRESH_PREFIX)


async def with_user(ctx: Context, text: str) -> tuple[StoredToken, UserRow | None] | None:
    """Return the stored token with this text, even if it has ended, and its user; None if there is none.

    The user is None for a token that acts for the client itself.
    """
    digest = digest_of(text)
    if digest is None:
        return None
    return await ctx.reads.one(TOKEN_AND_USER_BY_DIGEST, digest)


async def with_client(ctx: Context, text: str, client_id: str) -> tuple[StoredToken | None, ClientRow | None]:
    """Return the stored token with this text, even if it has ended, and the client with this id, even if disabled.

    Either is None if there is none. Call it before `ctx.db` is used: if the id is the URL of a metadata document, the
    document may be requested.
    """
    digest = digest_of(text)
    if digest is None:
        return None, await documents.read(ctx, client_id)
    if documents.has_document(client_id):
        return await ctx.reads.one(TOKEN_BY_DIGEST, digest), await documents.read(ctx, client_id)
    return await ctx.reads.two(TOKEN_BY_DIGEST, digest, CLIENT_BY_ID, client_id)


async def claims_of(ctx: Context, text: str) -> Mapping[str, Any] | None:
    """Return the claims of an access token that is a JWT; None if it is invalid or expired.

    A token that was revoked, or whose grant has ended, is not detected. Raises Unavailable.
    """
    # ID tokens and the tokens of /token are signed by the same keys, and have another type.
    # defence: O15 typ
    return await ctx.port[SigningKeys].verify(text, ctx.now, typ=SIGNED_ACCESS)


async def live_claims(ctx: Context, text: str) -> Mapping[str, Any] | None:
    """Return the claims of an access token that is a JWT; None if it is invalid, expired or revoked.

    None as well if its grant has ended, or, for a token without a user, if the client is disabled or gone. Raises
    Unavailable.
    """
    claims = await claims_of(ctx, text)
    if claims is None or await ctx.reads.one(REVOKED_TOKEN, claims["jti"]):  # defence: O16 revoked-jwt
        return None
    if "gid" not in claims:
        return None if await clients.find(ctx, claims["client_id"]) is None else claims
    granted = await ctx.reads.one(GRANT_BY_ID, claims["gid"])
    is_live = granted is not None and granted.is_live(ctx.now)  # defence: O16 grant-of-jwt
    return claims if is_live else None
