"""The way back from a provider: use the state up, prove the identity, sign in or link (behaviour 7.3)."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from domain import audit, errors, flows, linking, proving, social
from domain.challenges import Pending
from domain.context import Context
from domain.flows import Flow
from domain.providers import Answer, CodeRefused, IdentityRefused, IssuerMismatch, Provider
from domain.sessions import OpenedSession
from domain.social import Entrance

DESCRIPTION_LENGTH = 200
CODE_LENGTH = 64
_PROVIDERS_CODE = re.compile(rf"[A-Za-z0-9_-]{{1,{CODE_LENGTH}}}")


class Failure(StrEnum):
    """What `error` can say in the address a failed flow leads to, beside a provider's own code."""

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
    OUR_FAULT = "internal_server_error"


_FAILURES: dict[type[Exception], Failure] = {
    CodeRefused: Failure.INVALID_CODE,
    IssuerMismatch: Failure.ISSUER_MISMATCH,
    IdentityRefused: Failure.NO_USER_INFO,
    errors.UserEmailNotFound: Failure.NO_EMAIL,
    errors.ProviderNotFound: Failure.NO_PROVIDER,
    errors.OauthLinkError: Failure.NOT_LINKED,
    errors.SignUpDisabled: Failure.SIGN_UP_DISABLED,
    errors.EmailNotVerified: Failure.EMAIL_NOT_VERIFIED,
    errors.BannedUser: Failure.BANNED,
    errors.Unauthenticated: Failure.LINKING_IMPOSSIBLE,
    errors.LinkingNotAllowed: Failure.LINKING_IMPOSSIBLE,
    errors.LinkingDifferentEmailsNotAllowed: Failure.OTHER_EMAIL,
    errors.SocialAccountAlreadyLinked: Failure.OTHER_OWNER,
    errors.ProviderUnavailable: Failure.PROVIDER_UNAVAILABLE,
}
"""What each refusal on the way is called there; the closest class counts, and what is not named is our fault."""


class FlowRefused(Exception):
    """The flow ends for a reason that lies in the callback itself."""

    def __init__(self, error: str, description: str | None = None, said: str | None = None) -> None:
        """Take the value of `error`, the provider's words for it, and what the provider itself called it."""
        self.error = error
        self.description = description
        self.said = said
        super().__init__(error)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A browser that is back, with what the provider sent along and two of its cookies, nothing of it checked."""

    provider_id: str
    state: str | None = field(repr=False)
    code: str | None = field(repr=False)
    error: str | None
    error_description: str | None
    issuer: str | None
    form_user: str | None = field(repr=False)
    binding: str | None = field(repr=False)
    """The cookie of the flow that this state belongs to."""
    session_token: str | None = field(repr=False)
    """The session cookie, "" for two that differ."""


@dataclass(frozen=True, slots=True)
class Landing:
    """Where the browser goes on, and what it takes along."""

    target: str | None = None
    """What the flow named for this end, None where it named nothing."""
    opened: OpenedSession | Pending | None = None
    """None after linking, and after a failure."""
    error: str | None = None
    description: str | None = None
    """The provider's words for its error."""
    is_used_up: bool = True
    """Whether the state was this browser's and is gone, so that its cookie can go, too."""
    defect: Exception | None = None
    """What is our fault, for the log: what nobody foresaw, and a database that is down."""


async def arrive(ctx: Context, arrival: Arrival) -> Landing:
    """Finish a flow. Once its state is used up, whatever happens is told as a landing.

    Raises Unavailable while the state cannot be looked at; it can still be used then.
    """
    if not arrival.state:
        return _turned_away(ctx, arrival, Failure.STATE_NOT_FOUND)
    flow = None
    if arrival.binding:
        job = partial(flows.use_up, state=arrival.state, binding=arrival.binding)
        flow = await ctx.apart(job)
    if flow is None:
        return _turned_away(ctx, arrival, Failure.STATE_MISMATCH)
    try:
        return await _finish(ctx, flow, arrival)
    except Exception as fault:
        return _failed(ctx, flow, arrival, fault)


