"""Search the audit trail: newest first, page by page, by conditions that indexes answer.

The rows of a condition may lie in several index ranges, such as those of the events of a group. Each range is read
newest first up to the size of the page, and the pages are merged, so that the cost does not grow with the table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    and_,
    bindparam,
    literal,
    literal_column,
    select,
    tuple_,
    union_all,
)
from sqlmodel import col

from domain.audit.record import EVENTS
from domain.context import Context
from domain.keyset import Place, Position, place
from models import Audit, Outcome
from models.base import Instant
from models.queries import ReadStatement, by


@dataclass(frozen=True, slots=True)
class Subject:
    """The user whom records are about. Records from before the user existed have one of `hints` instead of the id.

    `hints` are the digests of the identifiers that were typed then, such as the email address.
    """

    id: str
    hints: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """The records to find; None matches everything."""

    events: Sequence[str] | None = None
    subject: Subject | None = None
    actor_id: str | None = None
    address: str | None = None
    """An IP address or, with a dot at the end, the beginning of the addresses of a network, such as `203.0.113.`."""
    outcome: Outcome | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_indexed(self) -> bool:
        """Whether an index finds the records, and at most a few of the records that it finds do not match."""
        if self.subject is not None or self.actor_id is not None:
            return True
        return not _is_network(self.address) and sum(other is not None for other in self._others) <= 1

    @property
    def is_by_person(self) -> bool:
        """Whether the index of the user or of the actor is the best, however many records they have."""
        if self.subject is None:
            return self.actor_id is not None
        return all(other is None for other in self._others)

    @property
    def _others(self) -> Sequence[object]:
        return self.events, self.address, self.outcome


class AuditEvent(NamedTuple):
    """A record as it was found; the fields are those of `Audit`, without the digest of an identifier."""

    id: str
    time: datetime
    event: str
    outcome: str
    code: str | None
    user_id: str | None
    actor_id: str | None
    session_id: str | None
    method: str | None
    address: str | None
    user_agent: str | None
    request_id: str | None
    details: dict[str, Any]


@dataclass(frozen=True, slots=True)
class AuditPage:
    """A page of records, newest first. `last` is the position of its last row; None on the last page."""

    events: Sequence[AuditEvent]
    last: Position | None
    first: Position | None = None
    """The position of its first row; None on the first page."""


_COLUMNS = tuple(col(getattr(Audit, name)) for name in AuditEvent._fields)
_BY_ID = ReadStatement(select(*_COLUMNS).where(by(Audit.id)), AuditEvent._make, key=Audit.id)


async def find(
    ctx: Context,
    wanted: AuditQuery,
    *,
    before: Position | None,
    after: Position | None = None,
    limit: int,
    within: timedelta,
) -> AuditPage:
    """Return a page of the records that match, newest first.

    The records are those older than `before`, or those newer than `after`; at most one is given. Raises SearchTimedOut
    if the search takes longer than `within`.
    """
    where = place(before=before, after=after)
    ranges = [_nearest(each, wanted, where, limit + 1) for each in _ranges(wanted)]
    if not ranges:
        return AuditPage((), None)
    statement = ranges[0] if len(ranges) == 1 else _merged(ranges, where, limit + 1)
    statements = [statement.execution_options(row=AuditEvent)]
    [found] = await ctx.resources.database.search(
        statements, within, is_scan=not wanted.is_indexed, planned_once=wanted.is_by_person
    )
    events, ends = where.page(found, limit, lambda event: Position(event.time, event.id))
    return AuditPage(events, ends.last, ends.first)


async def newest(
    ctx: Context, events: tuple[str, ...], *, limit: int, within: timedelta
) -> Sequence[AuditEvent]:
    """Return the newest records of the events with these names, newest first.

    Raises SearchTimedOut if the search takes longer than `within`.
    """
    found: Sequence[AuditEvent]
    [found] = await ctx.resources.database.search([_newest(events, limit)], within, is_scan=False)
    return found


# Building and compiling a statement with 30 ranges was four fifths of the overview's processor time.
@cache
def _newest(events: tuple[str, ...], limit: int) -> Select[Any]:
    """Return the statement for the newest records of some events.

    The ranges have only ids: asyncpg prepares a statement of more than 15 KiB for each request.
    """
    anywhere, time, id_ = place(before=None, after=None), col(Audit.time), col(Audit.id)
    ranges = [
        select(time, id_).where(_is_event(name)).order_by(*anywhere.order(time, id_)).limit(_number(limit))
        for name in events
    ]
    found = _merged(ranges, anywhere, limit).subquery()
    return (
        select(*_COLUMNS)
        .join(found, and_(id_ == found.c.id, time == found.c.time))
        .order_by(*anywhere.order(time, id_))
        .execution_options(row=AuditEvent)
    )


async def get(ctx: Context, event_id: str) -> AuditEvent | None:
    """Return the record with this id, or None."""
    return await ctx.reads.one(_BY_ID, event_id)


@dataclass(frozen=True, slots=True)
class _Range:
    """Records that meet conditions; those with one value of a column if it is given."""

    conditions: Sequence[ColumnElement[bool]] = ()
    column: Any = None
    """A column that an index has before the time."""
    value: str | None = None

    def bounds(self, since: datetime | None, until: datetime | None) -> Sequence[ColumnElement[bool]]:
        """Return the conditions of the part of the index from one time to another, both included.

        They compare rows, and the range is sorted by the column too: if the column equalled the value, records sorted
        by time alone would do, and PostgreSQL might read the index of times from end to end to find a rare value.
        SQLite needs the last condition to prefer this index to those of other filters.
        """
        if self.column is None:
            return ()
        column, time, value = self.column, col(Audit.time), literal(self.value)
        low, high = literal(since, Instant), literal(until, Instant)
        return (
            column >= value if since is None else tuple_(column, time) >= tuple_(value, low),
            column <= value if until is None else tuple_(column, time) <= tuple_(value, high),
            column.is_not_distinct_from(value),
        )


def _ranges(wanted: AuditQuery) -> list[_Range]:
    """Return the ranges in which the records are. They do not overlap, and each is answered by one index."""
    user, actor, hint = col(Audit.user_id), col(Audit.actor_id), col(Audit.hint)
    if wanted.subject is not None:
        about = [(user, wanted.subject.id), *((hint, each) for each in wanted.subject.hints)]
        if not wanted.is_by_person:
            # The database chooses between the indexes by how many records match.
            return [_Range([column == value]) for column, value in about]
        return [_Range([column.is_not(None)], column, value) for column, value in about]
    if wanted.actor_id is not None:
        # The index of actors has only records about other users, which are few.
        own = _Range([actor == wanted.actor_id], user, wanted.actor_id)
        return [own, _Range([user.is_distinct_from(actor)], actor, wanted.actor_id)]
    return [_Range([_is_event(name)]) for name in wanted.events or ()] if _is_by_event(wanted) else [_Range()]


def _is_event(name: str) -> ColumnElement[bool]:
    """Return the condition that a record is of an event.

    Known names are part of the statement, so that a search for events alone has no parameters and is planned once.
    """
    value: Any = bindparam(None, name, literal_execute=True) if name in EVENTS else name
    condition: ColumnElement[bool] = col(Audit.event) == value
    return condition


def _is_by_event(wanted: AuditQuery) -> bool:
    """Return whether each event is a range of its own."""
    others = (wanted.subject, wanted.actor_id, wanted.address)
    return wanted.events is not None and others == (None, None, None)


def _nearest(of: _Range, wanted: AuditQuery, at: Place, limit: int) -> Select[Any]:
    """Return the statement that reads the records of a range that match, beginning with the nearest."""
    time, id_ = col(Audit.time), col(Audit.id)
    bounds = of.bounds(*at.times(wanted.since, wanted.until))
    where = [*bounds, *of.conditions, *_conditions(wanted), *at.conditions(time, id_)]
    order = (time, id_) if of.column is None else (of.column, time, id_)
    return select(*_COLUMNS).where(and_(True, *where)).order_by(*at.order(*order)).limit(_number(limit))


def _conditions(wanted: AuditQuery) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if wanted.events is not None and not _is_by_event(wanted):
        conditions.append(col(Audit.event).in_(wanted.events))
    if wanted.subject is not None and wanted.actor_id is not None:
        conditions.append(col(Audit.actor_id) == wanted.actor_id)
    if wanted.address is not None:
        conditions.append(_is_from(wanted.address))
    if wanted.outcome is not None:
        conditions.append(col(Audit.outcome) == wanted.outcome)
        if wanted.outcome != Outcome.SUCCESS:
            # In the words of the partial index, without a parameter.
            conditions.append(col(Audit.outcome) != literal_column("'success'"))
    if wanted.since is not None:
        conditions.append(col(Audit.time) >= wanted.since)
    if wanted.until is not None:
        conditions.append(col(Audit.time) < wanted.until)
    return conditions


def _is_from(address: str) -> ColumnElement[bool]:
    column = col(Audit.address)
    return column.startswith(address, autoescape=True) if _is_network(address) else column == address


def _is_network(address: str | None) -> bool:
    return address is not None and address.endswith(".")


def _merged(ranges: Sequence[Select[*tuple[Any, ...]]], at: Place, limit: int) -> Any:
    parts = [select(each.subquery()) for each in ranges]
    merged = union_all(*parts).subquery()
    return select(*merged.c).order_by(*at.order(merged.c.time, merged.c.id)).limit(_number(limit))


def _number(limit: int) -> ColumnElement[int]:
    """Return a limit as a literal.

    PostgreSQL plans a statement without parameters once, and one with parameters for each search, which takes half a
    millisecond with a year of monthly partitions.
    """
    return literal_column(str(limit), Integer)
