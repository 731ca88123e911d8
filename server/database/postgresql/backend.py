"""The database of a PostgreSQL server: its connections for reads and for transactions."""

from functools import partial

from sqlalchemy.dialects.postgresql.asyncpg import dialect as asyncpg_dialect

from server.database.address import Address
from server.database.compile import StatementCache
from server.database.database import Database
from server.database.pool import Pool
from server.database.postgresql.engine import postgresql_connect
from server.database.postgresql.reads import PostgresqlReads
from server.database.postgresql.transaction import PostgresqlTransaction

_READER_SETTINGS = {
    "enable_seqscan": "off",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
    "default_transaction_isolation": "read committed",
}
"""Settings of connections that read. They make every read use an index, because each reads few rows, even with a plan
that was made while the table was empty."""

_WRITER_SETTINGS = {"default_transaction_isolation": "read committed"}  # defence: R7 isolation
"""Settings of connections that write: the isolation of transactions of a single statement, which have no BEGIN."""

_STATEMENTS = StatementCache(asyncpg_dialect())


def create(address: Address, pool_size: int, timeout: float, *, pooled: bool) -> Database:
    """Return the database without connecting to it. Raises ValueError for a `pool_size` below 3."""
    if pool_size < 3:
        raise ValueError(
            "database.pool_size must be at least 3 on PostgreSQL: two connections read, the rest write"
        )
    readers = 2 if pool_size < 8 else 3
    writers = pool_size - readers
    write = postgresql_connect(address.target, timeout, pooled=pooled, **_WRITER_SETTINGS)
    read = postgresql_connect(address.target, timeout, pooled=pooled, **_READER_SETTINGS)
    reads = PostgresqlReads(read, readers, timeout)
    # A pooler reports its own sessions, not those of the server.
    find_lost = None if pooled else reads.lost_sessions
    # One for searches, which requests make while their own transaction holds a connection.
    pool = Pool(write, writers, find_lost, reserve=min(1, writers - 1))
    return Database(
        address,
        pool,
        reads,
        partial(PostgresqlTransaction, pool, timeout, _STATEMENTS, pooled=pooled),
        partial(PostgresqlTransaction, pool, timeout, _STATEMENTS, reads_snapshot=True),
        timeout=timeout,
        pooled=pooled,
    )
