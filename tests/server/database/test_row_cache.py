"""Rows that recur: what was made of one is given again as long as each of its columns is the same, and no longer."""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import String, bindparam, delete, insert, select, update
from sqlmodel import col

from domain import tokens
from models import Session, User
from models.organization import Organization
from models.queries import ReadStatement, by
from models.session import SESSION_BY_DIGEST, SessionRow
from models.team import Team
from models.user import UserRow
from server.database.database import Database, open_database
from tests.postgres import Cluster
from tests.rows import NOW, WEEK, add, insert_many, session, user

MILLISECOND = timedelta(milliseconds=1)
TOKEN = "t"
DIGEST = tokens.digest(TOKEN)

TIED = frozenset({"id", "user_id"})
"""The columns that cannot change alone, or are in both tables; they have tests of their own."""

OF_SESSIONS = [name for name in SessionRow._fields if name not in TIED | {"token_copy"}]
OF_USERS = [name for name in UserRow._fields if name not in TIED]

COUNTS = (1, 2, 4, 8, 16, 32)
"""Values for which SQLite has a statement each."""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
async def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, migrated_file: Path
) -> AsyncIterator[Database]:
    """One database for all tests of this module."""
    if request.param == "postgresql":
        cluster: Cluster = request.getfixturevalue("cluster")
        url = cluster.create(migrated=True)
    else:
        url = f"sqlite:///{shutil.copy(migrated_file, tmp_path_factory.mktemp('remembered'))}"
    opened = await open_database(url, pool_size=3, timeout=60.0)
    yield opened
    await opened.close()


@pytest.fixture
async def signed_in(database: Database) -> Database:
    """The same with a session and its user, in which every column has a value."""
    ada = user(
        "ada", id="u", image="x", username="ada", display_username="Ada", ban_reason="rude", ban_expires=NOW
    )
    told = {
        "user_agent": "browser",
        "impersonated_by": "i",
        "active_organization_id": "o",
        "active_team_id": "t",
    }
    async with database.transaction() as db:
        await db.execute(delete(User))
        await db.execute(delete(Organization))
        for name in ("o", another("o")):
            db.add(
                Organization(id=name, name="Acme", slug=f"acme-{len(name)}", created_at=NOW, updated_at=NOW)
            )
        await db.flush()
        for name in ("t", another("t")):
            db.add(Team(id=name, organization_id="o", name="Sales", created_at=NOW))
        db.add(ada)
        for administrator in ("i", another("i")):
            db.add(user(administrator, id=administrator))
        await db.flush()
        db.add(session(ada, TOKEN, id="s", ip_address="::1", **told))
    return database


def another(value: Any) -> Any:
    """Return a value of the same kind that differs as little as can be."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, datetime):
        return value + MILLISECOND
    return f"{value}'"


async def asked_together(database: Database, query: ReadStatement[Any], values: list[str]) -> list[Any]:
    """Ask for all of them in one turn of the event loop, so that one statement answers them."""
    return list(await asyncio.gather(*(database.reads.one(query, value) for value in values)))


async def found(database: Database) -> tuple[SessionRow, UserRow]:
    """Read the session in both ways there are; they give the same."""
    one = await database.reads.one(SESSION_BY_DIGEST, DIGEST)
    assert one is not None
    assert await database.reads.all(SESSION_BY_DIGEST, DIGEST) == [one]
    return one


class TestAChangedColumnIsAnotherRow:
    """Each column by itself: whoever is banned or renamed, or whose session has ended, is so with the next request."""

    @pytest.mark.parametrize(
        ("table", "name"), [(Session, name) for name in OF_SESSIONS] + [(User, name) for name in OF_USERS]
    )
    async def test_of_session_and_user(self, signed_in: Database, table: type[Any], name: str) -> None:
        rows: dict[type[Any], Any] = dict(zip((Session, User), await found(signed_in), strict=True))
        changed = {name: another(getattr(rows[table], name))}

        async with signed_in.transaction() as db:
            await db.execute(update(table).where(col(table.id) == rows[table].id).values(changed))

        rows[table] = rows[table]._replace(**changed)
        assert await found(signed_in) == tuple(rows.values())

    async def test_the_id_of_the_session(self, signed_in: Database) -> None:
        before, owner = await found(signed_in)

        async with signed_in.transaction() as db:
            await db.execute(update(Session).values({col(Session.id): "s'"}))

        assert await found(signed_in) == (before._replace(id="s'"), owner)

    async def test_the_id_of_the_user(self, signed_in: Database) -> None:
        """The same address and name, and a session that looks the same, of somebody else."""
        before, owner = await found(signed_in)
        stored = {name: value for name, value in before._asdict().items() if name != "user_id"}

        async with signed_in.transaction() as db:
            await db.execute(delete(Session))
            await db.execute(update(User).where(col(User.id) == "u").values({col(User.id): "u'"}))
            values: dict[str, Any] = {**stored, "user_id": "u'", "token_digest": DIGEST, "method": "password"}
            await db.execute(insert(Session).values(values))

        assert await found(signed_in) == (before._replace(user_id="u'"), owner._replace(id="u'"))

    async def test_of_two_sessions_each_has_its_own(self, signed_in: Database) -> None:
        """Two that differ in nothing but their ids and their end."""
        before, _ = await found(signed_in)
        values = {**before._asdict(), "id": "s2", "expires_at": NOW + 2 * WEEK}
        other = tokens.digest("t2")

        async with signed_in.transaction() as db:
            await db.execute(insert(Session).values({**values, "token_digest": other, "method": "password"}))
        second = await signed_in.reads.one(SESSION_BY_DIGEST, other)

        assert second is not None
        assert (second[0].id, second[0].expires_at) == ("s2", NOW + 2 * WEEK)
        assert (await found(signed_in))[0] == before


async def test_a_row_is_remembered_once_whoever_else_asks_at_the_same_time(database: Database) -> None:
    """Not once for each number of values in a statement: of those there are six on SQLite."""
    ids = [f"many{number}" for number in range(max(COUNTS))]
    stamps = {"created_at": NOW, "updated_at": NOW}
    async with database.transaction() as db:
        await insert_many(
            db, User, [{"id": each, "name": each, "email": f"{each}@example.com", **stamps} for each in ids]
        )
    made: Counter[str] = Counter()

    def make(columns: Any) -> str:
        made[columns[0]] += 1
        return str(columns[0])

    wanted = col(User.id) == bindparam("value", type_=String())
    query = ReadStatement(select(col(User.id)).where(wanted), make, key=User.id, cacheable=True)

    for count in (*COUNTS, *COUNTS):
        assert await asked_together(database, query, ids[:count]) == ids[:count]

    assert made == dict.fromkeys(ids, 1)


async def test_a_row_with_bytes_is_made_once(database: Database) -> None:
    """JSON, which SQLite makes of a row, has no bytes."""
    owner = user("bytes")
    await add(database, owner, session(owner, "b" * 32))
    made: list[Any] = []

    def make(columns: Any) -> tuple[Any, ...]:
        made.append(tuple(columns))
        return tuple(columns)

    columns = (col(Session.token_digest), col(Session.token_copy))
    statement = select(*columns).where(by(Session.user_id))
    query = ReadStatement(statement, make, key=Session.user_id, cacheable=True)
    read = [await asked_together(database, query, [owner.id]) for _ in range(2)]

    assert read == [[(tokens.digest("b" * 32), None)]] * 2
    assert len(made) == 1
