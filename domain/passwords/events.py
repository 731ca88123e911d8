"""Audit events about passwords."""

from collections.abc import Sequence

from domain.audit.record import Event, Refused, record, record_request
from domain.authentication_methods import AuthenticationMethod
from domain.context import Context
from domain.localization import N_
from domain.sessions.events import EndReason, publish_ended
from domain.webhooks.publication import EventType, publish
from models import Outcome
from models.user import UserRow

PASSWORD_CHANGED = Event("password.changed", N_("The password was changed"))
PASSWORD_CHECK_FAILED = Event("password.check_failed", N_("A wrong password was entered while signed in"))
PASSWORD_REHASHED = Event("password.rehashed", N_("The hash of the password was renewed"), in_history=False)
PASSWORD_RESET_REQUESTED = Event("password_reset.requested", N_("A link to reset the password was requested"))
PASSWORD_RESET_COMPLETED = Event(
    "password_reset.completed", N_("The password was reset with a link from an email")
)
PASSWORD_RESET_FAILED = Event("password_reset.failed", N_("A link to reset the password was not accepted"))

PASSWORD = AuthenticationMethod("password", N_("Password"), amr="pwd")
USERNAME = AuthenticationMethod("username", N_("Username"), amr="pwd")

WEBHOOK_CHANGED = EventType("password.changed")
WEBHOOK_RESET = EventType("password_reset.completed")
LINK = "link"
"""How a password is reset with a link; with a code, it is the name of its authentication method."""


def password_changed(ctx: Context, user_id: str) -> None:
    """Record and publish that the caller changed their password."""
    record(ctx, PASSWORD_CHANGED, user_id=user_id)
    publish(ctx, WEBHOOK_CHANGED, user_id=user_id, method="change")


def publish_set(ctx: Context, user_id: str, ended: Sequence[str]) -> None:
    """Publish that an administrator set a user's password; `ended` are the ids of the sessions that this has ended."""
    publish(ctx, WEBHOOK_CHANGED, user_id=user_id, method="admin")
    publish_ended(ctx, EndReason.PASSWORD_CHANGED, user_id, ended, is_all=True)


def password_check_failed(ctx: Context, refusal: Refused) -> None:
    """Record that the caller entered a wrong password."""
    record(ctx, PASSWORD_CHECK_FAILED, outcome=Outcome.FAILURE, refusal=refusal)


def password_rehashed(ctx: Context, user_id: str) -> None:
    """Record that a password was hashed again by the current parameters; the password is unchanged."""
    record(ctx, PASSWORD_REHASHED, user_id=user_id, actor_id=user_id)


def password_reset_requested(ctx: Context, user: UserRow | None, email: str) -> None:
    """Record that a reset link was requested; `user` is None if the address has no user."""
    record_request(ctx, PASSWORD_RESET_REQUESTED, user, email, "no such user" if user is None else None)


def password_reset_completed(ctx: Context, user_id: str, ended: Sequence[str], method: str) -> None:
    """Record and publish that a forgotten password was replaced by means of an emailed link or code (`method`).

    `ended` are the ids of the active sessions that this has ended.
    """
    record(
        ctx,
        PASSWORD_RESET_COMPLETED,
        user_id=user_id,
        actor_id=user_id,
        sessions_ended=len(ended),
    )
    publish(ctx, WEBHOOK_RESET, user_id=user_id, method=method)
    publish_ended(ctx, EndReason.PASSWORD_RESET, user_id, ended, is_all=True)


def password_reset_failed(ctx: Context, user_id: str | None, refusal: Refused) -> None:
    """Record that a reset token was refused. `user_id` is known only if another request has just used the token up."""
    record(ctx, PASSWORD_RESET_FAILED, user_id=user_id, outcome=Outcome.FAILURE, refusal=refusal)
