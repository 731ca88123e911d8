"""Sessions of the ORM, whichever database they are on: when they begin, and what they share a transaction with."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session, SessionTransaction
from sqlalchemy.util import await_

from server.database.pool import note_start

READS_ONLY = "gatewright_reads_only"
"""The execution option of a transaction that leaves SQLite's lock for writing to others."""

HAS_BEGUN = "gatewright_has_begun"
"""The option of a connection to SQLite that is in a transaction before SQLAlchemy hears of it."""

_SNAPSHOTS: dict[str, dict[str, Any]] = {
    "sqlite": {READS_ONLY: True},
    "postgresql": {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
}


class TimedSession(Session):
    """A session whose transactions note when they began to look for a connection."""

    use_connection: Callable[[], Connection] | None = None
    """Returns the connection of a transaction that was begun without this session, if this session is to join it."""

    flush_deferred: Callable[[], Awaitable[None]] | None = None
    """Executes deferred statements before any statement of this session."""

    def get_bind(self, *arguments: Any, **named: Any) -> Engine | Connection:
        """Give what the next statement is executed by."""
        self._flush_deferred()
        if self.use_connection is not None:
            self.bind, self.use_connection = self.use_connection(), None
        return super().get_bind(*arguments, **named)

    def flush(self, objects: Sequence[Any] | None = None) -> None:
        """Write what was added and changed; what is to be done before may have to write some of it itself."""
        self._flush_deferred()
        super().flush(objects)

    def begin_nested(self) -> SessionTransaction:
        """Begin a savepoint, which holds nothing that was asked for before it."""
        self._flush_deferred()
        return super().begin_nested()

    def _flush_deferred(self) -> None:
        flush, self.flush_deferred = self.flush_deferred, None
        if flush is not None:
            await_(flush())


event.listen(TimedSession, "after_transaction_create", note_start)


async def begin_snapshot(session: AsyncSession) -> None:
    """Begin a session's transaction so that to its end it sees the database as it is now; it may only read.

    Nobody waits for it, however long it lasts.
    """
    await session.connection(execution_options=_SNAPSHOTS[session.get_bind().dialect.name])
