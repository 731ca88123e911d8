"""The redirect back from a provider: use the state up, verify the identity, sign in or link."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from domain import errors
from domain.context import Context
from domain.identity_provider import CallbackParams, CodeRefused, IdentityRefused, IssuerMismatch, Provider
from domain.sessions import events as session_events
from domain.sessions import replacement
from domain.sessions.sessions import OpenedSession
from domain.social import authorization_request, events, identity, linking, sign_in
from domain.social.authorization_request import OAuthState
from domain.social.errors import (
    LinkingDifferentEmailsNotAllowed,
    LinkingNotAllowed,
    OauthLinkError,
    ProviderNotFound,
    ProviderUnavailable,
    SignUpDisabled,
    SocialAccountAlreadyLinked,
    UserEmailNotFound,
)
from domain.social.sign_in import SocialSignIn, UserMismatch
from domain.two_factor.challenges import PendingSignIn
from domain.users.errors import BannedUser, EmailNotVerified

DESCRIPTION_LENGTH = 200
CODE_LENGTH = 64
_PROVIDERS_CODE = re.compile(rf"[A-Za-z0-9_-]{{1,{CODE_LENGTH}}}")


class CallbackError(StrEnum):
    """The values of `error` in the redirect of a failed flow, in addition to a provider's own code."""

    STATE_NOT_FOUND = "state_not_found"
    STATE_MISMATCH = "state_mismatch"
    PROVIDER_ERROR = "provider_error"
    NO_CODE = "no_code"
    INVALID_CODE = "invalid_code"
    ISSUER_MISMATCH = "issuer_mismatch"
    NO_USER_INFO = "unable_to_get_user_info"
    NO_EMAIL = "email_not_found"
    NO_PROVIDER = "oauth_provider_not_found"
    NOT_LINKED = "account_not_linked"
    SIGN_UP_DISABLED = "signup_disabled"
    EMAIL_NOT_VERIFIED = "email_not_verified"
    BANNED = "BANNED_USER"
    LINKING_IMPOSSIBLE = "unable_to_link_account"
    OTHER_EMAIL = "email_does_not_match"
    OTHER_OWNER = "account_already_linked_to_different_user"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    USER_MISMATCH = "user_mismatch"
    OUR_FAULT = "internal_server_error"


_FAILURES: dict[type[Exception], CallbackError] = {
    CodeRefused: CallbackError.INVALID_CODE,
    IssuerMismatch: CallbackError.ISSUER_MISMATCH,
    IdentityRefused: CallbackError.NO_USER_INFO,
    UserEmailNotFound: CallbackError.NO_EMAIL,
    ProviderNotFound: CallbackError.NO_PROVIDER,
    OauthLinkError: CallbackError.NOT_LINKED,
    SignUpDisabled: CallbackError.SIGN_UP_DISABLED,
    EmailNotVerified: CallbackError.EMAIL_NOT_VERIFIED,
    BannedUser: CallbackError.BANNED,
    errors.Unauthenticated: CallbackError.LINKING_IMPOSSIBLE,
    LinkingNotAllowed: CallbackError.LINKING_IMPOSSIBLE,
    LinkingDifferentEmailsNotAllowed: CallbackError.OTHER_EMAIL,
    SocialAccountAlreadyLinked: CallbackError.OTHER_OWNER,
    ProviderUnavailable: CallbackError.PROVIDER_UNAVAILABLE,
    UserMismatch: CallbackError.USER_MISMATCH,
}
"""The value of `error` for each refusal; the closest class counts. An exception that is not listed is a bug."""


class CallbackRefused(Exception):
    """The flow failed because of the callback's own parameters."""

    def __init__(self, error: str, description: str | None = None, said: str | None = None) -> None:
        """Set the value of `error`, the provider's description of it, and the provider's own code."""
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
    """The values of the cookie of the flow with this state."""
    session_tokens: Sequence[str] = field(repr=False)
    """The values of the session cookie."""


@dataclass(frozen=True, slots=True)
class CallbackResult:
    """The result of a callback: the redirect, and the data for its cookies."""

    target: str | None = None
    """The redirect URL of the flow for this outcome, or None."""
    opened: OpenedSession | PendingSignIn | None = None
    """None after linking, and after a failure."""
    error: str | None = None
    description: str | None = None
    """The provider's description of its error."""
    keeps_session: bool = False
    """Whether the browser keeps its session of the same user while the second factor is pending."""
    is_used_up: bool = True
    """Whether the flow was this browser's and is used up, so that its cookie can be cleared."""
    defect: Exception | None = None
    """An internal error to log: an unexpected exception, or an unavailable database."""


