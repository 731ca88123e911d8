"""Audit events about linked accounts."""

from domain.audit.record import Event, record
from domain.context import Context
from domain.localization import N_
from domain.webhooks.publication import EventType, publish

ACCOUNT_UNLINKED = Event(
    "account.unlinked",
    N_("A connected account, or the password, was removed"),
    failure=N_("A connected account could not be removed"),
)

WEBHOOK_UNLINKED = EventType("account.unlinked")


def account_unlinked(ctx: Context, user_id: str, provider_id: str) -> None:
    """Record and publish that a linked account, or the password, of a user was removed."""
    record(ctx, ACCOUNT_UNLINKED, user_id=user_id, provider=provider_id)
    publish(ctx, WEBHOOK_UNLINKED, user_id=user_id, providerId=provider_id)
