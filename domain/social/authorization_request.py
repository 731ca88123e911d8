"""OAuth flows: from the redirect to a provider until the browser returns.

The data of a flow is stored encrypted, under the digest of the `state` parameter. Only the browser that began the flow
can finish the flow, because it has a cookie with the binding, a random value.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any

from sqlalchemy import delete
from sqlmodel import col

from domain import tokens, urls
from domain.context import Context
from domain.identity_provider import AuthorizationParams, Provider, ProviderTraits
from domain.social import identity
from domain.social.policy import SocialPolicy
from domain.users import locking
from models import OneTimeToken, Purpose

PAYLOAD = "grant.payload"
"""The purpose under which a flow is encrypted."""
_VERIFIER_LENGTH = 64


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """The options of a flow that is to begin. The redirect URLs for its end are already checked."""

    provider_id: str
    scopes: tuple[str, ...]
    callback_url: str | None
    new_user_callback_url: str | None = None
    error_callback_url: str | None = None
    request_sign_up: bool = False
    login_hint: str | None = None
    replaces_session: bool = False
    """Whether the new session ends the session that the same user has in this browser."""
    confirms_caller: bool = False
    """Whether only the caller may sign in, to authenticate again."""
    tested_by: str | None = None
    """The id of the session that tests a connection; None for a real sign-in."""
    forces_authentication: bool = False
    """Whether the user must authenticate again at the provider of a connection, although they have a session there."""


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
    tested_by: str | None = None
    """As in `AuthorizationRequest`. A flow that tests a connection signs no user in."""


@dataclass(frozen=True, slots=True)
class AuthorizationRedirect:
    """The redirect URL, its `state`, and the binding for a cookie, which the browser must return with the state."""

    url: str = field(repr=False)
    state: str = field(repr=False)
    binding: str = field(repr=False)


UrlOf = Callable[[OAuthState, str], Awaitable[str]]
"""A function that returns the URL of a provider's page for a flow and its state; it may call the provider."""


async def begin_sign_in(ctx: Context, request: AuthorizationRequest) -> AuthorizationRedirect:
    """Begin a sign-in at a configured provider; scopes in the request replace the default ones.

    Raises ProviderNotFound, ProviderUnavailable.
    """
    provider = identity.provider_of(ctx, request.provider_id)
    traits = provider.traits
    flow = _flow(ctx, request, openid_scopes(traits, request.scopes or traits.scopes))
    return await begin(ctx, flow, _url_at(ctx, provider, request), ctx.policy[SocialPolicy].state_expires_in)


async def begin_linking(ctx: Context, request: AuthorizationRequest) -> AuthorizationRedirect:
    """Begin to link an account to the caller; scopes in the request are added to the default ones.

    Raises ProviderNotFound, ProviderUnavailable, Unauthenticated.
    """
    provider = identity.provider_of(ctx, request.provider_id)
    traits, caller = provider.traits, ctx.signed_in
    flow = replace(
        _flow(ctx, request, openid_scopes(traits, traits.scopes + request.scopes)),
        user_id=caller.user.id,
        session_id=caller.session.id,
    )
    return await begin(ctx, flow, _url_at(ctx, provider, request), ctx.policy[SocialPolicy].state_expires_in)


def redirect_uri(ctx: Context, provider_id: str) -> str:
    """Return the URL to which a provider redirects the browser back."""
    return urls.public_url(ctx.policy, f"/callback/{provider_id}")