async def handle_callback(ctx: Context, request: CallbackRequest) -> CallbackResult:
    """Finish a flow. Once its state is used up, every outcome is returned as a `CallbackResult`.

    Raises Unavailable if the state cannot be looked up; the state is then not used up.
    """
    if not request.state:
        return _refuse(ctx, request, CallbackError.STATE_NOT_FOUND)  # defence: V55 missing-state
    flow = None
    if request.bindings:
        # In its own transaction, so that the state stays used up if the flow fails.
        job = partial(authorization_request.consume, state=request.state, bindings=request.bindings)
        flow = await ctx.in_new_transaction(job)
    if flow is None:
        return _refuse(ctx, request, CallbackError.STATE_MISMATCH)
    try:
        return await _finish(ctx, flow, request)
    except Exception as fault:
        return _failed(ctx, flow, request, fault)


async def _finish(ctx: Context, flow: OAuthState, request: CallbackRequest) -> CallbackResult:
    # Mix-up: a malicious provider could pass on a code of another provider (RFC 9700, 4.4).
    if request.provider_id != flow.provider_id:  # defence: V56 flow-provider
        raise CallbackRefused(CallbackError.STATE_MISMATCH)
    provider = identity.provider_of(ctx, flow.provider_id)
    await provider.check_issuer(request.issuer)
    if request.error:
        code, words = _provider_error(request.error, request.error_description)
        raise CallbackRefused(code, words, said=_word(request.error))
    if not request.code:
        raise CallbackRefused(CallbackError.NO_CODE)
    params = _callback_params(ctx, flow, request, request.code)
    if flow.user_id is not None and flow.session_id is not None:
        return await _link(
            ctx, provider, flow, params, (flow.user_id, flow.session_id, request.session_tokens)
        )
    return await _sign_in(ctx, provider, flow, params)


def _callback_params(ctx: Context, flow: OAuthState, request: CallbackRequest, code: str) -> CallbackParams:
    return CallbackParams(
        redirect_uri=authorization_request.redirect_uri(ctx, flow.provider_id),
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


async def _sign_in(
    ctx: Context, provider: Provider, flow: OAuthState, params: CallbackParams
) -> CallbackResult:
    proof = await provider.exchange(params, ctx.now)
    attempt = SocialSignIn(
        traits=provider.traits,
        method=_method(flow),
        request_sign_up=flow.request_sign_up,
        callback_url=flow.callback_url,
        requested_scopes=flow.scopes,
        only_user_id=flow.only_user_id,
    )
    result = await ctx.in_new_transaction(partial(sign_in.sign_in, attempt=attempt, proof=proof))
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


def _failed(ctx: Context, flow: OAuthState, request: CallbackRequest, fault: Exception) -> CallbackResult:
    refusal = fault if isinstance(fault, CallbackRefused) else CallbackRefused(_failure(fault))
    _record_failure(ctx, flow, request, fault, refusal)
    is_ours = refusal is not fault and refusal.error == CallbackError.OUR_FAULT
    return CallbackResult(
        flow.error_callback_url,
        error=refusal.error,
        description=refusal.description,
        defect=fault if is_ours else None,
    )


def _record_failure(
    ctx: Context, flow: OAuthState, request: CallbackRequest, fault: Exception, refusal: CallbackRefused
) -> None:
    """Audit a failure, whatever its cause; `complete_sign_in` has audited the users it refuses."""
    if refusal.error == CallbackError.STATE_MISMATCH and refusal.said is None:
        events.oauth_state_refused(ctx, request.provider_id, refusal.error)
    elif flow.user_id is not None:
        code = fault.code if isinstance(fault, errors.Refusal) else refusal.error
        events.link_refused(ctx, flow.user_id, flow.provider_id, code, said=refusal.said)
    elif not isinstance(fault, BannedUser | EmailNotVerified):
        session_events.provider_sign_in_failed(ctx, _method(flow), refusal.error, said=refusal.said)


def _method(flow: OAuthState) -> str:
    return f"{events.OAUTH.name}:{flow.provider_id}"


def _failure(fault: Exception) -> CallbackError:
    return next(
        (_FAILURES[error_class] for error_class in type(fault).__mro__ if error_class in _FAILURES),
        CallbackError.OUR_FAULT,
    )
