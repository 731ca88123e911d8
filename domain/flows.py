"""Flows: a visit to a provider from its start to the moment the browser is back (behaviour 7.2, 7.3).

What a flow must remember lies encrypted under the digest of its state, for a browser that brings the binding along.
"""

import json
from dataclasses import asdict, dataclass, field

from sqlalchemy import delete
from sqlmodel import col

from domain import links, proving, secrets, users
from domain.context import Context
from domain.providers import Habits, Question
from models import Grant, Purpose

PAYLOAD = "grant.payload"
"""The purpose under which a flow is encrypted."""
_VERIFIER_LENGTH = 64


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of a provider, and where the browser goes afterwards: addresses that were accepted."""

    provider_id: str
    scopes: tuple[str, ...]
    callback_url: str | None
    new_user_callback_url: str | None = None
    error_callback_url: str | None = None
    request_sign_up: bool = False
    login_hint: str | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """What is remembered of a visit; `user_id` and `session_id` say for whom an account is to be linked, if it is."""

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


@dataclass(frozen=True, slots=True)
class Begun:
    """Where the browser goes, and what it must bring back beside the state."""

    url: str = field(repr=False)
    state: str = field(repr=False)
    binding: str = field(repr=False)


async def begin_sign_in(ctx: Context, wish: Wish) -> Begun:
    """Begin a sign-in; the scopes named replace the default ones. Raises ProviderNotFound, ProviderUnavailable."""
    habits = proving.provider_of(ctx, wish.provider_id).habits
    return await _begin(ctx, wish, _scopes(habits, wish.scopes or habits.scopes))


async def begin_linking(ctx: Context, wish: Wish) -> Begun:
    """Begin to link an account to the caller; the scopes named are added to the default ones.

    Raises ProviderNotFound, ProviderUnavailable, Unauthenticated.
    """
    habits = proving.provider_of(ctx, wish.provider_id).habits
    return await _begin(ctx, wish, _scopes(habits, habits.scopes + wish.scopes), links_account=True)


def redirect_uri(ctx: Context, provider_id: str) -> str:
    """Give the address at which a provider hands the browser back."""
    return links.public(ctx.policy, f"/callback/{provider_id}")


def _scopes(habits: Habits, wanted: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(("openid", *wanted) if habits.is_openid else wanted))


async def _begin(ctx: Context, wish: Wish, scopes: tuple[str, ...], *, links_account: bool = False) -> Begun:
    caller = ctx.signed_in if links_account else None
    flow = Flow(
        provider_id=wish.provider_id,
        scopes=scopes,
        verifier=secrets.token(_VERIFIER_LENGTH),
        nonce=secrets.token(),
        callback_url=wish.callback_url,
        new_user_callback_url=wish.new_user_callback_url,
        error_callback_url=wish.error_callback_url,
        request_sign_up=wish.request_sign_up,
        user_id=caller.user.id if caller is not None else None,
        session_id=caller.session.id if caller is not None else None,
    )
    state, binding = secrets.token(), secrets.token()
    url = await _ask(ctx, flow, state, wish.login_hint)
    if links_account:
        await users.lock_caller(ctx)
    ctx.db.add(_row(ctx, flow, state, binding))
    return Begun(url, state, binding)


async def _ask(ctx: Context, flow: Flow, state: str, login_hint: str | None) -> str:
    question = Question(
        redirect_uri=redirect_uri(ctx, flow.provider_id),
        state=state,
        scopes=flow.scopes,
        verifier=flow.verifier,
        nonce=flow.nonce,
        login_hint=login_hint,
    )
    return await proving.provider_of(ctx, flow.provider_id).authorization_url(question)


def _row(ctx: Context, flow: Flow, state: str, binding: str) -> Grant:
    return Grant(
        digest=secrets.digest(state),
        purpose=Purpose.OAUTH_STATE,
        user_id=flow.user_id,
        binding=secrets.digest(binding),
        payload=ctx.cipher.encrypt(PAYLOAD, json.dumps(asdict(flow))),
        expires_at=ctx.now + ctx.policy.providers.state_expires_in,
        created_at=ctx.now,
        updated_at=ctx.now,
    )


async def use_up(ctx: Context, state: str, binding: str) -> Flow | None:
    """Give the flow behind a state if this browser began it; of any number of simultaneous calls one gets it.

    A state that comes with another binding is not used up. A flow that no secret opens any more is none, and so is one
    that another version of the service has begun and this one does not understand.
    """
    used = delete(Grant).where(
        col(Grant.digest) == secrets.digest(state),
        col(Grant.purpose) == Purpose.OAUTH_STATE,
        col(Grant.binding) == secrets.digest(binding),
        col(Grant.expires_at) > ctx.now,
    )
    used_up = used.returning(col(Grant.payload)).execution_options(synchronize_session=False)
    sealed = (await ctx.db.execute(used_up)).scalar_one_or_none()
    text = ctx.cipher.decrypt(PAYLOAD, sealed) if sealed is not None else None
    return None if text is None else _read(text)


def _read(text: str) -> Flow | None:
    remembered = json.loads(text)
    try:
        return Flow(**{**remembered, "scopes": tuple(remembered["scopes"])})
    except (KeyError, TypeError):
        return None