def openid_scopes(traits: ProviderTraits, requested_scopes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the scopes to request, with `openid` first at an OpenID provider."""
    return tuple(dict.fromkeys(("openid", *requested_scopes) if traits.is_openid else requested_scopes))


def new_flow(request: AuthorizationRequest, scopes: tuple[str, ...] = ()) -> OAuthState:
    """Return the state of a new sign-in flow, which is not stored yet."""
    return OAuthState(
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
        user_id=None,
        session_id=None,
        replaces_session=request.replaces_session,
        tested_by=request.tested_by,
    )


async def begin(
    ctx: Context, flow: OAuthState, url_of: UrlOf, expires_in: timedelta
) -> AuthorizationRedirect:
    """Store a flow for `expires_in` and return the redirect to the provider.

    Raises the errors of the function `url_of`, and Unauthenticated if a flow that links an account lost its session.
    """
    state, binding = tokens.token(), tokens.token()
    url = await url_of(flow, state)  # defence: R14 ask-provider
    # Only now: the provider's metadata may have to be fetched first, and no lock is held during a call.
    if flow.user_id is not None:  # defence: R14 lock-caller
        await locking.lock_caller(ctx)
    ctx.db.add(_row(ctx, flow, state, binding, expires_in))
    return AuthorizationRedirect(url, state, binding)


def params_of(
    flow: OAuthState,
    state: str,
    redirect_uri: str,
    login_hint: str | None,
    *,
    forces_authentication: bool = False,
) -> AuthorizationParams:
    """Return the parameters of the redirect to an OAuth 2.0 or OpenID provider."""
    return AuthorizationParams(
        redirect_uri=redirect_uri,
        state=state,
        scopes=flow.scopes,
        verifier=flow.verifier,
        nonce=flow.nonce,
        login_hint=login_hint,
        forces_authentication=forces_authentication,
    )


def _flow(ctx: Context, request: AuthorizationRequest, scopes: tuple[str, ...]) -> OAuthState:
    only = ctx.signed_in.user.id if request.confirms_caller else None
    return replace(new_flow(request, scopes), only_user_id=only)


def _url_at(ctx: Context, provider: Provider, request: AuthorizationRequest) -> UrlOf:
    async def url(flow: OAuthState, state: str) -> str:
        back = redirect_uri(ctx, flow.provider_id)
        return await provider.authorization_url(params_of(flow, state, back, request.login_hint))

    return url


def _row(ctx: Context, flow: OAuthState, state: str, binding: str, expires_in: timedelta) -> OneTimeToken:
    # defence: V87 flow-row
    return OneTimeToken(
        digest=tokens.digest(state),
        purpose=Purpose.OAUTH_STATE,
        user_id=flow.user_id,
        binding=tokens.digest(binding),
        payload=ctx.cipher.encrypt(PAYLOAD, json.dumps(serialize(flow))),
        expires_at=ctx.now + expires_in,
        created_at=ctx.now,
        updated_at=ctx.now,
    )


def serialize(flow: OAuthState) -> dict[str, object]:
    """Return the stored form of a flow."""
    # A release without one of the optional fields refuses a flow that has it, and may run next to this one.
    return {each.name: value for each in fields(flow) if (value := getattr(flow, each.name)) != each.default}


async def consume(ctx: Context, state: str, bindings: Sequence[str]) -> OAuthState | None:
    """Delete the stored flow of a `state` and return it; None under the conditions of `use_up`."""
    stored = await use_up(ctx, state, bindings, Purpose.OAUTH_STATE)
    return None if stored is None else deserialize(stored)


async def use_up(
    ctx: Context, state: str, bindings: Sequence[str], purpose: Purpose
) -> Mapping[str, Any] | None:
    """Delete the stored data of a `state` and return it; of simultaneous calls exactly one returns it.

    `bindings` are the values of the cookie that the browser sent. Return None, and delete nothing, if the state is
    unknown, has expired, or has another binding. Return None also if the data cannot be decrypted.
    """
    # One statement finds and deletes the state, so that of concurrent callbacks one continues.
    # defence: V54 V58 use-state
    used = delete(OneTimeToken).where(
        col(OneTimeToken.digest) == tokens.digest(state),
        col(OneTimeToken.purpose) == purpose,
        # Only the browser that began the flow has the cookie. Otherwise an attacker could sign a victim in to the
        # attacker's account (as in fastapi-users, CVE-2025-68481).
        # defence: V54 SSO5 state-binding
        col(OneTimeToken.binding).in_([tokens.digest(binding) for binding in tokens.presented(bindings)]),
        col(OneTimeToken.expires_at) > ctx.now,  # defence: V54 state-expiry
    )
    # defence: R19 use-state
    ciphertext = (await ctx.db.execute(used.returning(col(OneTimeToken.payload)))).scalar()
    text = ctx.cipher.decrypt(PAYLOAD, ciphertext) if ciphertext is not None else None
    return None if text is None else dict(json.loads(text))


def deserialize(remembered: Mapping[str, Any]) -> OAuthState | None:
    """Return a flow from its stored form; None if another version of the service stored it in a different form."""
    try:
        return OAuthState(**{**remembered, "scopes": tuple(remembered["scopes"])})
    except (KeyError, TypeError):
        return None
