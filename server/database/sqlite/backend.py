"""The database of one SQLite file."""

from functools import partial

from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from server.database.address import Address
from server.database.compile import StatementCache
from server.database.database import Database
from server.database.pool import Pool
from server.database.sqlite.connection import connect
from server.database.sqlite.group_commit import GroupCommit
from server.database.sqlite.reads import SqliteReads
from server.database.sqlite.transaction import SqliteSnapshot, SqliteTransaction

_STATEMENTS = StatementCache(SQLiteDialect_pysqlite())


def create(address: Address, pool_size: int, timeout: float, *, pooled: bool) -> Database:
    """Return the database without opening its file. `pool_size` and `pooled` have no effect: a file has no server."""
    # One connection: only one transaction can write anyway, and waiting for the pool is fair and costs nothing, whereas
    # SQLite waits for its lock by sleeping and trying again.
    pool = Pool(partial(connect, address.target), 1)
    group_commit = GroupCommit(pool, timeout)
    return Database(
        address,
        pool,
        SqliteReads(address.target, timeout),
        partial(SqliteTransaction, pool, timeout, _STATEMENTS, group_commit),
        partial(SqliteSnapshot, address.target, timeout, _STATEMENTS),
        timeout=timeout,
        group_commit=group_commit,
    )
