"""Audit events about accounts that the owner of the address did not create."""

from domain.audit.record import Event, record
from domain.context import Context

USER_DISOWNED = Event("user.disowned")


def user_disowned(ctx: Context, user_id: str) -> None:
    """The user was deleted by the owner of their unverified address; this record does not contain it."""
    row = record(ctx, USER_DISOWNED, user_id=user_id)
    row.address = row.user_agent = None
