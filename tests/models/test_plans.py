"""How the statements of the service are planned where tables are large: by an index, never by sorting all of it."""

import importlib
import json
import pkgutil
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import asyncpg
import pytest
from sqlalchemy import BindParameter, LargeBinary
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.sql import visitors

import models
from domain.mail import outbox
from models.base import Instant
from models.oauth_client import CLIENT_BY_ID
from models.oauth_token_query import TOKEN_BY_DIGEST
from models.queries import ReadStatement
from models.sign_in_query import sign_in_row_by
from server.components import cleanup
from server.database.compile import compile_in_list, compile_read, compile_two, compile_unnest
from tests import oauth_codes
from tests.handlers import steps
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.models import crowd, journey
from tests.postgres import Cluster
from tests.service import START, close_service, open_service

pytestmark = pytest.mark.long

Dialect = Literal["sqlite", "postgresql"]

GENERIC = ("SET plan_cache_mode = force_generic_plan", "SET enable_seqscan = off", "SET jit = off")
"""What the connections for reading are set to; behind a pooler they are as the server makes them."""

FEW = ("MEMBERSHIPS_OF_USER", "PUBLISHED_KEYS")
"""Reads that are let off: they put the few memberships of one user in order, and the few keys of the service."""

QUERIES: dict[str, ReadStatement[Any]] = {
    **{
        name: value
        for module in pkgutil.iter_modules(models.__path__, "models.")
        if not module.ispkg
        for name, value in vars(importlib.import_module(module.name)).items()
        if isinstance(value, ReadStatement) and name not in FEW
    },
    "who signs in by address": sign_in_row_by("email", 20),
    "who signs in by name": sign_in_row_by("username", 20),
    "the first mail that is due": outbox.mails_for("file").first,
    "the first request that is due": outbox.unresolved().first,
}
BATCHED = {name: query for name, query in QUERIES.items() if query.key is not None}

STATES = {"the first mail that is due": "queued", "the first request that is due": "unresolved"}
DIALECT = PGDialect_asyncpg()

VERBS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
SELDOM = ("OFFSET", "ORDER BY counter.key", "FROM webhook_endpoint", "FROM pg_inherits")
"""Words of the statements that are let off: the requests beyond the limit are counted, in a flood alone; the few counts
of one user are put in order, so that no two transactions wait for each other; of endpoints there are at most 50; and
the list of partitions is read by the clean-up."""

NEVER_LET_OFF = "INSERT INTO session"
"""How a new session is stored, which asks in passing whether the user has as many as they may."""

OF_APPLICATIONS = (
    *("oauth_request", "oauth_code", "oauth_grant", "oauth_token", "oauth_consent"),
    *("device_request", "logout_delivery"),
)
"""Tables that grow with what applications do, each of which the journey writes."""

OLDEST_FIRST = "WITH"
"""How the statements begin that take the oldest rows of a span of time. Not knowing the span, PostgreSQL supposes that
in tables as small as these it holds so few rows that to sort them costs nothing."""

CLEANING = "WITH batch"
"""How the statements begin that remove rows by the hundred. In tables as small as these to read everything once is
cheaper than to look up each of them, so that has to be forbidden to see what is done in large ones."""


@dataclass
class Seen:
    """What a service has asked of its database, each statement once, and with the values of one time."""

    statements: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def frequent(self) -> dict[str, tuple[Any, ...]]:
        """Those that read or write rows, but for the seldom ones."""
        return {
            statement: values
            for statement, values in self.statements.items()
            if statement.startswith(NEVER_LET_OFF)
            or (statement.startswith(VERBS) and not any(word in statement for word in SELDOM))
        }

    def note(self, statement: str, values: Sequence[Any]) -> AbstractContextManager[None]:
        """Remember a statement as the driver gets it."""
        self.statements.setdefault(statement, tuple(values))
        return nullcontext()


@dataclass
class Place:
    """A database full of other people, and what a journey through the service has asked of it."""

    url: str
    seen: Seen


