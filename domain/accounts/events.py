"""Audit events about linked accounts."""

from domain.audit.record import Event, record
from domain.context import Context

ACCOUNT_UNLINKED = Event("account.unlinked")


def account_unlinked(ctx: Context, provider_id: str) -> None:
    """The caller removed one way to sign in."""
    record(ctx, ACCOUNT_UNLINKED, provider=provider_id)
