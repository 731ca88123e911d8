"""Audit records outside the transaction of an action: in the log, in one of their own, and at a bounded desk."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import fields

import structlog

from domain.ports import Transaction
from handlers import wire
from models import AuditRecord, AuditRow, Outcome
from models.commands import ADD_AUDIT
from server import logs
from server.database import Database

WAITING_AT_MOST = 100
"""Records that may wait to be written; further ones are counted and dropped."""

PAUSE = 1.0
"""Seconds between two transactions of the desk, so that no flood of refusals becomes one of writes."""

_COLUMNS = tuple(field.name for field in fields(AuditRow))
_FACTS = tuple(name for name in _COLUMNS if name != "event")

_log = structlog.get_logger(__name__)


def log(records: Sequence[AuditRecord]) -> None:
    """Write each record to the log as one line; what failed is a warning."""
    for record in records:
        facts = {name: value for name in _FACTS if (value := getattr(record, name)) not in (None, {})}
        facts["time"] = wire.instant(record.time)
        logs.event(record.event, facts, is_warning=record.outcome == Outcome.FAILURE)


def file(db: Transaction, record: AuditRecord) -> None:
    """Have a record written in a transaction."""
    db.file(ADD_AUDIT, **{name: getattr(record, name) for name in _COLUMNS})


class Desk:
    """Writes what the pipeline and the service itself have to say, a moment later and never in anybody's way.

    At most `WAITING_AT_MOST` records are written in `PAUSE` seconds. Those that cannot be written are given up.
    """

    def __init__(self, database: Callable[[], Database]) -> None:
        self._database = database
        self._waiting: list[AuditRecord] = []
        self._dropped = 0
        self._writer: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._writing = asyncio.Lock()

    def file(self, records: Sequence[AuditRecord]) -> None:
        """Take records to be written soon, unless too many wait."""
        free = WAITING_AT_MOST - len(self._waiting)
        self._waiting.extend(records[:free])
        self._dropped += len(records[free:])
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._serve())

    async def _serve(self) -> None:
        while self._waiting:
            await self.empty()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await self._closing.wait()

    async def empty(self) -> None:
        """Write all that waits, now."""
        async with self._writing:
            records, self._waiting = self._waiting, []
            dropped, self._dropped = self._dropped, 0
            if dropped:
                _log.warning("audit.dropped", records=dropped)
            if records:
                await write_apart(self._database(), records)

    async def close(self) -> None:
        """Write what waits, and take no more."""
        self._closing.set()
        if self._writer is not None:
            await self._writer
        await self.empty()


async def write_apart(database: Database, records: Sequence[AuditRecord]) -> None:
    """Write records in a transaction of their own; when that fails, the log alone has them (behaviour 11)."""
    try:
        async with database.transaction() as session:
            for record in records:
                file(session, record)
    except Exception as fault:
        _log.warning("audit.unwritten", records=len(records), error=type(fault).__name__)
