"""Audit events about sign-ins and sessions."""

from typing import Any

from domain.audit.record import Event, Refused, error_detail, hints, record
from domain.context import Caller, Context
from domain.localization import N_
from models import Outcome

SIGN_IN_SUCCEEDED = Event("sign_in.succeeded", N_("Signed in"))
SIGN_IN_PENDING = Event("sign_in.pending", N_("A sign-in asked for the second factor"))
SIGN_IN_FAILED = Event("sign_in.failed", N_("A sign-in failed"))
SIGN_IN_BANNED = Event("sign_in.banned", N_("A sign-in was refused, because the account is blocked"))
SIGN_OUT = Event("sign_out", N_("Signed out"))
SESSION_CREATED = Event("session.created", N_("A new session was opened after the password was changed"))
SESSION_REVOKED = Event("session.revoked", N_("A session was ended"))
SESSION_REVOKED_ALL = Event("session.revoked_all", N_("All sessions were ended"))
SESSION_REVOKED_OTHERS = Event("session.revoked_others", N_("All other sessions were ended"))


def sign_in_succeeded(ctx: Context, user_id: str, session_id: str, method: str, **details: Any) -> None:
    """A user signed in; `method` is the last proof."""
    record(
        ctx,
        SIGN_IN_SUCCEEDED,
        user_id=user_id,
        actor_id=user_id,
        session_id=session_id,
        method=method,
        **details,
    )


def sign_in_pending(ctx: Context, user_id: str, method: str, **details: Any) -> None:
    """A user has passed everything but the second factor."""
    record(ctx, SIGN_IN_PENDING, user_id=user_id, actor_id=user_id, method=method, **details)


def sign_in_failed(ctx: Context, user_id: str | None, identifier: str, method: str, refusal: Refused) -> None:
    """A sign-in failed; without a user the identifier is kept as a hint.

    The hint is computed for a known user too, so that both take the same time.
    """
    [hint, *_] = hints(ctx, identifier)
    record(
        ctx,
        SIGN_IN_FAILED,
        user_id=user_id,
        hint=hint if user_id is None else None,
        method=method,
        outcome=Outcome.FAILURE,
        refusal=refusal,
    )


def provider_sign_in_failed(ctx: Context, method: str, code: str, *, said: str | None = None) -> None:
    """A sign-in through a provider failed: invalid proof, no such user, or an error of the provider (`said`)."""
    outcome = Outcome.FAILURE if said is None else Outcome.REFUSED
    record(ctx, SIGN_IN_FAILED, method=method, outcome=outcome, code=code, **error_detail(said))


def sign_in_unverified(ctx: Context, user_id: str, method: str, refusal: Refused) -> None:
    """The proof was right, but the user's email address is not verified."""
    record(ctx, SIGN_IN_FAILED, user_id=user_id, method=method, outcome=Outcome.REFUSED, refusal=refusal)


def sign_in_banned(ctx: Context, user_id: str, method: str | None, refusal: Refused) -> None:
    """The proof was right, but the user is banned."""
    record(ctx, SIGN_IN_BANNED, user_id=user_id, method=method, outcome=Outcome.REFUSED, refusal=refusal)


def sign_out(ctx: Context, caller: Caller) -> None:
    """A caller signed out; if the request had two sessions, each is recorded."""
    record(
        ctx,
        SIGN_OUT,
        user_id=caller.user.id,
        actor_id=caller.session.impersonated_by or caller.user.id,
        session_id=caller.session.id,
    )


def session_created(ctx: Context, session_id: str, method: str) -> None:
    """The caller got a session without signing in: it replaces those that a password change has revoked."""
    record(ctx, SESSION_CREATED, session_id=session_id, method=method)


def session_replaced(ctx: Context, user_id: str, session_id: str) -> None:
    """A new session of the same user, in the same browser, replaced this one."""
    record(ctx, SESSION_REVOKED, user_id=user_id, actor_id=user_id, session_id=session_id)


def session_revoked(ctx: Context, session_id: str, *, user_id: str | None = None) -> None:
    """The caller revoked one of their sessions, or as an administrator one of another user."""
    record(ctx, SESSION_REVOKED, session_id=session_id, user_id=user_id)


def session_evicted(ctx: Context, user_id: str, session_id: str) -> None:
    """A session of a user was revoked because a newer one exceeded the limit."""
    record(ctx, SESSION_REVOKED, user_id=user_id, session_id=session_id, reason="too many")


def sessions_revoked_all(
    ctx: Context, user_id: str | None, sessions_ended: int, *, by_operator: bool = False
) -> None:
    """All sessions of a user were revoked, or those of all users (None); `sessions_ended` of them were active."""
    record(ctx, SESSION_REVOKED_ALL, user_id=user_id, by_operator=by_operator, sessions_ended=sessions_ended)


def sessions_revoked_others(ctx: Context, sessions_ended: int) -> None:
    """All sessions of the caller but the current one were revoked; `sessions_ended` of them were active."""
    record(ctx, SESSION_REVOKED_OTHERS, sessions_ended=sessions_ended)
