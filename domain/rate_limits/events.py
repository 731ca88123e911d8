"""Audit events about rate limits."""

from typing import Any

from domain.audit.record import Event, hints, record
from domain.context import Context
from domain.localization import N_
from models import Outcome

LIMIT_REACHED = Event("limit.reached", N_("A rate limit was reached"), in_history=False)


def limit_reached(
    ctx: Context, limit: str, *, user_id: str | None = None, identifier: str | None = None, **details: Any
) -> None:
    """Record that a limit was reached; `limit` is the name of its setting. Call it once per window and counter.

    `identifier` is the submitted identifier, if no user has it; only a digest is recorded.
    """
    hint = None if identifier is None else hints(ctx, identifier)[0]
    record(ctx, LIMIT_REACHED, user_id=user_id, hint=hint, outcome=Outcome.REFUSED, limit=limit, **details)
