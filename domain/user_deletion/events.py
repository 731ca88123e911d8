"""Audit events about the deletion of a user."""

from domain.audit.record import Event, record
from domain.context import Context
from domain.localization import N_
from domain.users.events import WEBHOOK_DELETED
from domain.webhooks.publication import publish

USER_DELETION_REQUESTED = Event("user.deletion_requested", N_("A link to delete the account was requested"))
USER_DISOWNED = Event(
    "user.disowned", N_("The account was deleted by the owner of its email address"), in_history=False
)


def user_deletion_requested(ctx: Context) -> None:
    """Record that the caller was sent a link that deletes them."""
    record(ctx, USER_DELETION_REQUESTED)


def user_disowned(ctx: Context, user_id: str) -> None:
    """Record and publish that the user was deleted by the owner of their unverified address; this record does not
    contain it."""
    row = record(ctx, USER_DISOWNED, user_id=user_id)
    row.address = row.user_agent = None
    publish(ctx, WEBHOOK_DELETED, user_id=user_id)
