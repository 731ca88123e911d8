"""The database: transactions and reads, opened and closed by the lifespan."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Protocol

import structlog
from sqlalchemy import Executable, text

from domain.ports import Reads, Rows, SearchTimedOut
from models.discovery import lazy_import
from server.database.address import Address, parse
from server.database.errors import first_line, is_unavailable, reason
from server.database.pool import Pool, PoolState
from server.database.transaction import StatementHook, Transaction

_PAUSE = 0.5
"""Seconds between two attempts to connect to a database that is unavailable at startup."""

_PROBE = text("SELECT 1")

_CLOSE_TIMEOUT = 2.0
"""Timeout in seconds for closing a connection gracefully."""

_POOLER_ERROR = "unsupported startup parameter"
"""The error of PgBouncer for a client that treats it as PostgreSQL; a retry does not help."""

_log = structlog.get_logger(__name__)


class DatabaseAbsent(Exception):
    """The database could not be reached at startup; the message is one line for the operator."""


class _Closable(Protocol):
    async def close(self) -> None: ...


class _ClosableReads(_Closable, Reads, Protocol): ...


class _Snapshots(Protocol):
    def __call__(self, *, planned_once: bool = False) -> Transaction: ...


class Database:
    """A database: its transactions, its reads, and its connections, which are opened when they are needed.

    A process must not use connections that another one has opened before a fork.
    """

    def __init__(
        self,
        address: Address,
        pool: Pool[Any],
        reads: _ClosableReads,
        begin: Callable[[], Transaction],
        snapshot: _Snapshots,
        *,
        timeout: float,
        pooled: bool = False,
        group_commit: _Closable | None = None,
    ) -> None:
        self.address = address
        self.dialect = address.dialect
        self.pooled = pooled
        self.timeout = timeout
        self.reads: Reads = reads
        self.hook: StatementHook | None = None
        """Wraps the statements of transactions, for tracing."""
        self.pool = pool
        self._reads = reads
        self._begin = begin
        self._snapshot = snapshot
        self._group_commit = group_commit
        self._scans = asyncio.Lock()

    def begin(self) -> Transaction:
        """Return a transaction that begins at its first statement. The caller commits and closes it."""
        transaction = self._begin()
        transaction.hook = self.hook
        return transaction

    def snapshot(self) -> Transaction:
        """Return a read-only transaction that sees the database as it is at its first statement.

        It never blocks other transactions, however long it lasts.
        """
        return self._snapshot()

    async def search(
        self,
        statements: Sequence[Executable],
        within: timedelta,
        *,
        is_scan: bool,
        planned_once: bool = False,
        **values: object,
    ) -> list[Rows]:
        """Return the rows of each statement, read in one snapshot. Implements `domain.ports.Search`.

        `within` limits the time of all statements together. If `is_scan`, they wait until no other scan runs. If
        `planned_once`, PostgreSQL keeps the plans of the statements. Raises SearchTimedOut, and the errors of the
        driver.
        """
        async with self._snapshot(planned_once=planned_once) as snapshot:
            await snapshot.start()  # An outage is not a slow search.
            scan = self._scans if is_scan else contextlib.nullcontext()
            try:
                # defence: ADM16 scan-timeout
                async with asyncio.timeout(within.total_seconds()) as limit, scan:
                    return [await snapshot.execute(statement, **values) for statement in statements]
            except TimeoutError:
                if limit.expired():
                    raise SearchTimedOut from None
                raise

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Yield a transaction that is committed at the end, rolled back after an exception, and closed."""
        async with self.begin() as transaction:
            yield transaction
            await transaction.commit()

    def pool_state(self) -> PoolState:
        """Return the state of the connection pool for transactions."""
        return self.pool.state()

    async def reach(self, patience: float = 30.0) -> None:
        """Wait until the database responds. After `patience` seconds, close the database and raise DatabaseAbsent."""
        try:
            await _reach(self, patience)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close every connection."""
        await self._reads.close()
        if self._group_commit is not None:
            await self._group_commit.close()
        await self.pool.close(_CLOSE_TIMEOUT)


def create_database(url: str, *, pool_size: int, timeout: float, pooled: bool = False) -> Database:
    """Return the database at `url` without connecting to it.

    It uses at most `pool_size` connections to PostgreSQL. `timeout`, in seconds, is the setting `database.timeout`: it
    limits statements, and waiting for a connection or a lock. `pooled` is true if a pooler in transaction mode is in
    front of PostgreSQL. Raises ValueError for an invalid URL, and for a `pool_size` below 3 with PostgreSQL.
    """
    address = parse(url)
    if address.dialect == "sqlite":
        backend = lazy_import("server.database.sqlite.backend")
    else:
        backend = lazy_import("server.database.postgresql.backend")
    database: Database = backend.create(address, pool_size, timeout, pooled=pooled)
    return database


async def open_database(
    url: str,
    *,
    pool_size: int,
    timeout: float,  # noqa: ASYNC109 - the setting of the database, not of this function
    patience: float = 30.0,
    pooled: bool = False,
) -> Database:
    """Create a database as `create_database` does, wait until it responds, and return it.

    Raises DatabaseAbsent after `patience` seconds.
    """
    database = create_database(url, pool_size=pool_size, timeout=timeout, pooled=pooled)
    await database.reach(patience)
    return database


async def _reach(database: Database, patience: float) -> None:
    """Wait until the database responds. Raises DatabaseAbsent after `patience` seconds."""
    deadline, label = time.monotonic() + patience, database.address.label
    is_told = False
    while True:
        try:
            async with database.transaction() as session:
                await session.execute(_PROBE)
            return
        except Exception as error:
            if not is_unavailable(error):
                raise
            if _POOLER_ERROR in str(error):
                raise DatabaseAbsent(
                    f"the database {label} is reached through a pooler, which takes no run-time parameters:"
                    " set database.pooler to transaction"
                ) from error
            if time.monotonic() >= deadline:  # defence: R2 patience
                raise DatabaseAbsent(
                    f"the database {label} cannot be used after {patience:g} s of trying: {first_line(error)}"
                ) from error
            if not is_told:
                is_told = True
                _log.warning(
                    "database.awaited",
                    database=label,
                    reason=reason(error),
                    seconds=patience,
                )
        await asyncio.sleep(_PAUSE)
