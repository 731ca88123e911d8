"""Write audit records to the log and, in the background or with a transaction, to the database; count audit events."""

import asyncio
import contextlib
from collections import Counter as Counts
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from types import MappingProxyType

import structlog

from domain.ports import Transaction
from handlers import wire
from models import AuditRecord, AuditRow, Outcome
from models.audit import ADD_AUDIT
from models.daily_count import add_count
from server.database.database import Database
from server.observability import logs

WAITING_AT_MOST = 100
"""Most records that may be queued; further records are dropped, and their number is logged."""

PAUSE = 1.0
"""Seconds between two transactions of the writer, so that a flood of refusals does not become a flood of writes."""

COUNT_EVERY = 10.0
"""Seconds between two transactions that write only counts; a process that is killed loses the counts of this time."""

_MOST_KINDS = 1000
"""Most kinds of events that are counted between two transactions; further kinds are not counted."""

_COLUMNS = tuple(field.name for field in fields(AuditRow))
_FACTS = tuple(name for name in _COLUMNS if name != "event")

_Kind = tuple[datetime, str, str, str]
"""The key of a row of `daily_count`: day, event, method of signing in, error code. An absent one is empty."""

NO_COUNTS: Mapping[_Kind, int] = MappingProxyType({})

_log = structlog.get_logger(__name__)


def log(records: Sequence[AuditRecord]) -> None:
    """Write each record to the log as one line; a failed action is a warning."""
    for record in records:
        facts = {name: value for name in _FACTS if (value := getattr(record, name)) not in (None, {})}
        facts["time"] = wire.instant(record.time)
        logs.event(record.event, facts, is_warning=record.outcome == Outcome.FAILURE)


def defer_record(db: Transaction, record: AuditRecord) -> None:
    """Insert a record with the transaction's next statement or its commit."""
    db.defer(ADD_AUDIT, **{name: getattr(record, name) for name in _COLUMNS})


class AuditWriter:
    """Writes audit records of the API layer and of the service itself in the background, and the counts of all events.

    At most `WAITING_AT_MOST` records are written every `PAUSE` seconds. Records that cannot be written are dropped;
    counts that cannot be written are kept for the next transaction. Requests do not write counts in their own
    transactions, because all sign-ins of a day would wait for the lock of one row.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[AuditRecord] = []
        self._counts: Counts[_Kind] = Counts()
        self._dropped = 0
        self._writer: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._writing = asyncio.Lock()

    def enqueue(self, records: Sequence[AuditRecord]) -> None:
        """Queue records; drop those that exceed the queue's limit."""
        free = WAITING_AT_MOST - len(self._waiting)
        self._waiting.extend(records[:free])
        self._dropped += len(records[free:])
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._serve())

    def count(self, records: Sequence[AuditRecord]) -> None:
        """Count the events of records; the records themselves are not queued."""
        for record in records:
            day = record.time.replace(hour=0, minute=0, second=0, microsecond=0)
            kind = (day, record.event, record.method or "", record.code or "")
            if kind in self._counts or len(self._counts) < _MOST_KINDS:
                self._counts[kind] += 1

    async def _serve(self) -> None:
        while self._waiting:
            await self.flush()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await self._closing.wait()

    async def flush(self) -> None:
        """Write all queued records and all counts now."""
        async with self._writing:
            records, self._waiting = self._waiting, []
            dropped, self._dropped = self._dropped, 0
            if dropped:
                _log.warning("audit.dropped", records=dropped)
            counts, self._counts = self._counts, Counts()
            is_written = not (records or counts) or await write_in_new_transaction(
                self._database, records, counts
            )
            if not is_written:
                self._counts += counts

    async def close(self) -> None:
        """Write all queued records and stop."""
        self._closing.set()
        if self._writer is not None:
            await self._writer
        await self.flush()


async def write_in_new_transaction(
    database: Database, records: Sequence[AuditRecord], counts: Mapping[_Kind, int] = NO_COUNTS
) -> bool:
    """Write records and counts in a transaction of their own; return False, after logging why, if that fails."""
    try:
        async with database.transaction() as session:
            for record in records:
                defer_record(session, record)
            # Sorted, so that instances lock the rows in one order.
            rows = [
                {"day": day, "event": event, "way_in": way_in, "code": code, "count": number}
                for (day, event, way_in, code), number in sorted(counts.items())
            ]
            if rows:
                await session.execute_many(add_count(database.dialect), rows)
    except Exception as fault:
        _log.warning("audit.write_failed", records=len(records), error=type(fault).__name__)
        return False
    return True
