"""Redemption of authorization codes (RFC 6749, 4.1.3) with PKCE (RFC 7636)."""

import base64
import hashlib
import re
from datetime import timedelta

from domain.context import Context, StaleRead
from domain.oauth import access, events, grants, tokens
from domain.oauth.engine import Presented, TokenEngine
from domain.oauth.grant_types import grant_type
from domain.oauth.tokens import Issue, TokenResponse
from domain.oauth_clients.errors import GrantRevoked, InvalidGrant, InvalidRequest
from domain.oauth_clients.parameters import OAuthParameters
from models.oauth_client import ClientRow
from models.oauth_code import CODE_BY_DIGEST, NONCE, REDEEM_CODE, AuthorizedCode

AUTHORIZATION_CODE = "authorization_code"

CODE_PREFIX = "gwc_"

_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}", re.ASCII)

_SAME_SUBMIT = timedelta(seconds=10)
"""How long a repetition counts as the same request, sent twice, and not as theft."""


@grant_type(AUTHORIZATION_CODE)
async def redeem(ctx: Context, client: ClientRow, parameters: OAuthParameters) -> TokenResponse:
    """Return the tokens for an authorization code, and use up the code.

    A request by another client, or with a wrong code verifier, does not use it up. A code that is used a second time
    ends its grant, unless the same request was sent twice. Raises InvalidRequest for a missing or malformed parameter;
    InvalidGrant if the code cannot be redeemed; InvalidTarget and InvalidScope as `access.select`; Unavailable.
    """
    digest = tokens.digest(parameters.require("code"), CODE_PREFIX)
    verifier = parameters.require("code_verifier")
    if not _VERIFIER.fullmatch(verifier):  # defence: O3 verifier
        raise InvalidRequest("code_verifier must have 43 to 128 letters, digits, and - . _ ~")
    challenge = challenge_of(verifier)
    if digest is None:
        raise InvalidGrant
    found = await ctx.reads.one(CODE_BY_DIGEST, digest)
    # defence: O2 other-client
    if found is None or found.code.client_id != client.client_id:
        raise InvalidGrant
    if found.code.used_at is not None:
        await _refuse_used(ctx, found, is_verified=challenge == found.code.code_challenge)
    if not _is_valid(ctx, found):
        raise InvalidGrant
    code, session = found.code, found.session
    scopes = ctx.port[TokenEngine](
        client, parameters, Presented(code.scopes, code.redirect_uri, code.code_challenge)
    )
    selected = access.select(
        ctx, client, parameters.every("resource"), scopes=scopes, resources=code.resources.split()
    )
    grant = await grants.add(ctx, client, session, scopes=scopes, resources=code.resources)
    wanted = Issue(
        AUTHORIZATION_CODE,
        grant,
        found.user,
        scopes,
        selected,
        nonce=None if code.nonce is None else ctx.cipher.decrypt(NONCE, code.nonce),
        session_expires_at=session.expires_at,
    )
    response = await tokens.issue(ctx, client, wanted)
    # What was read may have changed: then the request runs again, and finds the code used.
    ctx.db.require(  # defence: O2 redeem
        REDEEM_CODE,
        StaleRead,
        digest=code.code,
        client=client.client_id,
        challenge=challenge,
        live_session=session.id,
        now=ctx.now,
        used_at=ctx.now,
        grant_id=grant.id,
        updated_at=ctx.now,
    )
    return response


def challenge_of(verifier: str) -> str:
    """Return the code challenge that belongs to a code verifier by the method S256 (RFC 7636, 4.2)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _is_valid(ctx: Context, found: AuthorizedCode) -> bool:
    """Return whether an unused code can be redeemed."""
    if found.code.expires_at <= ctx.now:  # defence: O2 expiry
        return False
    return found.session.is_active(ctx.now) and not found.user.is_banned(ctx.now)  # defence: O16 code-ban


async def _refuse_used(ctx: Context, found: AuthorizedCode, *, is_verified: bool) -> None:
    """Raise InvalidGrant; unless the same request was sent twice, the grant of the code is revoked."""
    code = found.code
    used_at, grant_id = code.used_at, code.grant_id
    is_repeated = is_verified and used_at is not None and ctx.now - used_at <= _SAME_SUBMIT
    # defence: O2 replay
    if not is_repeated and grant_id is not None and await grants.revoke(ctx, grant_id):
        events.code_replayed(ctx, code.client_id, found.user.id, grant_id)
        raise GrantRevoked
    raise InvalidGrant
