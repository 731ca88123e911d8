"""Issue access tokens, refresh tokens and ID tokens."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

from domain import tokens
from domain.context import Context
from domain.jwt.signing_keys import SigningKeys
from domain.oauth import events
from domain.oauth.access import Access
from domain.oauth.claims import acr_of, of_user
from domain.oauth.policy import OAuthPolicy
from domain.oauth_clients import clients
from models.base import to_milliseconds
from models.oauth_client import ClientRow
from models.oauth_grant import GrantRow
from models.oauth_token import ADD_TOKEN, TokenKind
from models.user import UserRow

ACCESS_PREFIX = "gwa_"
REFRESH_PREFIX = "gwr_"

SIGNED_ACCESS = "at+jwt"
"""The `typ` of access tokens that are JWTs (RFC 9068). ID tokens, signed by the same keys, have another `typ`."""

REFRESH = "refresh_token"
"""The grant type of clients that get refresh tokens."""


class TokenResponse(TypedDict):
    """The response of the token endpoint (RFC 6749, 5.1)."""

    access_token: str
    token_type: Literal["Bearer"]
    expires_in: int
    scope: str
    id_token: NotRequired[str]
    refresh_token: NotRequired[str]
    expires_at: int
    """When the access token expires, in seconds since 1970."""


def digest(token: str, prefix: str) -> bytes | None:
    """Return the digest of a token or code; None if the text is not `prefix` followed by a token of this service."""
    secret = token.removeprefix(prefix)
    is_ours = token.startswith(prefix) and tokens.is_token(secret)
    return tokens.digest(token) if is_ours else None


@dataclass(frozen=True, slots=True)
class Issue:
    """The data from which tokens about a user are issued."""

    grant_type: str
    grant: GrantRow
    user: UserRow
    scopes: str
    """The scopes of this request, on which the ID token depends; the access token may have fewer (`access.scopes`)."""
    access: Access
    nonce: str | None = None
    session_expires_at: datetime | None = None
    """The end of the grant's session, which ends the tokens of a grant without offline access."""
    predecessor: bytes | None = None
    """The digest of the refresh token that is replaced."""


async def issue(ctx: Context, client: ClientRow, wanted: Issue) -> TokenResponse:
    """Issue tokens under a grant of a user; return the response, and defer the insertion of tokens that are stored.

    The scope `openid` brings an ID token; a grant with offline access brings a refresh token, if the client may use it.
    Raises Unavailable if there is no key to sign with.
    """
    grant, user, access = wanted.grant, wanted.user, wanted.access
    ends_at = grant.expires_at
    if not grant.offline and wanted.session_expires_at is not None:
        ends_at = min(ends_at, wanted.session_expires_at)
    expires_at = min(ctx.now + access.lifetime(ctx.policy[OAuthPolicy]), ends_at)
    if access.is_jwt:
        about = {"sub": user.id, "gid": grant.id, **_authentication(grant)}
        access_token = await _signed_access(ctx, client, access, about, expires_at)
    else:
        access_token = _stored_access(ctx, client, access, grant.id, expires_at)
    response = _response(ctx, access_token, access, expires_at)
    if "openid" in wanted.scopes.split():
        response["id_token"] = await _id_token(ctx, client, wanted, access_token)
    if grant.offline and REFRESH in client.metadata["grant_types"]:
        response["refresh_token"] = _refresh(ctx, client, grant, wanted.predecessor)
    _note(ctx, client, wanted.grant_type, user_id=user.id, session_id=grant.session_id)
    return response


async def issue_to_client(
    ctx: Context, client: ClientRow, access: Access, *, grant_type: str
) -> TokenResponse:
    """Issue an access token that acts for the client itself; return the response. The insertion is deferred.

    A JWT is not stored. Raises Unavailable if there is no key to sign with.
    """
    expires_at = ctx.now + access.lifetime(ctx.policy[OAuthPolicy])
    if access.is_jwt:
        token = await _signed_access(ctx, client, access, {"sub": client.client_id}, expires_at)
    else:
        token = _stored_access(ctx, client, access, None, expires_at)
    _note(ctx, client, grant_type)
    return _response(ctx, token, access, expires_at)


def _response(ctx: Context, token: str, access: Access, expires_at: datetime) -> TokenResponse:
    end = to_milliseconds(expires_at) // 1000
    return {
        "access_token": token,
        "token_type": "Bearer",
        "expires_in": end - to_milliseconds(ctx.now) // 1000,
        "scope": access.scopes,
        "expires_at": end,
    }


