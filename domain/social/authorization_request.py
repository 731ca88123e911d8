"""OAuth flows: from the redirect to a provider until the browser returns.

The data of a flow is stored encrypted under the digest of its state. Only the browser with the flow's cookie can use
it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from sqlalchemy import delete
from sqlmodel import col

from domain import tokens, urls
from domain.context import Context
from domain.identity_provider import AuthorizationParams, ProviderTraits
from domain.social import identity
from domain.social.policy import SocialPolicy
from domain.users import locking
from models import OneTimeToken, Purpose

PAYLOAD = "grant.payload"
"""The purpose under which a flow is encrypted."""
_VERIFIER_LENGTH = 64


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A request to redirect the browser to a provider, and the accepted redirect URLs for afterwards."""

    provider_id: str
    scopes: tuple[str, ...]
    callback_url: str | None
    new_user_callback_url: str | None = None
    error_callback_url: str | None = None
    request_sign_up: bool = False
    login_hint: str | None = None
    replaces_session: bool = False
    """Whether a new session ends the one that the browser has of the same user."""
    confirms_caller: bool = False
    """Whether the sign-in only succeeds as the caller, who proves once more who they are."""


@dataclass(frozen=True, slots=True)
class OAuthState:
    """The stored state of a flow; `user_id` and `session_id` are set if an account is to be linked."""

    provider_id: str
    scopes: tuple[str, ...]
    verifier: str = field(repr=False)
    nonce: str = field(repr=False)
    callback_url: str | None
    new_user_callback_url: str | None
    error_callback_url: str | None
    request_sign_up: bool
    user_id: str | None
    session_id: str | None
    replaces_session: bool = False
    """As in `AuthorizationRequest`."""
    only_user_id: str | None = None
    """The only user whom the flow may sign in; None for any."""


@dataclass(frozen=True, slots=True)
class AuthorizationRedirect:
    """The redirect to the provider, the state, and the binding that the browser must send back with it."""

    url: str = field(repr=False)
    state: str = field(repr=False)
    binding: str = field(repr=False)


async def begin_sign_in(ctx: Context, request: AuthorizationRequest) -> AuthorizationRedirect:
    """Begin a sign-in; the scopes replace the default ones. Raises ProviderNotFound, ProviderUnavailable."""
    traits = identity.provider_of(ctx, request.provider_id).traits
    return await _begin(ctx, request, _scopes(traits, request.scopes or traits.scopes))


async def begin_linking(ctx: Context, request: AuthorizationRequest) -> AuthorizationRedirect:
    """Begin to link an account to the caller; the scopes are added to the default ones.

    Raises ProviderNotFound, ProviderUnavailable, Unauthenticated.
    """
    traits = identity.provider_of(ctx, request.provider_id).traits
    return await _begin(ctx, request, _scopes(traits, traits.scopes + request.scopes), links_account=True)


def redirect_uri(ctx: Context, provider_id: str) -> str:
    """Return the URL to which a provider redirects the browser back."""
    return urls.public_url(ctx.policy, f"/callback/{provider_id}")


def _scopes(traits: ProviderTraits, requested_scopes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(("openid", *requested_scopes) if traits.is_openid else requested_scopes))


async def _begin(
    ctx: Context, request: AuthorizationRequest, scopes: tuple[str, ...], *, links_account: bool = False
) -> AuthorizationRedirect:
    caller = ctx.signed_in if links_account else None
    flow = OAuthState(
        provider_id=request.provider_id,
        scopes=scopes,
        # A new verifier for each flow; 64 characters, of the 43 to 128 that RFC 7636, 4.1 allows.
        verifier=tokens.token(_VERIFIER_LENGTH),  # defence: V57 verifier
        # The nonce binds the ID token to this flow (OpenID Connect Core, 3.1.2.1).
        nonce=tokens.token(),  # defence: V18 nonce
        callback_url=request.callback_url,
        new_user_callback_url=request.new_user_callback_url,
        error_callback_url=request.error_callback_url,
        request_sign_up=request.request_sign_up,
        user_id=caller.user.id if caller is not None else None,
        session_id=caller.session.id if caller is not None else None,
        replaces_session=request.replaces_session,
        only_user_id=ctx.signed_in.user.id if request.confirms_caller else None,
    )
    state, binding = tokens.token(), tokens.token()
    url = await _authorization_url(ctx, flow, state, request.login_hint)  # defence: R14 ask-provider
    # Only now: the provider's metadata may have to be fetched first, and no lock is held during a call.
    if links_account:  # defence: R14 lock-caller
        await locking.lock_caller(ctx)
    ctx.db.add(_row(ctx, flow, state, binding))
    return AuthorizationRedirect(url, state, binding)


async def _authorization_url(ctx: Context, flow: OAuthState, state: str, login_hint: str | None) -> str:
    params = AuthorizationParams(
        redirect_uri=redirect_uri(ctx, flow.provider_id),
        state=state,
        scopes=flow.scopes,
        verifier=flow.verifier,
        nonce=flow.nonce,
        login_hint=login_hint,
    )
    return await identity.provider_of(ctx, flow.provider_id).authorization_url(params)


def _row(ctx: Context, flow: OAuthState, state: str, binding: str) -> OneTimeToken:
    # defence: V87 flow-row
    return OneTimeToken(
        digest=tokens.digest(state),
        purpose=Purpose.OAUTH_STATE,
        user_id=flow.user_id,
        binding=tokens.digest(binding),
        payload=ctx.cipher.encrypt(PAYLOAD, json.dumps(_written(flow))),
        expires_at=ctx.now + ctx.policy[SocialPolicy].state_expires_in,
        created_at=ctx.now,
        updated_at=ctx.now,
    )


def _written(flow: OAuthState) -> dict[str, object]:
    """Return the stored form of a flow."""
    # A release without one of the optional fields refuses a flow that has it, and may run next to this one.
    return {each.name: value for each in fields(flow) if (value := getattr(flow, each.name)) != each.default}


async def consume(ctx: Context, state: str, bindings: Sequence[str]) -> OAuthState | None:
    """Return the flow of a state if this browser began it; of any number of simultaneous calls exactly one returns it.

    `bindings` are the values of the browser's cookie for it. A state with another binding is not used up. A flow that
    can no longer be decrypted, or was stored in the format of another version, counts as missing.
    """
    # One statement finds and deletes the state, so that of concurrent callbacks one continues.
    # defence: V54 V58 use-state
    used = delete(OneTimeToken).where(
        col(OneTimeToken.digest) == tokens.digest(state),
        col(OneTimeToken.purpose) == Purpose.OAUTH_STATE,
        # Only the browser that began the flow has the cookie. Otherwise an attacker could sign a victim in to the
        # attacker's account (as in fastapi-users, CVE-2025-68481).
        # defence: V54 state-binding
        col(OneTimeToken.binding).in_([tokens.digest(binding) for binding in tokens.presented(bindings)]),
        col(OneTimeToken.expires_at) > ctx.now,  # defence: V54 state-expiry
    )
    # defence: R19 use-state
    ciphertext = (await ctx.db.execute(used.returning(col(OneTimeToken.payload)))).scalar()
    text = ctx.cipher.decrypt(PAYLOAD, ciphertext) if ciphertext is not None else None
    return None if text is None else _read(text)


def _read(text: str) -> OAuthState | None:
    remembered = json.loads(text)
    try:
        return OAuthState(**{**remembered, "scopes": tuple(remembered["scopes"])})
    except (KeyError, TypeError):
        return None
