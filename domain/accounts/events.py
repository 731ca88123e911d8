"""Audit events about linked accounts (behaviour chapter 11)."""

from domain.audit.record import Event, record
from domain.context import Context

ACCOUNT_UNLINKED = Event("account.unlinked")


def account_unlinked(ctx: Context, provider_id: str) -> None:
    """The caller gave one way to sign in up."""
    record(ctx, ACCOUNT_UNLINKED, provider=provider_id)


def account_dropped(ctx: Context, user_id: str, provider_id: str) -> None:
    """An identity was taken from a user, because whoever joined it had not proven the address."""
    record(ctx, ACCOUNT_UNLINKED, user_id=user_id, provider=provider_id, by="reset")
