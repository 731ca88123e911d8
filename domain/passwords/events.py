"""Audit events about passwords (behaviour chapter 11)."""

from domain.audit.record import Event, Refused, record, record_request
from domain.context import Context
from models import Outcome
from models.queries import UserRow

PASSWORD_CHANGED = Event("password.changed")
PASSWORD_CHECK_FAILED = Event("password.check_failed")
PASSWORD_REHASHED = Event("password.rehashed")
PASSWORD_RESET_REQUESTED = Event("password_reset.requested")
PASSWORD_RESET_COMPLETED = Event("password_reset.completed")
PASSWORD_RESET_FAILED = Event("password_reset.failed")


def password_changed(ctx: Context, user_id: str) -> None:
    """The caller has replaced their password."""
    record(ctx, PASSWORD_CHANGED, user_id=user_id)


def password_check_failed(ctx: Context, refusal: Refused) -> None:
    """The caller has entered a wrong password."""
    record(ctx, PASSWORD_CHECK_FAILED, outcome=Outcome.FAILURE, refusal=refusal)


def password_rehashed(ctx: Context, user_id: str) -> None:
    """The hash of an unchanged password was replaced by one of current policy."""
    record(ctx, PASSWORD_REHASHED, user_id=user_id, actor_id=user_id)


def password_reset_requested(ctx: Context, user: UserRow | None, email: str) -> None:
    """Somebody asked for a reset link; one goes out if there is such a user."""
    record_request(ctx, PASSWORD_RESET_REQUESTED, user, email, "no such user" if user is None else None)


def password_reset_completed(ctx: Context, user_id: str, sessions_ended: int) -> None:
    """A forgotten password was replaced by the mailed token."""
    record(
        ctx,
        PASSWORD_RESET_COMPLETED,
        user_id=user_id,
        actor_id=user_id,
        sessions_ended=sessions_ended,
    )


def password_reset_failed(ctx: Context, user_id: str | None, refusal: Refused) -> None:
    """A token resets nothing; the user is known when it has been used up a moment ago."""
    record(ctx, PASSWORD_RESET_FAILED, user_id=user_id, outcome=Outcome.FAILURE, refusal=refusal)
