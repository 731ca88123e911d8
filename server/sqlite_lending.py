"""SQLite's connection for writing, lent in the order of coming: with a transaction begun, and taken back with none."""

import sqlite3

from sqlalchemy.exc import IntegrityError
from sqlalchemy.pool import PoolProxiedConnection

from server import pools
from server.pools import LendingPool
from server.sqlite_connection import Connection, Row


async def borrow_begun(pool: LendingPool) -> PoolProxiedConnection:
    """Give the connection, on which a transaction with the lock for writing has begun.

    Both are waited for within one budget, which the caller has noted the start of. Raises what the pool and sqlite3
    raise when there is none in time.
    """
    lent = await pool.borrow()
    try:
        driver = driver_of(lent)
        if not driver.begin_at_once():
            await driver.begin(pools.remaining(pool.timeout()))
    except BaseException:
        give_back(pool, lent)
        raise
    return lent


def give_back(pool: LendingPool, lent: PoolProxiedConnection) -> None:
    """Give the connection back, without what was not committed."""
    try:
        if lent.is_valid:
            driver_of(lent).undo()
    finally:
        pool.give_back(lent)


async def execute(driver: Connection, sql: str, arguments: tuple[object, ...]) -> list[Row]:
    """Execute within a transaction what takes microseconds; give its rows.

    Raises SQLAlchemy's IntegrityError, and what sqlite3 raises.
    """
    try:
        return await driver.run(sql, arguments)
    except sqlite3.IntegrityError as error:
        raise IntegrityError(sql, None, error, hide_parameters=True) from error


def driver_of(lent: PoolProxiedConnection) -> Connection:
    """Give the connection itself."""
    driver = lent.driver_connection
    assert isinstance(driver, Connection)  # noqa: S101
    return driver
