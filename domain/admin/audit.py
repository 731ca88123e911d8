"""Search the audit records, for the operator."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, or_, select
from sqlmodel import col

from domain import tokens
from domain.audit import record
from domain.context import Context
from domain.users import lookup
from models import Audit, Outcome
from models.statements import table_of


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """A filter for audit records; None matches everything."""

    user: str | None = None
    """An id, email address or username; unknown and deleted users are found too."""
    event: str | None = None
    """The prefix of the event name."""
    outcome: Outcome | None = None
    since: datetime | None = None
    until: datetime | None = None


async def find(ctx: Context, criteria: AuditFilter, *, limit: int) -> Sequence[Any]:
    """Return the newest matching records, newest first, each with the columns of `Audit`."""
    conditions = _conditions(criteria)
    if criteria.user is not None:
        conditions.append(await _concerns(ctx, criteria.user))
    newest_first = (col(Audit.time).desc(), col(Audit.id))
    statement = select(*table_of(Audit).columns).where(*conditions).order_by(*newest_first).limit(limit)
    return await ctx.db.execute(statement.execution_options(in_thread=True))


def _conditions(criteria: AuditFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if criteria.event is not None:
        conditions.append(col(Audit.event).startswith(criteria.event, autoescape=True))
    if criteria.outcome is not None:
        conditions.append(col(Audit.outcome) == criteria.outcome)
    if criteria.since is not None:
        conditions.append(col(Audit.time) >= criteria.since)
    if criteria.until is not None:
        conditions.append(col(Audit.time) < criteria.until)
    return conditions


async def _concerns(ctx: Context, identifier: str) -> ColumnElement[bool]:
    """Return the condition that a record is about a user: as subject, as actor, or by an identifier that was typed.

    Hints find records of identifiers that belonged to no user at the time.
    """
    ids, typed = {identifier}, {identifier}
    user = await lookup.look_up(ctx, identifier)
    if user is not None:
        ids = {user.id}
        typed = {user.email, user.username or user.email}
    hints = {hint for name in typed if not tokens.is_token(name) for hint in record.hints(ctx, name)}
    return or_(col(Audit.user_id).in_(ids), col(Audit.actor_id).in_(ids), col(Audit.hint).in_(hints))
