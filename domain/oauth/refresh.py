"""Refresh of tokens (RFC 6749, 6): every refresh token can be used once."""

from typing import Any

import orjson

from domain.context import Context, StaleRead
from domain.oauth import access, events, grants, tokens
from domain.oauth.engine import Presented, TokenEngine
from domain.oauth.grant_types import grant_type
from domain.oauth.policy import OAuthPolicy
from domain.oauth.tokens import REFRESH, REFRESH_PREFIX, Issue, TokenResponse
from domain.oauth_clients.errors import GrantRevoked, InvalidGrant
from domain.oauth_clients.parameters import OAuthParameters
from models.oauth_client import ClientRow
from models.oauth_token import (
    FORGET_REPLAYS,
    REFRESH_TOKEN_BY_DIGEST,
    REPLAY,
    ROTATE_TOKEN,
    USE_SUCCESSOR,
    GrantedRefreshToken,
)


@grant_type(REFRESH)
async def refresh(ctx: Context, client: ClientRow, parameters: OAuthParameters) -> TokenResponse:
    """Return new tokens for a refresh token, which is replaced by a new one.

    A replaced token revokes its grant if it is used again. The exception is a repetition of the same request within
    `oauth.refresh_reuse_grace` and before the new token is used: it gets the same response. Raises InvalidRequest,
    InvalidGrant, InvalidScope, InvalidTarget, Unavailable.
    """
    digest = tokens.digest(parameters.require("refresh_token"), REFRESH_PREFIX)
    if digest is None:
        raise InvalidGrant
    found = await ctx.reads.one(REFRESH_TOKEN_BY_DIGEST, digest)
    # defence: O9 O16 other-client
    if found is None or found.token.client_id != client.client_id or not found.is_live(ctx.now):
        raise InvalidGrant
    if found.token.rotated_at is not None:
        return await _repeat(ctx, parameters, found)
    if found.token.revoked_at is not None or found.token.expires_at <= ctx.now:
        raise InvalidGrant
    return await _rotate(ctx, client, parameters, found)


async def _rotate(
    ctx: Context, client: ClientRow, parameters: OAuthParameters, found: GrantedRefreshToken
) -> TokenResponse:
    token, grant = found.token, found.grant
    scopes = ctx.port[TokenEngine](client, parameters, Presented(token.scopes))
    selected = access.select(
        ctx, client, parameters.every("resource"), scopes=scopes, resources=grant.resources.split()
    )
    wanted = Issue(
        REFRESH,
        grant,
        found.user,
        scopes,
        selected,
        session_expires_at=found.session_expires_at,
        predecessor=token.token,
    )
    response = await tokens.issue(ctx, client, wanted)
    # A client that uses the successor has received it, so that another use of the former token is theft.
    if token.predecessor is not None:  # defence: O9 successor
        ctx.db.defer(
            USE_SUCCESSOR, rotated=token.predecessor, successor_used=True, replay=None, updated_at=ctx.now
        )
    # What was read may have changed: then the request runs again, and finds the token rotated.
    ctx.db.require(  # defence: O9 rotate
        ROTATE_TOKEN,
        StaleRead,
        digest=token.token,
        client=client.client_id,
        live_grant=grant.id,
        now=ctx.now,
        rotated_at=ctx.now,
        replay=_replay(ctx, parameters, response),
        updated_at=ctx.now,
    )
    return response


async def _repeat(ctx: Context, parameters: OAuthParameters, found: GrantedRefreshToken) -> TokenResponse:
    """Return the response of the rotation again while that is allowed. Otherwise revoke the grant and raise
    InvalidGrant."""
    response = _kept(ctx, parameters, found)
    if response is not None:
        return response
    grant = found.grant
    if await grants.revoke(ctx, grant.id):  # defence: O9 reuse
        events.refresh_reused(ctx, grant.client_id, grant.user_id, grant.id)
        raise GrantRevoked
    raise InvalidGrant


def _replay(ctx: Context, parameters: OAuthParameters, response: TokenResponse) -> bytes | None:
    """Return the response with the request that it belongs to, encrypted."""
    if not ctx.policy[OAuthPolicy].refresh_reuse_grace:
        return None
    kept = orjson.dumps({"request": _request(parameters), "response": response})
    return ctx.cipher.encrypt(REPLAY, kept.decode())  # defence: O14 replay


def _kept(ctx: Context, parameters: OAuthParameters, found: GrantedRefreshToken) -> TokenResponse | None:
    """Return the response of the rotation if the same request came again in time."""
    token = found.token
    grace = ctx.policy[OAuthPolicy].refresh_reuse_grace
    if token.rotated_at is None or token.replay is None or token.successor_used:
        return None
    if ctx.now - token.rotated_at > grace:  # defence: O9 grace
        return None
    opened = ctx.cipher.decrypt(REPLAY, token.replay)
    kept: dict[str, Any] = {} if opened is None else orjson.loads(opened)
    if kept.get("request") != _request(parameters):  # defence: O9 same-request
        return None
    response: TokenResponse = kept["response"]
    return response


def _request(parameters: OAuthParameters) -> list[str]:
    """Return what a refresh asks for, in the form in which two of them are compared."""
    return [
        " ".join(sorted((parameters.get("scope") or "").split())),
        " ".join(sorted(parameters.every("resource"))),
    ]


async def forget_replays(ctx: Context) -> None:
    """Erase the stored responses of refresh requests that are older than `oauth.refresh_reuse_grace`."""
    until = ctx.now - ctx.policy[OAuthPolicy].refresh_reuse_grace
    await ctx.db.execute(FORGET_REPLAYS, until=until, replay=None, updated_at=ctx.now)
