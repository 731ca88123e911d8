"""Audit events about the deletion of a user."""

from domain.audit.record import Event, record
from domain.context import Context

USER_DELETION_REQUESTED = Event("user.deletion_requested")


def user_deletion_requested(ctx: Context) -> None:
    """The caller was sent a link that deletes them."""
    record(ctx, USER_DELETION_REQUESTED)
