"""Ten thousand rows whose time is over, in every table that has such rows (R41)."""

import asyncio
from collections import Counter as Counts
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Boolean, Integer, LargeBinary, Table
from sqlmodel import SQLModel

from models import MailState, OneTimeToken, Outbox, Purpose, metadata
from models.base import Instant, tables
from models.daily_count import DailyCount
from models.statements import table_of
from server.components import cleanup
from tests.handlers.steps import bearer, code, join, sign_in
from tests.labs.faults.places import IS_LONG, Place
from tests.rows import insert_many
from tests.service import START, Service, running_service

MANY = 10_000 if IS_LONG else 2_000
BATCH = 500
LONG_AGO = START - timedelta(days=800)
FAR_AHEAD = LONG_AGO + timedelta(days=36_500)
PARENT = "o"
OWNERS = ("user", "session")
"""The tables with a row of the one user, to whom the other rows belong."""

Row = dict[str, Any]


def _times(**more: Any) -> Row:
    return {"created_at": LONG_AGO, "updated_at": LONG_AGO, "expires_at": LONG_AGO, **more}


def _row(model: type[SQLModel], owners: Row, number: int) -> Row:
    """Return the columns of a row; the one it belongs to is among `owners` by its table, or has the key `o`."""
    row: Row = {}
    needed = {"user_id", *(one.moment for one in getattr(model, "__retention__", ()))}
    for column in table_of(model).columns:
        if column.name not in needed and (column.nullable or column.server_default is not None):
            continue
        if column.foreign_keys:
            [key] = column.foreign_keys
            row[column.name] = owners.get(key.column.table.name, PARENT)
        elif isinstance(column.type, Instant):
            row[column.name] = LONG_AGO
        elif isinstance(column.type, LargeBinary):
            row[column.name] = b"%d" % number
        elif isinstance(column.type, Boolean | Integer):
            row[column.name] = 1
        else:
            row[column.name] = str(number)
    return row


def _parent(model: type[SQLModel], owners: Row) -> Row:
    """Return the row to which others belong; it is not over."""
    kept = {one.moment: FAR_AHEAD for one in getattr(model, "__retention__", ())}
    [key] = table_of(model).primary_key.columns
    return {**_row(model, owners, 0), key.name: PARENT, **kept}


def _parents(models: Iterable[type[SQLModel]]) -> list[type[SQLModel]]:
    """Return the tables but those of the owners to which rows of the tables must belong, each after its own parents."""
    needed: set[Table] = set()
    waiting = [table_of(model) for model in models]
    while waiting:
        above = {
            key.column.table
            for column in waiting.pop().columns
            if not column.nullable
            for key in column.foreign_keys
            if key.column.table.name not in OWNERS
        }
        waiting += above - needed
        needed |= above
    models_by_table = {table_of(model): model for model in tables()}
    return [models_by_table[table] for table in metadata.sorted_tables if table in needed]


def _is_cleaned(table: type[SQLModel]) -> bool:
    """Return whether rows are removed after a fixed time; where a setting says the time, they are kept here."""
    declared = getattr(table, "__retention__", ())
    return bool(declared) and not any(isinstance(one.keep, str) for one in declared)


def _rows(owners: Row) -> dict[type[SQLModel], Callable[[int], Row]]:
    """Return by table what makes one row that is over, in every table that says how long it keeps its rows.

    Described here are those of which not all rows are removed; in the others any value will do.
    """
    kept = [table for table in tables() if _is_cleaned(table)]
    return {
        **{table: partial(_row, table, owners) for table in kept},
        OneTimeToken: lambda n: _times(digest=b"%d" % n, purpose=Purpose.RESET, user_id=owners["user"], attempts=0),
        DailyCount: lambda n: {
            "day": LONG_AGO - timedelta(days=n), "event": "sign_out", "way_in": "", "code": "", "count": 1
        },
        Outbox: lambda n: _times(
            id=f"m{n}", state=MailState.SENT, template="t", sender="file", attempts=1, next_attempt=LONG_AGO
        ),
    }  # fmt: skip


@pytest.fixture
async def crowded(place: Place) -> AsyncIterator[Service]:
    """A service with one user, and with ten thousand rows that are over in each table."""
    async with running_service(place.url, place.directory, {"limits.enabled": "false"}) as service:
        await join(service)
        owners = {table: (await service.rows(f'SELECT id FROM "{table}"'))[0][0] for table in OWNERS}
        async with service.services.database.transaction() as db:
            for parent in _parents(_rows(owners)):
                await insert_many(db, parent, [_parent(parent, owners)])
            for model, row in _rows(owners).items():
                await insert_many(db, model, [row(number) for number in range(MANY)])
        yield service


@contextmanager
def removals(service: Service) -> Iterator[Counts[str]]:
    """Count the statements of the clean-up by table."""
    counted: Counts[str] = Counts()

    def count(statement: str, _: Sequence[object]) -> AbstractContextManager[None]:
        if "WITH batch" in statement:
            counted[statement.partition("DELETE FROM ")[2].split()[0].strip('"')] += 1
        return nullcontext()

    service.services.database.hook = count
    yield counted
    service.services.database.hook = None


@pytest.mark.threat("R41")
class TestCleanup:
    """Everything that is over goes, in steps so short that nobody waits for them."""

    async def test_rows_go_in_short_transactions_and_users_go_on(self, crowded: Service) -> None:
        is_over, told = asyncio.Event(), list[str]()

        async def keep_signing_in() -> None:
            while not is_over.is_set():
                told.append(code(await sign_in(crowded)))

        token = (await sign_in(crowded)).json()["token"]
        listed = await crowded.get("/list-sessions", headers=bearer(token))
        guest = asyncio.create_task(keep_signing_in())
        with removals(crowded) as counted:
            removed = await cleanup.delete_expired(crowded.services.database, START)
        is_over.set()
        await guest

        assert len(listed.json()) == 2
        assert removed == dict.fromkeys((model.__tablename__ for model in _rows(dict.fromkeys(OWNERS))), MANY)
        # What a table keeps for different times goes one after the other: mails that were sent and that failed.
        times = {"outbox": 2, "grant": 3}
        assert counted == {table: MANY // BATCH + times.get(table, 1) for table in removed}
        assert set(told) == {"200"}
        assert len(told) > len(counted)
