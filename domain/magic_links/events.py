"""Audit events of magic links."""

from domain.audit.record import Event, Refused, record, record_request
from domain.context import Context
from models import Outcome
from models.user import UserRow

MAGIC_LINK_REQUESTED = Event("magic_link.requested")
MAGIC_LINK_REFUSED = Event("magic_link.refused", unbounded=True)


def link_requested(ctx: Context, user: UserRow | None, email: str, reason: str | None) -> None:
    """A link was requested; a `reason` says why none was sent."""
    record_request(ctx, MAGIC_LINK_REQUESTED, user, email, reason)


def link_refused(ctx: Context, refusal: Refused, user_id: str | None = None) -> None:
    """A link was refused."""
    record(ctx, MAGIC_LINK_REFUSED, user_id=user_id, outcome=Outcome.FAILURE, refusal=refusal)