def _note(ctx: Context, client: ClientRow, grant_type: str, **about: str | None) -> None:
    clients.note_use(ctx, client)
    events.token_issued(ctx, client.client_id, grant_type, **about)


def _stored_access(
    ctx: Context, client: ClientRow, access: Access, grant_id: str | None, expires_at: datetime
) -> str:
    """Return an opaque access token, and defer its insertion."""
    token = ACCESS_PREFIX + tokens.token()
    _add(
        ctx,
        token,
        client,
        kind=TokenKind.ACCESS,
        grant_id=grant_id,
        scopes=access.scopes,
        resource=access.uri,
        expires_at=expires_at,
        kept_until=expires_at,
        predecessor=None,
    )
    return token


async def _signed_access(
    ctx: Context, client: ClientRow, access: Access, about: Mapping[str, Any], expires_at: datetime
) -> str:
    """Return an access token in the form of a JWT (RFC 9068), which leaves no row."""
    claims = {
        "iss": ctx.policy[OAuthPolicy].issuer,
        "aud": access.uri,
        "client_id": client.client_id,
        "scope": access.scopes,
        "iat": to_milliseconds(ctx.now) // 1000,
        "exp": to_milliseconds(expires_at) // 1000,
        "jti": tokens.token(),
        **about,
    }
    return await ctx.port[SigningKeys].sign(claims, ctx.now, typ=SIGNED_ACCESS)


async def _id_token(ctx: Context, client: ClientRow, wanted: Issue, access_token: str) -> str:
    """Return an ID token (OpenID Connect Core 1.0, 2)."""
    grant, user = wanted.grant, wanted.user
    policy, algorithm = ctx.policy[OAuthPolicy], client.metadata["id_token_signed_response_alg"]
    claims = {
        **of_user(user, wanted.scopes.split()),
        "iss": policy.issuer,
        "sub": user.id,
        "aud": client.client_id,
        "iat": to_milliseconds(ctx.now) // 1000,
        "exp": to_milliseconds(ctx.now + policy.id_token_expires_in) // 1000,
        **_authentication(grant),
        "at_hash": _half_hash(access_token, algorithm),
        "sid": grant.sid,
    }
    if wanted.nonce is not None:  # defence: O24 nonce
        claims["nonce"] = wanted.nonce
    return await ctx.port[SigningKeys].sign(claims, ctx.now, algorithm=algorithm)


def _authentication(grant: GrantRow) -> dict[str, Any]:
    """Return the claims about when and how the user has signed in; `amr` only if that is known."""
    methods = grant.amr.split()
    claims = {"auth_time": to_milliseconds(grant.auth_time) // 1000, "acr": acr_of(methods)}
    return {**claims, "amr": methods} if methods else claims


def _half_hash(token: str, algorithm: str) -> str:
    """Return the left half of the hash of a token (OpenID Connect Core 1.0, 3.1.3.6)."""
    # The hash is that of the signature: SHA-512 for Ed25519 (RFC 8032, 5.1), SHA-256 for the other algorithms.
    function = hashlib.sha512 if algorithm == "EdDSA" else hashlib.sha256
    whole = function(token.encode()).digest()  # defence: O24 at-hash
    return base64.urlsafe_b64encode(whole[: len(whole) // 2]).rstrip(b"=").decode()


def _refresh(ctx: Context, client: ClientRow, grant: GrantRow, predecessor: bytes | None) -> str:
    """Return a refresh token for everything that was granted, and defer its insertion."""
    token = REFRESH_PREFIX + tokens.token()
    _add(
        ctx,
        token,
        client,
        kind=TokenKind.REFRESH,
        grant_id=grant.id,
        scopes=grant.scopes,
        resource=grant.resources or None,
        expires_at=min(ctx.now + ctx.policy[OAuthPolicy].refresh_token_expires_in, grant.expires_at),
        kept_until=grant.expires_at,
        predecessor=predecessor,
    )
    return token


def _add(ctx: Context, token: str, client: ClientRow, **columns: object) -> None:
    ctx.db.defer(
        ADD_TOKEN,
        token=tokens.digest(token),  # defence: O14 token-digest
        client_id=client.client_id,
        successor_used=False,
        created_at=ctx.now,
        updated_at=ctx.now,
        **columns,
    )