def value_for(name: str) -> str | bytes | datetime:
    """Return what a read is asked for."""
    parameters = [one for one in visitors.iterate(QUERIES[name].statement) if isinstance(one, BindParameter)]
    for parameter in parameters:
        if parameter.key == "value" and isinstance(parameter.type, LargeBinary):
            return b"x" * 32
        if parameter.key == "value" and isinstance(parameter.type, Instant):
            return START
    return STATES.get(name, "person1")


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a node of a plan of PostgreSQL, and all below it."""
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


def flaws(plan: dict[str, Any]) -> list[str]:
    """Return what in a plan of PostgreSQL takes longer with every row that is there."""
    return [
        f"{node['Node Type']} {node.get('Relation Name', '')}".strip()
        for node in nodes(plan)
        if "Sort" in node["Node Type"]
        or node["Node Type"] == "Seq Scan"
        or (node["Node Type"] in {"Index Scan", "Index Only Scan"} and "Index Cond" not in node)
    ]


def writing(table: str) -> Callable[[str], bool]:
    """Return whether a statement writes a table."""
    pattern = re.compile(rf"(INSERT INTO|UPDATE|DELETE FROM) {table}\b")
    return lambda statement: pattern.search(statement) is not None


async def make_place(dialect: Dialect, url: str, directory: Path, provider: ProviderProcess) -> Place:
    """Fill a migrated database, and do on it all that users do."""
    seen = Seen()
    provider.reset(now=START.timestamp())
    overrides = {
        "limits.requests": "0",
        "log.level": "error",
        **oauth_codes.SETTINGS,
        **social_settings(provider),
    }
    service = await open_service(url, directory, overrides)
    try:
        for statement in crowd.statements(dialect):
            await steps.execute(service, statement)
        service.services.database.hook = seen.note
        await journey.live(service, provider)
        await cleanup.run(
            service.services.database, service.clock, "an instance", lambda _: timedelta(days=1)
        )
    finally:
        await close_service(service)
    return Place(url, seen)


@pytest.fixture(scope="module")
async def on_postgresql(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory, provider_process: ProviderProcess
) -> Place:
    """A PostgreSQL database."""
    url = cluster.create(migrated=True)
    return await make_place("postgresql", url, tmp_path_factory.mktemp("plans"), provider_process)


@pytest.fixture(scope="module")
async def on_sqlite(tmp_path_factory: pytest.TempPathFactory, provider_process: ProviderProcess) -> Place:
    """A SQLite file."""
    directory = tmp_path_factory.mktemp("plans")
    url = f"sqlite:///{directory / 'gatewright.db'}"
    return await make_place("sqlite", url, directory, provider_process)


class TestPostgresql:
    async def test_every_statement_of_a_transaction(self, on_postgresql: Place) -> None:
        connection = await asyncpg.connect(on_postgresql.url)
        found = {}
        for statement, values in on_postgresql.seen.frequent.items():
            await connection.execute(f"SET enable_seqscan = {not statement.startswith(CLEANING)}")
            found[statement] = await _explained(connection, f"EXPLAIN (FORMAT JSON) {statement}", *values)
        await connection.close()

        assert len(found) > 60
        assert any(statement.startswith(NEVER_LET_OFF) for statement in found)
        assert {table for table in OF_APPLICATIONS if not any(map(writing(table), found))} == set()
        assert {statement: found[statement] for statement in found if found[statement]} == {}

    async def test_every_statement_of_a_transaction_whatever_its_values(self, on_postgresql: Place) -> None:
        # PostgreSQL may plan a statement so after it was asked five times on one connection.
        connection = await asyncpg.connect(on_postgresql.url)
        await connection.execute("SET plan_cache_mode = force_generic_plan")
        found = {}
        for statement, values in on_postgresql.seen.frequent.items():
            if not statement.startswith(OLDEST_FIRST):
                found[statement] = await _for_all(connection, statement, len(values))
        await connection.close()

        assert len(found) > 50
        assert {statement: found[statement] for statement in found if found[statement]} == {}

    @pytest.mark.parametrize("name", QUERIES)
    async def test_every_read_alone(self, on_postgresql: Place, name: str) -> None:
        prepared = compile_read(QUERIES[name], DIALECT)

        assert await _read(on_postgresql, prepared.sql, prepared.arguments({"value": value_for(name)})) == (
            [],
            [],
        )

    @pytest.mark.parametrize("name", BATCHED)
    async def test_every_read_of_many(self, on_postgresql: Place, name: str) -> None:
        prepared = compile_unnest(BATCHED[name], DIALECT)

        assert await _read(on_postgresql, prepared.sql, prepared.arguments({"value": [value_for(name)]})) == (
            [],
            [],
        )

    async def test_a_token_with_the_client_that_asks(self, on_postgresql: Place) -> None:
        prepared = compile_two(TOKEN_BY_DIGEST, CLIENT_BY_ID, DIALECT)
        values = prepared.arguments({"value": [b"x" * 32], "other": ["app_x"]})

        assert await _read(on_postgresql, prepared.sql, values) == ([], [])

    async def test_who_signs_in_is_found_without_the_rows_of_their_sessions(
        self, on_postgresql: Place
    ) -> None:
        """How many there are stands in the index, as soon as PostgreSQL has cleaned up behind their writers."""
        prepared = compile_read(sign_in_row_by("email", 20), DIALECT)
        connection = await asyncpg.connect(on_postgresql.url)
        await connection.execute("VACUUM session")
        await connection.execute("SET enable_seqscan = off")
        [[found]] = await connection.fetch(
            f"EXPLAIN (FORMAT JSON) {prepared.sql}", *prepared.arguments({"value": "person1@example.com"})
        )
        await connection.close()

        of_sessions = [
            node for node in nodes(json.loads(found)[0]["Plan"]) if node.get("Relation Name") == "session"
        ]
        assert [node["Node Type"] for node in of_sessions] == ["Index Only Scan"]


async def _read(place: Place, sql: str, values: tuple[Any, ...]) -> tuple[list[str], list[str]]:
    """Return the flaws of a plan made once for all values, and of one made for these."""
    connection = await asyncpg.connect(place.url)
    for_these = await _explained(connection, f"EXPLAIN (FORMAT JSON) {sql}", *values)
    for setting in GENERIC:
        await connection.execute(setting)
    for_all = await _for_all(connection, sql, len(values))
    await connection.close()
    return for_all, for_these


async def _for_all(connection: Any, sql: str, values: int) -> list[str]:
    """Return the flaws of the plan that is made once, without looking at any of so many values."""
    await connection.execute(f"PREPARE asked AS {sql}")
    nothing = f"({', '.join(['NULL'] * values)})" if values else ""
    found = await _explained(connection, f"EXPLAIN (FORMAT JSON) EXECUTE asked{nothing}")
    await connection.execute("DEALLOCATE asked")
    return found


async def _explained(connection: Any, statement: str, *values: Any) -> list[str]:
    [[found]] = await connection.fetch(statement, *values)
    return flaws(json.loads(found)[0]["Plan"])


class TestSqlite:
    def test_every_statement_of_a_transaction(self, on_sqlite: Place) -> None:
        with closing(sqlite3.connect(on_sqlite.url.removeprefix("sqlite:///"))) as connection:
            found = {
                statement: _flaws_on_sqlite(connection, statement, values)
                for statement, values in on_sqlite.seen.frequent.items()
            }

        assert len(found) >= 60
        assert {statement: found[statement] for statement in found if found[statement]} == {}

    @pytest.mark.parametrize("name", QUERIES)
    def test_every_read(self, on_sqlite: Place, name: str) -> None:
        prepared = compile_read(QUERIES[name], SQLiteDialect_pysqlite())

        with closing(sqlite3.connect(on_sqlite.url.removeprefix("sqlite:///"))) as connection:
            found = _flaws_on_sqlite(connection, prepared.sql, prepared.arguments({"value": "x"}))

        assert found == []

    @pytest.mark.parametrize("count", [1, 4, 32])
    @pytest.mark.parametrize("name", BATCHED)
    def test_every_read_of_many(self, on_sqlite: Place, name: str, count: int) -> None:
        sql = compile_in_list(BATCHED[name], SQLiteDialect_pysqlite(), count)
        values = tuple(f"x{number}" for number in range(count))

        with closing(sqlite3.connect(on_sqlite.url.removeprefix("sqlite:///"))) as connection:
            found = _flaws_on_sqlite(connection, sql, values)

        assert found == []


def _flaws_on_sqlite(connection: sqlite3.Connection, statement: str, values: tuple[Any, ...]) -> list[str]:
    """Return the steps of a plan of SQLite that take longer with every row that is there."""
    steps_ = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    # The rows of a co-routine come from steps of their own, which are looked at as well.
    own = {step.replace("CO-ROUTINE", "SCAN") for step in steps_ if step.startswith("CO-ROUTINE")}
    return [step for step in steps_ if (step.startswith("SCAN") and step not in own) or "TEMP B-TREE" in step]
