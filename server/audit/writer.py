"""Audit records outside the transaction of an action: logged, in a new transaction, or by a background writer."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import fields

import structlog

from domain.ports import Transaction
from handlers import wire
from models import AuditRecord, AuditRow, Outcome
from models.audit import ADD_AUDIT
from server.database.database import Database
from server.observability import logs

WAITING_AT_MOST = 100
"""Records that may be queued; further records are counted and dropped."""

PAUSE = 1.0
"""Seconds between two transactions of the writer, so that a flood of refusals does not become a flood of writes."""

_COLUMNS = tuple(field.name for field in fields(AuditRow))
_FACTS = tuple(name for name in _COLUMNS if name != "event")

_log = structlog.get_logger(__name__)


def log(records: Sequence[AuditRecord]) -> None:
    """Log each record as one line, a failed action as a warning."""
    for record in records:
        facts = {name: value for name in _FACTS if (value := getattr(record, name)) not in (None, {})}
        facts["time"] = wire.instant(record.time)
        logs.event(record.event, facts, is_warning=record.outcome == Outcome.FAILURE)


def defer_record(db: Transaction, record: AuditRecord) -> None:
    """Defer the insertion of a record in a transaction."""
    db.defer(ADD_AUDIT, **{name: getattr(record, name) for name in _COLUMNS})


class AuditWriter:
    """The background writer of audit records of the API layer and of the service itself.

    At most `WAITING_AT_MOST` records are written every `PAUSE` seconds. Records that cannot be written are dropped.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[AuditRecord] = []
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

    async def _serve(self) -> None:
        while self._waiting:
            await self.flush()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await self._closing.wait()

    async def flush(self) -> None:
        """Write all queued records now."""
        async with self._writing:
            records, self._waiting = self._waiting, []
            dropped, self._dropped = self._dropped, 0
            if dropped:
                _log.warning("audit.dropped", records=dropped)
            if records:
                await write_in_new_transaction(self._database, records)

    async def close(self) -> None:
        """Write all queued records and stop."""
        self._closing.set()
        if self._writer is not None:
            await self._writer
        await self.flush()


async def write_in_new_transaction(database: Database, records: Sequence[AuditRecord]) -> None:
    """Write records in a transaction of their own; if that fails, they are only in the log."""
    try:
        async with database.transaction() as session:
            for record in records:
                defer_record(session, record)
    except Exception as fault:
        _log.warning("audit.write_failed", records=len(records), error=type(fault).__name__)
