"""Users and their sessions by the million, put in by COPY; made from their numbers, so that each can be found again."""

import hashlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
from rich.progress import Progress

from domain import tokens
from domain.api_keys import key_text
from models.base import to_milliseconds

SESSIONS_EACH = 10
LIFE = timedelta(days=7)

ROLE, HOLDERS = "support", 100
"""A role, and how many users have it."""

Row = tuple[Any, ...]

_CHUNK = 5_000
"""Rows that are handed to the server at once."""

_HASH = "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$Zm9ydHktdHdvIGJ5dGVzIG9mIGhhc2ggaW4gYmFzZTY0"
_BROWSER = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
)

_COLUMNS = {
    "user": (
        "id", "name", "email", "email_verified", "two_factor_enabled", "role", "banned", "created_at", "updated_at",
    ),
    "api_key": (
        "id", "digest", "kind", "user_id", "prefix", "enabled", "rate_limit_enabled", "rate_limit_window_ms",
        "rate_limit_max", "request_count", "created_at", "updated_at",
    ),
    "account": ("id", "user_id", "provider_id", "issuer", "account_id", "password", "created_at", "updated_at"),
    "session": (
        "id", "user_id", "token_digest", "token_copy", "remembered", "method", "expires_at", "ip_address", "user_agent",
        "created_at", "updated_at",
    ),
}  # fmt: skip


def user_id(number: int) -> str:
    """Return the id of a user, which looks as random as any."""
    return _random("user", number)


def email(number: int) -> str:
    """Return the address of a user."""
    return f"somebody.{number}@example.com"


def key(number: int) -> str:
    """Return the text of the API key of a user."""
    return key_text.with_check("gwk_" + (_random("key", number) + _random("more", number))[:58])


def token(number: int) -> str:
    """Return the token of a session."""
    return _random("token", number)


