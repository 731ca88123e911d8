"""The history of the caller's own account: their audit records, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import Select, String, and_, bindparam, or_, select
from sqlmodel import col

from domain.audit.record import EVENTS, Event
from domain.context import Context
from domain.keyset import Position
from models import Audit
from models.base import Instant
from models.queries import ReadStatement, by

SHOWN_FOR = timedelta(days=90)
PAGE = 50
"""How many records a page has."""


class HistoryRecord(NamedTuple):
    """An audit record as read for the history; the fields are those of `Audit`."""

    id: str
    time: datetime
    event: str
    outcome: str
    actor_id: str | None
    method: str | None
    address: str | None
    user_agent: str | None
    details: dict[str, Any]


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """A page of records, newest first. `last` is the position of its last row; None on the last page."""

    records: Sequence[HistoryRecord]
    last: Position | None


async def page_of_caller(
    ctx: Context, before: Position | None = None, *, event: Event | None = None, limit: int = PAGE
) -> HistoryPage:
    """Return a page of the audit records about the caller of the last 90 days, newest first.

    With `before`, they are older than that position. Without `event`, they are records of all events that users see in
    their history.
    """
    user_id, since = ctx.signed_in.user.id, ctx.now - SHOWN_FOR
    events = _shown_events() if event is None else (event.name,)
    if before is None:
        rows = await ctx.reads.all(_newest(events, limit + 1), user_id)
        # Batched look-ups do not guarantee the order of the rows.
        newest = sorted(rows, key=attrgetter("time"), reverse=True)
    else:
        older = _older(events, limit + 1)
        newest = list(await ctx.db.execute(older, value=user_id, time=before.time, id=before.id))
    recent = [record for record in newest if record.time >= since]
    records = recent[:limit]
    has_more = len(recent) > limit
    return HistoryPage(records, Position(records[-1].time, records[-1].id) if has_more else None)


@cache
def _shown_events() -> tuple[str, ...]:
    return tuple(sorted(event.name for event in EVENTS.values() if event.in_history))


# Built once, because each statement object is compiled once.
@cache
def _newest(events: tuple[str, ...], limit: int) -> ReadStatement[HistoryRecord]:
    return ReadStatement(_of_user(events, limit), HistoryRecord._make, key=Audit.user_id, is_limited=True)


@cache
def _older(events: tuple[str, ...], limit: int) -> Select[Any]:
    time, id_ = col(Audit.time), col(Audit.id)
    last = bindparam("time", type_=Instant)
    is_older = or_(time < last, and_(time == last, id_ < bindparam("id", type_=String)))
    return _of_user(events, limit).where(is_older).execution_options(row=HistoryRecord)


def _of_user(events: tuple[str, ...], limit: int) -> Select[Any]:
    columns = [col(getattr(Audit, name)) for name in HistoryRecord._fields]
    newest_first = (col(Audit.time).desc(), col(Audit.id).desc())
    # As parameters, the hundred names would be copied and sent with each request.
    names: Any = bindparam(None, events, expanding=True, literal_execute=True)
    is_wanted = by(Audit.user_id), col(Audit.event).in_(names)
    return select(*columns).where(*is_wanted).order_by(*newest_first).limit(limit)
