"""How SQLite finds users: by the indexes of what is searched for, whatever the number of users (row C11)."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Executable
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from domain.admin import search, user_access
from domain.admin.search import UserSearch
from domain.context import Caller, Context, RequestFacts
from domain.sessions import sessions
from server.database.compile import compile_statement
from tests.handlers.people import add_person
from tests.labs.bench.console import fill_sqlite
from tests.service import Service, running_service

MANY = 5000


@dataclass
class Recording:
    """A database that keeps the statements of searches."""

    database: Any
    statements: list[tuple[Executable, Mapping[str, object]]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    async def search(
        self, statements: Sequence[Executable], within: timedelta, *, is_scan: bool, **values: object
    ) -> Any:
        """Search, and keep the statements with their values."""
        self.statements += [(statement, values) for statement in statements]
        return await self.database.search(statements, within, is_scan=is_scan, **values)


async def plans(service: Service, path: Path, token: str, wanted: UserSearch) -> list[str]:
    """Return the steps of the plans of all statements of a search and of the columns of its list."""
    recording = Recording(service.services.database)

    async def job(ctx: Context, *, caller: Caller) -> None:
        resources = replace(ctx.resources, database=recording)
        recorded = Context(resources, ctx.facts._replace(caller=caller))
        found = await search.search_users(recorded, wanted)
        await user_access.methods_of(recorded, found.users)

    session, user = await _found(service, token)
    caller = Caller(token, session, user, by_cookie=False)
    await service.services.unit_of_work.run(
        partial(job, caller=caller), RequestFacts(service.clock(), caller=caller)
    )
    with closing(sqlite3.connect(path)) as file:
        return [
            str(step[3])
            for statement, values in recording.statements
            for step in _explained(file, statement, values)
        ]


async def _found(service: Service, token: str) -> Any:
    found = await sessions.find(service.services.database.reads, token)
    assert found is not None
    return found


def _explained(
    file: sqlite3.Connection, statement: Executable, values: Mapping[str, object]
) -> Iterable[Any]:
    compiled = compile_statement(statement, SQLiteDialect_pysqlite(), tuple(values))
    return file.execute(f"EXPLAIN QUERY PLAN {compiled.sql}", compiled.arguments(values))


@pytest.mark.threat("C11")
@pytest.mark.parametrize(
    "wanted",
    [
        UserSearch(text="somebody.77@"),
        UserSearch(text="somebody.77@", sort="name"),
        UserSearch(banned=True),
        UserSearch(banned=True, text="somebody.77@"),
        UserSearch(
            created_from=datetime(2026, 1, 1, tzinfo=UTC), created_before=datetime(2026, 1, 2, tzinfo=UTC)
        ),
    ],
    ids=["beginning", "beginning, by name", "banned", "banned, beginning", "created"],
)
async def test_no_search_by_an_index_reads_all_users(tmp_path: Path, wanted: UserSearch) -> None:
    path = tmp_path / "gatewright.db"
    async with running_service(f"sqlite:///{path}", tmp_path, {}) as service:
        admin = await add_person(service, "admin")
        await fill_sqlite(service, MANY)

        steps = await plans(service, path, admin.token, wanted)

    assert len(steps) > 5
    assert [
        step for step in steps if step in ("SCAN user", "SCAN user USING INDEX ix_user_created_at_id")
    ] == []
    assert [step for step in steps if "ix_audit_event_time (event=?)" in step] == []
