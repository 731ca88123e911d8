"""Audit events of sign-in by mail."""

from typing import Any

from domain.audit.record import Event, Refused, hints, record, record_request
from domain.context import Context
from models import Outcome
from models.queries import UserRow

MAGIC_LINK_REQUESTED = Event("magic_link.requested")
MAGIC_LINK_REFUSED = Event("magic_link.refused", unbounded=True)
EMAIL_CODE_REQUESTED = Event("email_code.requested")
EMAIL_CODE_FAILED = Event("email_code.failed", unbounded=True)
EMAIL_CODE_EXHAUSTED = Event("email_code.exhausted")
UNPROVEN_ACCESS_REMOVED = Event("user.unproven_access_removed")


def link_requested(ctx: Context, user: UserRow | None, email: str, reason: str | None) -> None:
    """A link was requested; a `reason` says why none was sent."""
    record_request(ctx, MAGIC_LINK_REQUESTED, user, email, reason)


def link_refused(ctx: Context, refusal: Refused, user_id: str | None = None) -> None:
    """A link was refused."""
    record(ctx, MAGIC_LINK_REFUSED, user_id=user_id, outcome=Outcome.FAILURE, refusal=refusal)


def code_requested(ctx: Context, user: UserRow | None, email: str, kind: str, reason: str | None) -> None:
    """A code was requested; a `reason` says why none was sent."""
    details: dict[str, Any] = {"type": kind} if reason is None else {"type": kind, "reason": reason}
    outcome = Outcome.SUCCESS if reason is None else Outcome.FAILURE
    user_id, hint = (None, hints(ctx, email)[0]) if user is None else (user.id, None)
    record(ctx, EMAIL_CODE_REQUESTED, user_id=user_id, hint=hint, outcome=outcome, **details)


def code_failed(ctx: Context, user_id: str | None, email: str, kind: str, refusal: Refused) -> None:
    """A code was wrong, unknown or expired."""
    hint = hints(ctx, email)[0]
    record(
        ctx,
        EMAIL_CODE_FAILED,
        user_id=user_id,
        hint=hint if user_id is None else None,
        outcome=Outcome.FAILURE,
        refusal=refusal,
        type=kind,
    )


def code_exhausted(ctx: Context, user_id: str | None, email: str, kind: str, refusal: Refused) -> None:
    """The attempts of a code were used up."""
    hint = hints(ctx, email)[0]
    record(
        ctx,
        EMAIL_CODE_EXHAUSTED,
        user_id=user_id,
        hint=hint if user_id is None else None,
        outcome=Outcome.REFUSED,
        refusal=refusal,
        type=kind,
    )


def access_removed(ctx: Context, user_id: str, counts: dict[str, Any]) -> None:
    """Everything that could sign in to an account with an unverified address was removed."""
    record(ctx, UNPROVEN_ACCESS_REMOVED, user_id=user_id, actor_id=user_id, **counts)
