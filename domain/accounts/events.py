"""Audit events about linked accounts."""

from domain.audit.record import Event, record
from domain.context import Context

ACCOUNT_UNLINKED = Event("account.unlinked")


def account_unlinked(ctx: Context, provider_id: str) -> None:
    """The caller removed one way to sign in."""
    record(ctx, ACCOUNT_UNLINKED, provider=provider_id)


def account_dropped(ctx: Context, user_id: str, provider_id: str) -> None:
    """An identity was removed from a user, because it was linked before the email address was verified."""
    record(ctx, ACCOUNT_UNLINKED, user_id=user_id, provider=provider_id, by="reset")
