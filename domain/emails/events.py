"""Audit events about email addresses."""

from domain.audit.record import Event, record, record_request
from domain.context import Context
from models import Outcome
from models.user import UserRow

EMAIL_VERIFICATION_REQUESTED = Event("email.verification_requested")
EMAIL_VERIFIED = Event("email.verified")
EMAIL_CHANGE_REQUESTED = Event("email.change_requested")
EMAIL_CHANGED = Event("email.changed")


def verification_requested(ctx: Context, user: UserRow | None, email: str) -> None:
    """A verification link was requested; it is sent if the user exists and is unverified."""
    reason = "no such user" if user is None else "verified already" if user.email_verified else None
    record_request(ctx, EMAIL_VERIFICATION_REQUESTED, user, email, reason)


def email_verified(ctx: Context, user_id: str) -> None:
    """The user's email address was verified."""
    record(ctx, EMAIL_VERIFIED, user_id=user_id)


def email_change_requested(ctx: Context, *, is_taken: bool) -> None:
    """The caller requested another address; without effect if it belongs to another user."""
    if is_taken:
        record(ctx, EMAIL_CHANGE_REQUESTED, outcome=Outcome.REFUSED, reason="address taken")
    else:
        record(ctx, EMAIL_CHANGE_REQUESTED)


def email_changed(ctx: Context, user_id: str) -> None:
    """The user's email address was changed."""
    record(ctx, EMAIL_CHANGED, user_id=user_id)
