"""Classification of database errors: retryable, database unavailable, or neither."""

import asyncio
import sqlite3
from collections.abc import Iterator

from sqlalchemy import exc

from models.discovery import lazy_import

_RETRYABLE_STATES = frozenset({"40001", "40P01"})
"""serialization_failure, deadlock_detected."""

_UNAVAILABLE_CLASSES = frozenset({"08", "28", "3D", "53", "57", "58", "F0", "XX"})
"""Connection, authorization, unknown database, resources (disk full among them), operator (restart, statement timeout),
system, configuration, internal: PostgreSQL's appendix A."""

_UNAVAILABLE_STATES = frozenset({"25006", "25P03", "55P03"})  # defence: R9 read-only
"""read_only_sql_transaction, idle_in_transaction_session_timeout, lock_not_available."""

_READ_ONLY = "25006"
_LOCK_NOT_AVAILABLE = "55P03"
_UNDEFINED_TABLE = "42P01"

_UNAVAILABLE_SQLITE = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY,
    }
)


def is_retryable(error: BaseException) -> bool:
    """Return whether the transaction should be retried because it conflicted with another one."""
    return any(sqlstate(cause) in _RETRYABLE_STATES for cause in _causes(error))


def is_unavailable(error: BaseException) -> bool:
    """Return whether the database is unavailable, so that the response is 503.

    True for network faults, timeouts (of the pool, a statement, a lock), a full disk and a read-only database; false
    for a violated constraint, a serialization failure or a deadlock.
    """
    return any(_is_unavailable(cause) for cause in _causes(error))


def is_missing_table(error: BaseException) -> bool:
    """Return whether a statement failed because a table does not exist."""
    return any(
        sqlstate(cause) == _UNDEFINED_TABLE
        or (isinstance(cause, sqlite3.Error) and str(cause).startswith("no such table"))
        for cause in _causes(error)
    )


def is_read_only(error: BaseException) -> bool:
    """Return whether a statement failed because PostgreSQL is read-only: a standby, or configured so."""
    return any(sqlstate(cause) == _READ_ONLY for cause in _causes(error))


def is_lock_timeout(error: BaseException) -> bool:
    """Return whether a statement failed because PostgreSQL waited for a lock longer than `lock_timeout`."""
    return any(sqlstate(cause) == _LOCK_NOT_AVAILABLE for cause in _causes(error))


def reason(error: BaseException) -> str:
    """Return the name and code of the innermost cause of an outage, for the log; never its message.

    Examples: `SQLITE_FULL`, `ConnectionRefusedError`, `25006 ReadOnlySQLTransactionError`.
    """
    causes = list(_causes(error))
    known = [cause for cause in causes if _is_unavailable(cause) or sqlstate(cause) in _RETRYABLE_STATES]
    first = (known or causes)[-1]
    name = getattr(first, "sqlite_errorname", None) or type(first).__name__
    return f"{sqlstate(first)} {name}".lstrip()


def first_line(error: BaseException) -> str:
    """Return the first line of the driver's message for the operator, or the error's name if there is no message.

    The message may contain values of statements, so it must not be logged.
    """
    return str(getattr(error, "orig", None) or error).partition("\n")[0] or type(error).__name__


def sqlstate(error: BaseException) -> str:
    """Return the SQLSTATE of an error of asyncpg or of SQLAlchemy's adapter; empty if there is none."""
    return getattr(error, "sqlstate", None) or ""


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether SQLite failed because another connection holds the lock."""
    return _sqlite_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and the errors that SQLAlchemy and its adapters wrapped, outermost first, each once."""
    met: list[BaseException] = []
    while error is not None and error not in met:
        met.append(error)
        yield error
        error = (error.orig if isinstance(error, exc.StatementError) else None) or error.__cause__


def _is_unavailable(error: BaseException) -> bool:
    # defence: R1 ORG27 refused-connection
    match error:
        case OSError() | exc.TimeoutError():  # asyncio's TimeoutError is an OSError
            return True
        case asyncio.IncompleteReadError():
            return True
        case exc.DBAPIError(connection_invalidated=True):
            return True
        case sqlite3.Error():
            return _sqlite_code(error) in _UNAVAILABLE_SQLITE
    state = sqlstate(error)
    return _is_connection_loss(error) or state[:2] in _UNAVAILABLE_CLASSES or state in _UNAVAILABLE_STATES


def _is_connection_loss(error: BaseException) -> bool:
    """Return whether the PostgreSQL driver has lost a connection.

    A statement that is sent after the server has announced its shutdown (57P01), but before the stream has ended, fails
    with `InternalClientError` or one of its subclasses (`ProtocolError`, `TargetServerAttributeNotMatched`).
    """
    # Checked first, because a service on SQLite does not load the driver, which takes 3 MB.
    if not type(error).__module__.startswith("asyncpg."):
        return False
    asyncpg = lazy_import("asyncpg")
    # asyncpg also raises InterfaceError for wrong use of its API, which is a defect and must stay a 500.
    is_closed = isinstance(error, asyncpg.InterfaceError) and "closed" in str(error)
    return is_closed or isinstance(error, asyncpg.InternalClientError)


def _sqlite_code(error: sqlite3.Error) -> int:
    """Return the primary result code; errors of the Python module itself have none (0)."""
    # The upper bits are the extended result code, such as SQLITE_BUSY_SNAPSHOT.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
