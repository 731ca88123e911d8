"""Revocation of tokens by their client (RFC 7009)."""

from datetime import UTC, datetime

from domain.context import Context
from domain.oauth import events, grants, lookup
from domain.oauth_clients import authentication
from domain.oauth_clients.parameters import OAuthParameters
from models.oauth_client import ClientRow
from models.oauth_revoked_token import revoke_token
from models.oauth_token import REVOKE_TOKEN, TokenKind
from models.oauth_token_query import TOKEN_BY_DIGEST


async def revoke(ctx: Context, parameters: OAuthParameters) -> None:
    """Revoke the token in the request of an authenticated client; a refresh token ends its whole grant.

    A refresh token that was replaced ends it, too. A token that is unknown, was revoked or was issued to another client
    is ignored, as is an expired JWT. Raises InvalidRequest, InvalidClient, Unavailable.
    """
    client = await authentication.authenticate(ctx, parameters)
    text = parameters.require("token")
    digest = lookup.digest_of(text)
    if digest is None:
        await _revoke_jwt(ctx, client, text)
    else:
        await _revoke_stored(ctx, client, digest)


async def _revoke_stored(ctx: Context, client: ClientRow, digest: bytes) -> None:
    found = await ctx.reads.one(TOKEN_BY_DIGEST, digest)
    if found is None or found.token.client_id != client.client_id:  # defence: O15 revoke-own
        return
    grant, kind = found.granted, found.token.kind
    # A rotated refresh token ends the grant as well: its client does not need the tokens that followed either.
    if grant is not None and kind == TokenKind.REFRESH:
        has_ended = await grants.revoke(ctx, grant.id)
    else:
        has_ended = bool(
            await ctx.db.execute(REVOKE_TOKEN, digest=digest, revoked_at=ctx.now, updated_at=ctx.now)
        )
    if has_ended:
        events.token_revoked(ctx, client.client_id, None if grant is None else grant.user_id, kind)


async def _revoke_jwt(ctx: Context, client: ClientRow, text: str) -> None:
    claims = await lookup.claims_of(ctx, text)
    if claims is None or claims["client_id"] != client.client_id:  # defence: O15 revoke-own-jwt
        return
    expires_at = datetime.fromtimestamp(claims["exp"], UTC)
    if await ctx.db.execute(revoke_token(ctx.db.dialect), jti=claims["jti"], expires_at=expires_at):
        user_id = claims["sub"] if "gid" in claims else None
        events.token_revoked(ctx, client.client_id, user_id, TokenKind.ACCESS)
