"""The history of one's own account: the caller's audit records, page by page."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import and_, or_, select
from sqlmodel import col

from domain.context import Context
from models import Audit
from models.statements import table_of

SHOWN_FOR = timedelta(days=90)
PAGE = 50
"""How many records a page has."""


@dataclass(frozen=True, slots=True)
class Position:
    """A record of the history; the next page begins after it."""

    time: datetime
    id: str


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Records, newest first, each with the columns of `Audit`; `last` is where the next page goes on, None at the
    end."""

    records: Sequence[Any]
    last: Position | None


async def page_of_caller(
    ctx: Context, events: Collection[str], before: Position | None = None, *, limit: int = PAGE
) -> HistoryPage:
    """Return the caller's newest records of these events, or those before a position, of the last 90 days."""
    conditions = [
        col(Audit.user_id) == ctx.signed_in.user.id,
        col(Audit.time) >= ctx.now - SHOWN_FOR,
        col(Audit.event).in_(events),
    ]
    if before is not None:
        same_time = and_(col(Audit.time) == before.time, col(Audit.id) < before.id)
        conditions.append(or_(col(Audit.time) < before.time, same_time))
    newest_first = (col(Audit.time).desc(), col(Audit.id).desc())
    wanted = select(*table_of(Audit).columns).where(*conditions).order_by(*newest_first).limit(limit + 1)
    found = list(await ctx.db.execute(wanted))
    records = found[:limit]
    has_more = len(found) > limit
    return HistoryPage(records, Position(records[-1].time, records[-1].id) if has_more else None)
