"""The database of another program, opened read-only: tables are found by name and read page by page in one snapshot.

Names are compared without case, underscores and a plural s, because ORMs spell them differently: `emailVerified` and
`email_verified`, `user` and `users`.
"""

import os
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, TableClause, column, func, inspect, make_url, select, table
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from models.base import from_milliseconds
from server.database.address import Address, parse
from server.database.errors import first_line
from server.database.postgresql.engine import FAULTS, patient_postgresql_engine
from server.database.sqlite.engine import foreign_sqlite_engine
from server.importers.source import SourceRefused

PAGE = 200
"""Rows per page."""
CONNECT_WITHIN = 10.0
"""Timeout of connecting to the database, in seconds."""
READ_WITHIN = 120.0
"""Timeout of a statement, in seconds; without it, an import would wait for ever for a server that does not respond."""
OWN_TABLES = frozenset({"alembic_version", "known_network", "trusted_device"})
"""Tables that identify a database of this service: no other program has all of them."""

_MILLISECONDS_FROM = 10**11
"""Numbers from here on are taken for milliseconds: in seconds this would be the year 5138."""

Record = dict[str, Any]
"""A row by the normalized names of its columns: lower case, without underscores."""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """One table: its FROM clause, and its columns by their normalized names."""

    clause: TableClause
    columns: dict[str, Any]

    def selected(self) -> Select[Any]:
        """Return a statement that selects every column under its normalized name."""
        return select(*(column.label(plain) for plain, column in self.columns.items())).select_from(
            self.clause
        )


class SourceDatabase:
    """An open database of another program."""

    def __init__(
        self,
        connection: AsyncConnection,
        tables: dict[str, dict[str, Any]],
        label: str,
        schema: str | None = None,
    ) -> None:
        """Create it; `tables` has the types of the columns of every table, by the names in the database.

        `label` is the name of the database for messages.
        """
        self._connection = connection
        self._tables = tables
        self._schema = schema
        self.label = label

    def table(self, name: str, required: Collection[str]) -> SourceTable:
        """Return a table by its normalized name. Raises SourceRefused if it or a required column is missing."""
        present = self.optional_table(name, required)
        if present is None:
            raise SourceRefused(f"{self.label} has no table {name}")
        return present

    def optional_table(self, name: str, required: Collection[str]) -> SourceTable | None:
        """Return a table by its normalized name, preferably one with exactly this name; None if it is missing.

        Raises SourceRefused if a required column is missing.
        """
        plain = _plain(name)
        spelt = [each for each in self._tables if _plain(each) in (plain, f"{plain}s")]
        if not spelt:
            return None
        spelling = name if name in spelt else min(spelt)
        types = self._tables[spelling]
        columns = {
            # Only keys are compared in the database; other columns are read as the driver returns them.
            _plain(each): column(each, type_) if _is_key(each) else column(each)
            for each, type_ in types.items()
        }
        missing = [each for each in required if _plain(each) not in columns]
        if missing:
            raise SourceRefused(f"the table {name} of {self.label} has no column {missing[0]}")
        return SourceTable(table(spelling, *columns.values(), schema=self._schema), columns)

    async def count(self, source: SourceTable) -> int:
        """Return the number of rows of a table. Raises SourceRefused if the database fails."""
        with _refusing(f"{self.label} failed"):
            rows = await self._connection.execute(select(func.count()).select_from(source.clause))
        return int(rows.scalar_one())

    async def pages(self, source: SourceTable) -> AsyncIterator[list[Record]]:
        """Yield all rows of a table, page by page, ordered by id.

        Raises SourceRefused if the database fails, or if a row has no id.
        """
        key = source.columns["id"]
        statement = source.selected().order_by(key).limit(PAGE)
        page = await self._read(statement)
        while page:
            # Nothing is greater than NULL: the rows after it would never be read.
            if page[-1]["id"] is None:
                raise SourceRefused(f"{self.label} has users without an id")
            yield page
            page = await self._read(statement.where(key > page[-1]["id"]))

    async def rows_of_users(
        self, source: SourceTable | None, user_ids: Sequence[Any], by: str = "userid"
    ) -> dict[Any, list[Record]]:
        """Return the rows of a table that belong to these users, by user id; none if `source` is None.

        `by` is the normalized name of the column with the user id.
        """
        by_user: dict[Any, list[Record]] = {}
        for record in await self.rows_of(source, user_ids, by):
            by_user.setdefault(record[by], []).append(record)
        return by_user

    async def rows_of(self, source: SourceTable | None, ids: Sequence[Any], by: str) -> list[Record]:
        """Return the rows of a table whose column `by` has one of these values; none if `source` is None."""
        if source is None:
            return []
        return await self._read(source.selected().where(source.columns[by].in_(ids)))

    async def _read(self, statement: Select[Any]) -> list[Record]:
        with _refusing(f"{self.label} failed"):
            return [dict(row) for row in (await self._connection.execute(statement)).mappings()]


