"""Audit events about linked accounts."""

from domain.audit.record import Event, record
from domain.context import Context
from domain.localization import N_

ACCOUNT_UNLINKED = Event(
    "account.unlinked",
    N_("A connected account, or the password, was removed"),
    failure=N_("A connected account could not be removed"),
)


def account_unlinked(ctx: Context, provider_id: str) -> None:
    """The caller removed one way to sign in."""
    record(ctx, ACCOUNT_UNLINKED, provider=provider_id)
