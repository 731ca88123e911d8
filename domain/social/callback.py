"""The callback of a provider: consume the state of the flow, verify the identity, and sign in or link it."""

import re
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from domain import errors
from domain.context import Context, Job
from domain.identity_provider import CallbackParams, Provider
from domain.sessions import replacement
from domain.sessions.sessions import OpenedSession
from domain.social import authorization_request, events, linking
from domain.social.authorization_request import OAuthState
from domain.social.flows import PROVIDERS, CallbackError, Flows
from domain.social.sign_in import SocialSignIn, SocialSignInResult
from domain.sso_enforcement.errors import SsoRequired
from domain.two_factor.challenges import PendingSignIn
from domain.users.errors import BannedUser, EmailNotVerified

DESCRIPTION_LENGTH = 200
CODE_LENGTH = 64
_PROVIDERS_CODE = re.compile(rf"[A-Za-z0-9_-]{{1,{CODE_LENGTH}}}")


Result = TypeVar("Result")


class CallbackRefused(Exception):
    """A flow failed because of the parameters of its callback."""

    def __init__(self, error: str, description: str | None = None, said: str | None = None) -> None:
        """Set the `error` of the redirect, the provider's description of it, and the provider's error code (`said`)."""
        self.error = error
        self.description = description
        self.said = said
        super().__init__(error)


@dataclass(frozen=True, slots=True)
class CallbackRequest:
    """A callback as received: the provider's parameters and two cookies of the browser, all unchecked."""

    provider_id: str
    state: str | None = field(repr=False)
    code: str | None = field(repr=False)
    error: str | None
    error_description: str | None
    issuer: str | None
    form_user: str | None = field(repr=False)
    bindings: Sequence[str] = field(repr=False)
    """The values of the cookie that binds the flow to the browser."""
    session_tokens: Sequence[str] = field(repr=False)
    """The values of the session cookie."""


@dataclass(frozen=True, slots=True)
class CallbackResult:
    """The result of a callback: the redirect, and the data for its cookies."""

    target: str | None = None
    """The redirect URL that the flow has for this outcome; None if it has none."""
    opened: OpenedSession | PendingSignIn | None = None
    """The new session or pending sign-in; None after linking, and after a failure."""
    error: str | None = None
    description: str | None = None
    """The provider's description of its error."""
    keeps_session: bool = False
    """Whether the browser keeps its current session of the same user, because a second factor is pending."""
    is_used_up: bool = True
    """Whether the flow was begun by this browser and is consumed, so that its cookie can be deleted."""
    defect: Exception | None = None
    """An internal error to log: an unexpected exception, or an unavailable database."""


async def handle_callback(ctx: Context, request: CallbackRequest, flows: Flows = PROVIDERS) -> CallbackResult:
    """Finish the flow of a callback; return the outcome, also of a failure, which is audited.

    Raises Unavailable only if the database is unavailable before the state is consumed; the callback can be repeated
    then.
    """
    flow = await use_state(ctx, request)
    if isinstance(flow, CallbackResult):
        return flow
    return await finish(ctx, flows, flow, request)


async def finish(ctx: Context, flows: Flows, flow: OAuthState, request: CallbackRequest) -> CallbackResult:
    """Finish a flow whose state is consumed; return the outcome, also of a failure, which is audited."""
    return await outcome(ctx, flows, flow, request.provider_id, _finish(ctx, flows, flow, request))


async def use_state(ctx: Context, request: CallbackRequest) -> OAuthState | CallbackResult:
    """Consume the state of a callback and return its flow, so that no other callback can use it.

    Return the failure as a `CallbackResult` if the state is missing or unknown, or another browser began the flow.
    Raises Unavailable.
    """
    if not request.state:
        return _refuse(ctx, request, CallbackError.STATE_NOT_FOUND)  # defence: V55 missing-state
    flow = None
    if request.bindings:
        # In its own transaction, so that the state stays used up if the flow fails.
        job = partial(authorization_request.consume, state=request.state, bindings=request.bindings)
        flow = await ctx.in_new_transaction(job)
    return flow or _refuse(ctx, request, CallbackError.STATE_MISMATCH)


async def outcome(
    ctx: Context, flows: Flows, flow: OAuthState, requested_provider: str, steps: Awaitable[Result]
) -> Result | CallbackResult:
    """Await the last steps of a flow; return their result.

    If they raise any exception, audit it and return it as a `CallbackResult`. `requested_provider` is the provider id
    in the URL of the callback.
    """
    try:
        return await steps
    except Exception as fault:
        return _failed(ctx, flows, flow, requested_provider, fault)


async def check_response(
    ctx: Context, flows: Flows, flow: OAuthState, request: CallbackRequest
) -> tuple[Provider, CallbackParams]:
    """Check the response of a provider; return the provider, and the parameters to exchange the code with.

    Raises CallbackRefused, ProviderNotFound, IssuerMismatch.
    """
    # Mix-up: a malicious provider could pass on a code of another provider (RFC 9700, 4.4).
    if request.provider_id != flow.provider_id:  # defence: V56 flow-provider
        raise CallbackRefused(CallbackError.STATE_MISMATCH)
    provider = flows.provider(ctx, flow.provider_id)
    await provider.check_issuer(request.issuer)
    if request.error:
        code, words = _provider_error(request.error, request.error_description)
        raise CallbackRefused(code, words, said=_word(request.error))
    if not request.code:
        raise CallbackRefused(CallbackError.NO_CODE)
    redirect_uri = flows.redirect_uri(ctx, flow.provider_id)
    return provider, _callback_params(redirect_uri, flow, request, request.code)