@asynccontextmanager
async def opened(
    url: str, own_url: str, schema: str | None = None, *, read_within: float = READ_WITHIN
) -> AsyncIterator[SourceDatabase]:
    """Open the database of another program read-only, within the `async with` block.

    The tables are those of the default schema or, with PostgreSQL, of `schema`. A statement on PostgreSQL may take
    `read_within` seconds. Raises SourceRefused if the database cannot be opened, or if it is that of this service,
    whose URL is `own_url`.
    """
    if schema is not None and url.startswith("sqlite"):
        raise SourceRefused(
            "--from: these users are in a PostgreSQL database, so the URL begins with postgresql://"
        )
    address = _parse(url)
    if _is_same(address, url, own_url):
        raise SourceRefused("the source is the database of this service itself")
    if address.dialect == "postgresql":
        # A pooler may be in front of the other database, so it is read as if there were one.
        engine = patient_postgresql_engine(address.target, CONNECT_WITHIN, pooled=True, timeout=read_within)
    else:
        engine = foreign_sqlite_engine(address.target)
    try:
        connection = await _connected(engine, address)
        try:
            tables = await _described(connection, address, schema)
            if tables.keys() >= OWN_TABLES:
                raise SourceRefused(
                    f"{address.label} is a Gatewright database: use `gatewright export users` there"
                )
            yield SourceDatabase(connection, tables, address.label, schema)
        finally:
            await connection.close()
    finally:
        await engine.dispose()


def _parse(url: str) -> Address:
    try:
        address = parse(url)
    except ValueError as error:
        raise SourceRefused(f"--from: {error}") from None
    # SQLite's own error for a missing file does not name it.
    if address.dialect == "sqlite" and not os.path.isfile(address.target):
        raise SourceRefused(f"--from: the file {address.target} does not exist")
    return address


def _is_same(address: Address, url: str, own_url: str) -> bool:
    own = parse(own_url)
    if address.dialect != own.dialect:
        return False
    if address.dialect == "sqlite":
        return os.path.exists(own.target) and os.path.samefile(address.target, own.target)
    return _place(own_url) == _place(url)


def _place(url: str) -> tuple[str, int, str]:
    parsed = make_url(url)
    host = parsed.host or "localhost"
    # The names of the loopback address count as one host, so that the check is not passed by another spelling.
    return ("localhost" if host in ("127.0.0.1", "::1") else host, parsed.port or 5432, parsed.database or "")


async def _connected(engine: AsyncEngine, address: Address) -> AsyncConnection:
    with _refusing(f"{address.label} cannot be opened"):
        connection = await engine.connect()
        if address.dialect == "postgresql":
            # One snapshot for all pages and tables: the other program may go on writing meanwhile.
            await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            # A row-level security policy would hide users silently. With this setting, the server raises an error.
            await connection.execute(select(func.set_config("row_security", "off", True)))
        return connection


async def _described(
    connection: AsyncConnection, address: Address, schema: str | None
) -> dict[str, dict[str, Any]]:
    def describe(sync: Any) -> dict[str, dict[str, Any]]:
        inspector = inspect(sync)
        return {
            name: {each["name"]: each["type"] for each in inspector.get_columns(name, schema)}
            for name in inspector.get_table_names(schema)
        }

    with _refusing(f"{address.label} cannot be read"):
        return await connection.run_sync(describe)


@contextmanager
def _refusing(problem: str) -> Iterator[None]:
    try:
        yield
    except TimeoutError as fault:
        raise SourceRefused(f"{problem}: the server does not respond") from fault
    except (SQLAlchemyError, UnicodeError, *FAULTS) as fault:
        raise SourceRefused(f"{problem}: {first_line(fault)}") from fault


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _is_key(name: str) -> bool:
    return _plain(name) in ("id", "userid", "referenceid", "organizationid", "teamid")


def flag(value: Any) -> object:
    """Convert 0 and 1 to a boolean; return anything else unchanged."""
    # SQLite has no booleans and returns 0 or 1.
    return bool(value) if isinstance(value, int) and value in (0, 1) else value


def instant(value: Any) -> object:
    """Convert a number of seconds or milliseconds since 1970 to a time; return anything else unchanged."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    try:
        milliseconds = int(value if abs(value) >= _MILLISECONDS_FROM else value * 1000)
        moment: datetime = from_milliseconds(milliseconds)
    except (OverflowError, ValueError):  # Infinity, NaN, and years out of range
        return value
    return moment


def instant_in_text(value: Any) -> object:
    """Convert a number, or the text of a whole number, of seconds or milliseconds since 1970 to a time."""
    return instant(int(value) if isinstance(value, str) and value.isdecimal() else value)