def _random(kind: str, number: int) -> str:
    return hashlib.blake2b(f"{kind} {number}".encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Filling:
    """What is put in: from and up to which number of sessions, and how many of them, the first, have ended."""

    first: int
    last: int
    ended: int
    now: datetime
    copy: bytes
    """An encrypted token, as every session has one beside its digest."""

    async def put_in(self, connection: Any, progress: Progress) -> None:
        """Fill the tables. The large ones get their indexes afterwards, as whoever restores a backup does."""
        people = range(self.first // SESSIONS_EACH, self.last // SESSIONS_EACH)
        await self._copy(connection, progress, "user", people, self._user)
        async with without_indexes(connection, progress, "account"):
            await self._copy(connection, progress, "account", people, self._account)
        async with without_indexes(connection, progress, "api_key"):
            await self._copy(connection, progress, "api_key", people, self._key)
        async with without_indexes(connection, progress, "session"):
            await self._copy(connection, progress, "session", range(self.first, self.last), self._session)
        for table in _COLUMNS:
            await connection.execute(f'VACUUM (ANALYZE) "{table}"')

    async def _copy(
        self, connection: Any, progress: Progress, table: str, numbers: range, row: Callable[[int], Row]
    ) -> None:
        task = progress.add_task(f"{table} up to {numbers.stop:,}", total=len(numbers))

        async def lines() -> AsyncIterator[bytes]:
            for chunk in _chunks(numbers):
                yield "".join(_line(row(number)) for number in chunk).encode()
                progress.advance(task, len(chunk))

        await connection.copy_to_table(table, source=lines(), columns=_COLUMNS[table], timeout=None)

    def put_in_sqlite(self, path: Path) -> None:
        """Fill the tables of a SQLite file, which nothing else writes to."""
        people = range(self.first // SESSIONS_EACH, self.last // SESSIONS_EACH)
        rows = {
            "user": map(self._user, people),
            "account": map(self._account, people),
            "api_key": map(self._key, people),
            "session": map(self._session, range(self.first, self.last)),
        }
        with closing(sqlite3.connect(path)) as file:
            for table, made in rows.items():
                columns = _COLUMNS[table]
                statement = (
                    f'INSERT INTO "{table}" ({", ".join(columns)}) VALUES ({", ".join("?" * len(columns))})'
                )
                file.executemany(statement, ([_sqlite(value) for value in row] for row in made))
                file.commit()
            file.execute("ANALYZE")
            file.commit()

    def _user(self, number: int) -> Row:
        role = f"user,{ROLE}" if number - self.first // SESSIONS_EACH < HOLDERS else "user"
        joined = self.now - timedelta(seconds=number)
        return user_id(number), "Somebody", email(number), True, False, role, False, joined, joined

    def _account(self, number: int) -> Row:
        owner = user_id(number)
        return _random("account", number), owner, "credential", "", owner, _HASH, self.now, self.now

    def _key(self, number: int) -> Row:
        digest = tokens.digest(key(number))
        limits = (False, 60_000, 600, 0)
        return (
            _random("key", number), digest, "default", user_id(number), "gwk_", True, *limits, self.now, self.now
        )  # fmt: skip

    def _session(self, number: int) -> Row:
        begun = self.now - timedelta(seconds=number % 3600)
        if number - self.first < self.ended:
            begun -= LIFE + timedelta(hours=2)
        return (
            _random("session", number), user_id(number // SESSIONS_EACH), tokens.digest(token(number)), self.copy, True,
            "password", begun + LIFE, f"198.51.100.{number % 256}", _BROWSER, begun, begun,
        )  # fmt: skip


def _line(row: Row) -> str:
    """Return a row as COPY reads it."""
    return "\t".join(map(_text, row)) + "\n"


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return f"\\\\x{value.hex()}"
    return "ft"[value] if isinstance(value, bool) else str(value)


def _sqlite(value: Any) -> Any:
    return to_milliseconds(value) if isinstance(value, datetime) else value


def _chunks(numbers: range) -> Iterator[range]:
    for start in range(numbers.start, numbers.stop, _CHUNK):
        yield range(start, min(start + _CHUNK, numbers.stop))


@asynccontextmanager
async def without_indexes(connection: Any, progress: Progress, table: str) -> AsyncIterator[None]:
    """Drop the constraints and indexes of a table except its primary key, and create them again afterwards."""
    # Foreign keys of other tables depend on the primary key.
    constraints = await connection.fetch(
        "SELECT conname AS name, pg_get_constraintdef(oid) AS definition FROM pg_constraint"
        " WHERE conrelid = $1::regclass AND contype <> 'p'",
        f'"{table}"',
    )
    for constraint in constraints:
        await connection.execute(f'ALTER TABLE "{table}" DROP CONSTRAINT "{constraint["name"]}"')
    indexes = await connection.fetch(
        "SELECT indexrelid::regclass AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index"
        " WHERE indrelid = $1::regclass AND NOT indisprimary",
        f'"{table}"',
    )
    for index in indexes:
        await connection.execute(f"DROP INDEX {index['name']}")
    yield
    task = progress.add_task(f"indexes of {table}", total=len(constraints) + len(indexes))
    for index in indexes:
        await connection.execute(index["definition"])
        progress.advance(task)
    for constraint in constraints:
        await connection.execute(
            f'ALTER TABLE "{table}" ADD CONSTRAINT "{constraint["name"]}" {constraint["definition"]}'
        )
        progress.advance(task)


async def sizes(connection: Any) -> dict[str, tuple[float, float]]:
    """Return by table the bytes of one row and those of its index entries."""
    found = {}
    for table in _COLUMNS:
        [row] = await connection.fetch(
            f"SELECT count(*) AS rows, pg_table_size($1::regclass) AS own, pg_indexes_size($1::regclass) AS indexes"
            f' FROM "{table}"',
            f'"{table}"',
        )
        found[table] = (row["own"] / row["rows"], row["indexes"] / row["rows"])
    return found


async def connect(url: str) -> "asyncpg.Connection[Any]":
    """Connect for filling: with memory enough to sort an index."""
    return await asyncpg.connect(url, server_settings={"maintenance_work_mem": "1GB"}, command_timeout=None)