async def _finish(ctx: Context, flows: Flows, flow: OAuthState, request: CallbackRequest) -> CallbackResult:
    provider, params = await check_response(ctx, flows, flow, request)
    if flow.user_id is not None and flow.session_id is not None:
        return await _link(
            ctx, provider, flow, params, (flow.user_id, flow.session_id, request.session_tokens)
        )
    proof = await provider.exchange(params, ctx.now)
    attempt = SocialSignIn(
        traits=provider.traits,
        method=flows.method(flow.provider_id),
        request_sign_up=flow.request_sign_up,
        callback_url=flow.callback_url,
        requested_scopes=flow.scopes,
        only_user_id=flow.only_user_id,
    )
    return await complete(ctx, flow, partial(flows.sign_in, attempt=attempt, proof=proof))


def _callback_params(
    redirect_uri: str, flow: OAuthState, request: CallbackRequest, code: str
) -> CallbackParams:
    return CallbackParams(
        redirect_uri=redirect_uri,
        code=code,
        issuer=request.issuer,
        form_user=request.form_user,
        verifier=flow.verifier,
        nonce=flow.nonce,
    )


async def _link(
    ctx: Context,
    provider: Provider,
    flow: OAuthState,
    params: CallbackParams,
    starter: tuple[str, str, Sequence[str]],
) -> CallbackResult:
    """Link the identity for the session that began the flow. The session is checked before and after the call to the
    provider."""
    user_id, session_id, presented = starter
    await linking.require_same_user(ctx, user_id, presented)
    await ctx.in_new_transaction(partial(linking.check_start, user_id=user_id, session_id=session_id))
    proof = await provider.exchange(params, ctx.now)
    job = partial(
        linking.link, user_id=user_id, session_id=session_id, proof=proof, requested_scopes=flow.scopes
    )
    await ctx.in_new_transaction(job)
    return CallbackResult(flow.callback_url)


async def complete(ctx: Context, flow: OAuthState, sign_in: Job[SocialSignInResult]) -> CallbackResult:
    """Run `sign_in` in a transaction of its own; return the result of the callback."""
    result = await ctx.in_new_transaction(sign_in)
    welcome = flow.new_user_callback_url if result.is_new else None
    opened, keeps_session = result.opened, False
    if flow.replaces_session and isinstance(opened, OpenedSession):
        await ctx.in_new_transaction(partial(replacement.end_replaced, opened=opened))
    elif flow.replaces_session and isinstance(opened, PendingSignIn):
        keeps_session = bool(await replacement.presented(ctx, opened.user_id))
    return CallbackResult(welcome or flow.callback_url, opened, keeps_session=keeps_session)


def _provider_error(error: str, description: str | None) -> tuple[str, str | None]:
    """Return a provider's error and description, sanitized because an attacker may have written them."""
    # Anyone can call this URL, and the text is put into a redirect and shown on a page.
    # defence: V60 provider-error
    code = error if _PROVIDERS_CODE.fullmatch(error) else CallbackError.PROVIDER_ERROR
    words = "".join(letter for letter in description or "" if letter.isprintable())  # defence: V60 printable
    return code, words[:DESCRIPTION_LENGTH] or None  # defence: V60 short-description


def _word(error: str) -> str:
    """Return the provider's error code, for the audit record."""
    return "".join(filter(str.isprintable, error))[:CODE_LENGTH]


def _refuse(ctx: Context, request: CallbackRequest, failure: CallbackError) -> CallbackResult:
    events.oauth_state_refused(ctx, request.provider_id, failure)
    return CallbackResult(error=failure, is_used_up=False)  # defence: V60 no-flow


def _failed(
    ctx: Context, flows: Flows, flow: OAuthState, requested_provider: str, fault: Exception
) -> CallbackResult:
    refusal = fault if isinstance(fault, CallbackRefused) else CallbackRefused(_failure(flows, fault))
    _record_failure(ctx, flows, flow, requested_provider, fault, refusal)
    is_ours = refusal is not fault and refusal.error == CallbackError.OUR_FAULT
    return CallbackResult(
        flow.error_callback_url,
        error=refusal.error,
        description=refusal.description,
        defect=fault if is_ours else None,
    )


def _record_failure(
    ctx: Context,
    flows: Flows,
    flow: OAuthState,
    requested_provider: str,
    fault: Exception,
    refusal: CallbackRefused,
) -> None:
    """Audit a failure, whatever its cause; `complete_sign_in` has audited the users it refuses."""
    if refusal.error == CallbackError.STATE_MISMATCH and refusal.said is None:
        events.oauth_state_refused(ctx, requested_provider, refusal.error)
    elif flow.user_id is not None:
        code = fault.code if isinstance(fault, errors.Refusal) else refusal.error
        events.link_refused(ctx, flow.user_id, flow.provider_id, code, said=refusal.said)
    elif not isinstance(fault, BannedUser | EmailNotVerified | SsoRequired):
        flows.record_failure(ctx, flow.provider_id, refusal.error, refusal.said)


def _failure(flows: Flows, fault: Exception) -> str:
    known = flows.failures
    return next(
        (known[error_class] for error_class in type(fault).__mro__ if error_class in known),
        CallbackError.OUR_FAULT,
    )
