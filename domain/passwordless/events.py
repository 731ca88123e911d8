"""Audit events of sign-in by mail."""

from domain.audit.record import Event, Refused, hints, record, record_request
from domain.context import Context
from models import Outcome
from models.queries import UserRow

MAGIC_LINK_REQUESTED = Event("magic_link.requested")
MAGIC_LINK_REFUSED = Event("magic_link.refused", unbounded=True)
EMAIL_CODE_REQUESTED = Event("email_code.requested")
EMAIL_CODE_FAILED = Event("email_code.failed", unbounded=True)
EMAIL_CODE_EXHAUSTED = Event("email_code.exhausted")


def link_requested(ctx: Context, user: UserRow | None, email: str, reason: str | None) -> None:
    """A link was requested; a `reason` says why none was sent."""
    record_request(ctx, MAGIC_LINK_REQUESTED, user, email, reason)


def link_refused(ctx: Context, refusal: Refused, user_id: str | None = None) -> None:
    """A link was refused."""
    record(ctx, MAGIC_LINK_REFUSED, user_id=user_id, outcome=Outcome.FAILURE, refusal=refusal)


def code_requested(ctx: Context, user: UserRow | None, email: str, kind: str, reason: str | None) -> None:
    """A code was requested; a `reason` says why none was sent."""
    record_request(ctx, EMAIL_CODE_REQUESTED, user, email, reason, type=kind)


def code_failed(ctx: Context, user_id: str | None, email: str, kind: str, refusal: Refused) -> None:
    """A code was wrong, unknown or expired."""
    _refused(ctx, EMAIL_CODE_FAILED, user_id, email, kind, refusal, Outcome.FAILURE)


def code_exhausted(ctx: Context, user_id: str | None, email: str, kind: str, refusal: Refused) -> None:
    """The attempts of a code were used up."""
    _refused(ctx, EMAIL_CODE_EXHAUSTED, user_id, email, kind, refusal, Outcome.REFUSED)


def _refused(
    ctx: Context,
    event: Event,
    user_id: str | None,
    email: str,
    kind: str,
    refusal: Refused,
    outcome: Outcome,
) -> None:
    hint = hints(ctx, email)[0] if user_id is None else None
    record(ctx, event, user_id=user_id, hint=hint, outcome=outcome, refusal=refusal, type=kind)
