"""Audit events about email addresses."""

from domain.audit.record import Event, record, record_request
from domain.context import Context
from domain.localization import N_
from domain.webhooks.publication import EventType, publish
from models import Outcome
from models.user import UserRow

EMAIL_VERIFICATION_REQUESTED = Event(
    "email.verification_requested", N_("A link to verify the email address was requested")
)
EMAIL_VERIFIED = Event("email.verified", N_("The email address was verified"))
EMAIL_CHANGE_REQUESTED = Event(
    "email.change_requested",
    N_("A change of the email address was requested"),
    failure=N_("A change to an email address that is taken was requested"),
)
EMAIL_CHANGED = Event("email.changed", N_("The email address was changed"))

WEBHOOK_VERIFIED = EventType("user.email_verified")
WEBHOOK_CHANGED = EventType("user.email_changed")


def verification_requested(ctx: Context, user: UserRow | None, email: str) -> None:
    """Record that a verification link was requested; it is sent if the user exists and is unverified."""
    reason = "no such user" if user is None else "verified already" if user.email_verified else None
    record_request(ctx, EMAIL_VERIFICATION_REQUESTED, user, email, reason)


def email_verified(ctx: Context, user_id: str) -> None:
    """Record and publish that the user's email address was verified."""
    record(ctx, EMAIL_VERIFIED, user_id=user_id)
    publish_verified(ctx, user_id)


def publish_verified(ctx: Context, user_id: str) -> None:
    """Publish to webhooks that the user's email address was verified, without an audit record of that event."""
    publish(ctx, WEBHOOK_VERIFIED, user_id=user_id)


def email_change_requested(ctx: Context, *, is_taken: bool) -> None:
    """Record that the caller requested another address; without effect if it belongs to another user."""
    if is_taken:
        record(ctx, EMAIL_CHANGE_REQUESTED, outcome=Outcome.REFUSED, reason="address taken")
    else:
        record(ctx, EMAIL_CHANGE_REQUESTED)


def email_changed(ctx: Context, user_id: str, previous: str) -> None:
    """Record and publish that the user's email address was changed; the record does not contain the previous one."""
    record(ctx, EMAIL_CHANGED, user_id=user_id)
    publish(ctx, WEBHOOK_CHANGED, user_id=user_id, previousEmail=previous)