async def _finish(ctx: Context, flow: Flow, arrival: Arrival) -> Landing:
    if arrival.provider_id != flow.provider_id:
        raise FlowRefused(Failure.STATE_MISMATCH)
    provider = proving.provider_of(ctx, flow.provider_id)
    await provider.check_issuer(arrival.issuer)
    if arrival.error:
        code, words = _told_by_provider(arrival.error, arrival.error_description)
        raise FlowRefused(code, words, said=_word(arrival.error))
    if not arrival.code:
        raise FlowRefused(Failure.NO_CODE)
    answer = _answer(ctx, flow, arrival, arrival.code)
    if flow.user_id is not None and flow.session_id is not None:
        return await _link(
            ctx, provider, flow, answer, (flow.user_id, flow.session_id, arrival.session_token)
        )
    return await _sign_in(ctx, provider, flow, answer)


def _answer(ctx: Context, flow: Flow, arrival: Arrival, code: str) -> Answer:
    return Answer(
        redirect_uri=flows.redirect_uri(ctx, flow.provider_id),
        code=code,
        issuer=arrival.issuer,
        form_user=arrival.form_user,
        verifier=flow.verifier,
        nonce=flow.nonce,
    )


async def _link(
    ctx: Context, provider: Provider, flow: Flow, answer: Answer, starter: tuple[str, str, str | None]
) -> Landing:
    """Link for the session that began the flow, which is looked at before the provider is asked and again after."""
    user_id, session_id, presented = starter
    await linking.refuse_stranger(ctx, user_id, presented)
    await ctx.apart(partial(linking.check_start, user_id=user_id, session_id=session_id))
    proof = await provider.exchange(answer, ctx.now)
    job = partial(linking.link, user_id=user_id, session_id=session_id, proof=proof, asked=flow.scopes)
    await ctx.apart(job)
    return Landing(flow.callback_url)


async def _sign_in(ctx: Context, provider: Provider, flow: Flow, answer: Answer) -> Landing:
    proof = await provider.exchange(answer, ctx.now)
    entrance = Entrance(
        habits=provider.habits,
        method=_method(flow),
        request_sign_up=flow.request_sign_up,
        callback_url=flow.callback_url,
        asked=flow.scopes,
    )
    entry = await ctx.apart(partial(social.enter, entrance=entrance, proof=proof))
    welcome = flow.new_user_callback_url if entry.is_new else None
    return Landing(welcome or flow.callback_url, entry.opened)


def _told_by_provider(error: str, description: str | None) -> tuple[str, str | None]:
    """Give a provider's error and words in a form that can be shown: whoever sent the browser may have written them."""
    code = error if _PROVIDERS_CODE.fullmatch(error) else Failure.PROVIDER_ERROR
    words = "".join(letter for letter in description or "" if letter.isprintable())
    return code, words[:DESCRIPTION_LENGTH] or None


def _word(error: str) -> str:
    """Give what a provider called its error, for the record."""
    return "".join(filter(str.isprintable, error))[:CODE_LENGTH]


def _turned_away(ctx: Context, arrival: Arrival, failure: Failure) -> Landing:
    audit.oauth_state_refused(ctx, arrival.provider_id, failure)
    return Landing(error=failure, is_used_up=False)


def _failed(ctx: Context, flow: Flow, arrival: Arrival, fault: Exception) -> Landing:
    told = fault if isinstance(fault, FlowRefused) else FlowRefused(_failure(fault))
    _note(ctx, flow, arrival, fault, told)
    is_ours = told is not fault and told.error == Failure.OUR_FAULT
    return Landing(
        flow.error_callback_url,
        error=told.error,
        description=told.description,
        defect=fault if is_ours else None,
    )


def _note(ctx: Context, flow: Flow, arrival: Arrival, fault: Exception, told: FlowRefused) -> None:
    """Put a failure on record, whatever its cause; the gate has done so for whom it stops."""
    if told.error == Failure.STATE_MISMATCH and told.said is None:
        audit.oauth_state_refused(ctx, arrival.provider_id, told.error)
    elif flow.user_id is not None:
        code = fault.code if isinstance(fault, errors.Refusal) else told.error
        audit.link_refused(ctx, flow.user_id, flow.provider_id, code, said=told.said)
    elif not isinstance(fault, errors.BannedUser | errors.EmailNotVerified):
        audit.sign_in_turned_away(ctx, _method(flow), told.error, said=told.said)


def _method(flow: Flow) -> str:
    return f"oauth:{flow.provider_id}"


def _failure(fault: Exception) -> Failure:
    return next((_FAILURES[kind] for kind in type(fault).__mro__ if kind in _FAILURES), Failure.OUR_FAULT)
