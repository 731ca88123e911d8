"""Counters in the database: one upsert per count, in the transaction of the request."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Integer, LargeBinary, Select, bindparam, case, or_, select
from sqlmodel import col

from domain.errors import Unavailable
from domain.ports import Limit, LimitResult, Rows, Transaction
from models import Counter
from models.base import Instant
from models.counter import COUNTER_BY_KEY, CounterRow, reset_counts
from models.statements import upsert
from server.database.database import Database
from server.database.errors import is_retryable, is_unavailable
from server.rate_limit.requests import WindowCount

SKEW = timedelta(minutes=1)  # defence: R20 skew
"""How far the clock of another instance may be ahead. Without this tolerance, a request whose `now` is earlier than the
window's beginning would restart the window, and so could each request of a burst."""

_EXACT = timedelta(0)
"""The tolerance for the request limit: its windows are short, and it may be approximate."""


class DatabaseCounters:
    """Counters in the table `counter`.

    Implements `domain.ports.Counters`, and `SharedCounters` of the request limiter.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def exceeded_until(
        self, counts: Sequence[Limit], now: datetime, db: Transaction | None = None
    ) -> list[datetime | None]:
        """Return, for each limit, the end of its window if the limit is reached, else None.

        The counters are read in the transaction `db`, if it is given.
        """
        if not counts:
            return []
        if db is None:
            rows = await self._database.reads.each(COUNTER_BY_KEY, [count.key for count in counts])
        else:
            rows = await _rows(db, counts)
        return [_end(count, row, now) for count, row in zip(counts, rows, strict=True)]

    async def hit(self, db: Transaction, counts: Sequence[Limit], now: datetime) -> LimitResult:
        """Increment all counters in this transaction, or none if one is at its limit.

        Rows are always locked in the order of their keys, so that transactions cannot deadlock.
        """
        filled = set()
        try:
            async with db.savepoint():
                for count in sorted(counts):
                    # defence: R21 shared-count
                    counted = await _add(db, count, 1, now, now + count.window, SKEW)
                    if not counted:
                        raise _WindowFull
                    if counted.scalar() == count.number:
                        filled.add(count.key)
        except _WindowFull:
            return LimitResult(await _last_window_end(db, counts, now))
        return LimitResult(filled=frozenset(filled))

    async def reset(self, db: Transaction, keys: Sequence[bytes]) -> None:
        """Delete the counters with these keys in the transaction `db`."""
        db.defer(reset_counts(len(keys)), **{f"key{place}": key for place, key in enumerate(keys)})

    async def hit_many(self, count: Limit, amount: int, now: datetime, end: datetime) -> WindowCount:
        """Add `amount` to a counter in a transaction of its own; return the new count and the end of its window.

        If a new window begins now, it ends at `end`. Raises Unavailable.
        """
        try:
            async with self._database.transaction() as db:
                # A transaction of its own: the request that is counted may fail or have none.
                [(number, window_end)] = await _add(db, count, amount, now, end, _EXACT)
        except Exception as fault:
            if is_unavailable(fault) or is_retryable(fault):
                raise Unavailable from fault
            raise
        return WindowCount(number, window_end)

    async def has_lost_counts(self) -> bool:
        """Return False, because rows of the database are not lost."""
        return False

    async def close(self) -> None:
        """Do nothing, because the service closes the database."""


class _WindowFull(Exception):
    """Raised if a limit is reached."""


async def _add(
    db: Transaction, count: Limit, amount: int, now: datetime, end: datetime, skew: timedelta
) -> Rows:
    """Add to a counter, or begin a new window if the last one is over.

    Returns one row with the count and the end of its window; no row if the limit is reached.
    """
    return await db.execute(
        _statement(db.dialect, is_open=count.unbounded),
        of=count.key,
        amount=amount,
        end=end,
        now=now,
        latest=now + count.window + skew,
        number=count.number,
    )


@cache
def _statement(dialect: str, *, is_open: bool) -> Any:
    """Return the cached statement: building it takes as long as running it."""
    statement = upsert(dialect, Counter).values(
        key=bindparam("of", type_=LargeBinary()),
        count=bindparam("amount", type_=Integer()),
        window_end=bindparam("end", type_=Instant()),
    )
    anew, ends = statement.excluded, col(Counter.window_end)
    over = or_(ends <= bindparam("now", type_=Instant()), ends > bindparam("latest", type_=Instant()))
    there_is_room = or_(over, col(Counter.count) < bindparam("number", type_=Integer()))
    return statement.on_conflict_do_update(
        index_elements=[col(Counter.key)],
        # defence: V69 window-end
        set_={
            # A count within an open window does not move its end, otherwise a stranger's guesses could lock the owner
            # out for ever.
            "count": case((over, anew.count), else_=col(Counter.count) + anew.count),
            "window_end": case((over, anew.window_end), else_=col(Counter.window_end)),
        },
        # The condition is part of the upsert. If the count were read first, a burst of concurrent guesses would pass
        # together (as in Keycloak, CVE-2024-4629).
        where=None if is_open else there_is_room,  # defence: V66 room-in-count
    ).returning(col(Counter.count), col(Counter.window_end))


async def _last_window_end(db: Transaction, counts: Sequence[Limit], now: datetime) -> datetime:
    """Return the latest end of the exhausted windows; `now` if a concurrent request has just reset them."""
    rows = zip(counts, await _rows(db, counts), strict=True)
    return max((_end(count, row, now) or now for count, row in rows), default=now)


async def _rows(db: Transaction, counts: Sequence[Limit]) -> list[CounterRow | None]:
    values = {f"key{place}": count.key for place, count in enumerate(counts)}
    result = await db.execute(_of_keys(len(counts)), **values)
    rows = {key: CounterRow(number, end) for key, number, end in result}
    return [rows.get(count.key) for count in counts]


@cache
def _of_keys(number: int) -> Select[bytes, int, datetime]:
    """Return the statement that reads `number` counters; its values are named `key0`, `key1` and so on."""
    keys = [bindparam(f"key{place}", type_=LargeBinary()) for place in range(number)]
    columns = select(col(Counter.key), col(Counter.count), col(Counter.window_end))
    return columns.where(col(Counter.key).in_(keys))


def _end(count: Limit, row: CounterRow | None, now: datetime) -> datetime | None:
    if row is None or count.unbounded or row.number < count.number:
        return None
    if not now < row.window_end <= now + count.window + SKEW:
        return None
    # The clock of the instance that began the window may be ahead; no client waits longer than a window.
    return min(row.window_end, now + count.window)
