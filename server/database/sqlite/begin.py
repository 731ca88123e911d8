"""Acquire SQLite's connection for writing with a transaction begun, and release it with none."""

import sqlite3

from sqlalchemy.exc import IntegrityError
from sqlalchemy.pool import PoolProxiedConnection

from server.database import pool as database_pool
from server.database.pool import CountingPool
from server.database.sqlite.connection import Connection, Row


async def acquire_begun(pool: CountingPool) -> PoolProxiedConnection:
    """Give the connection, on which a transaction with the lock for writing has begun.

    Both are waited for within one budget, which the caller has noted the start of. Raises what the pool and sqlite3
    raise when there is none in time.
    """
    acquired = await pool.acquire()
    try:
        driver = driver_of(acquired)
        if not driver.begin_at_once():
            await driver.begin(database_pool.remaining(pool.timeout()))
    except BaseException:
        release(pool, acquired)
        raise
    return acquired


def release(pool: CountingPool, acquired: PoolProxiedConnection) -> None:
    """Give the connection back, without what was not committed."""
    try:
        if acquired.is_valid:
            driver_of(acquired).undo()
    finally:
        pool.release(acquired)


async def execute(driver: Connection, sql: str, arguments: tuple[object, ...]) -> list[Row]:
    """Execute within a transaction what takes microseconds; give its rows.

    Raises SQLAlchemy's IntegrityError, and what sqlite3 raises.
    """
    try:
        return await driver.run(sql, arguments)
    except sqlite3.IntegrityError as error:
        raise IntegrityError(sql, None, error, hide_parameters=True) from error


def driver_of(acquired: PoolProxiedConnection) -> Connection:
    """Give the connection itself."""
    driver = acquired.driver_connection
    assert isinstance(driver, Connection)  # noqa: S101
    return driver
