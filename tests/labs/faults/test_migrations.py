"""Releases that meet: one that migrates while another serves, and one that is too old for the schema (R22, R23)."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from domain.admin import impersonation
from models import metadata
from models.account import PASSWORD_BY_EMAIL
from models.api_key import KEY_BY_DIGEST
from models.one_time_token import ONE_TIME_TOKEN_BY_DIGEST
from models.queries import ReadStatement
from models.session import IMPERSONATOR_OF_SESSION, SESSION_BY_DIGEST
from models.sign_in_query import sign_in_row_by
from server.database.database import Database, open_database
from server.database.migrations import prepare, run_alone
from server.database.schema import SchemaRefused, current_is_head, head, is_usable
from tests.conftest import MakeService
from tests.handlers.steps import code
from tests.labs.faults import releases
from tests.labs.faults.asking import UNAVAILABLE, measured, until
from tests.labs.faults.places import DEADLINE, IS_LONG, LONG, Place, Visitor, place_of
from tests.labs.faults.releases import NEXT
from tests.models.test_migrations import upgrade
from tests.postgres import Cluster
from tests.server.database.test_migrations import set_revision
from tests.server.terminal import complaint
from tests.service import Service

GUESTS = 6
"""Clients that go on as long as the migration takes."""
READING = 'SELECT count(*) FROM "grant"'
USERS = 1_000_000 if IS_LONG else 20_000
LONGEST_WAIT = 1.0
"""Seconds that a migration may keep a change waiting."""
MORE = 10
"""Rounds that each of them makes after it."""


@pytest.fixture(params=[pytest.param("sqlite", marks=LONG), "postgresql"])
def dialect(request: pytest.FixtureRequest) -> str:
    """The database; PostgreSQL has the locks that a migration could hold for too long."""
    return str(request.param)


@pytest.fixture
async def old_database(cluster: Cluster) -> AsyncIterator[Database]:
    """A PostgreSQL database with the oldest schema."""
    database = await open_database(cluster.create(), pool_size=5, timeout=DEADLINE)
    await run_alone(database, lambda connection: upgrade(connection, "0001"))
    yield database
    await database.close()


async def is_waited_for(database: Database) -> bool:
    """Return whether a statement on this PostgreSQL database waits for a lock."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    async with database.transaction() as session:
        return bool(await session.execute(text(waiting)))


async def is_readable(database: Database) -> bool:
    """Return whether a request for the table gets an answer before the database's time is over."""
    try:
        async with database.transaction() as request:
            await request.execute(text(READING))
    except DBAPIError:
        return False
    return True


async def fill(database: Database, users: int) -> None:
    """Create users, each with a session, in the oldest schema."""
    values = "now() AS created_at, now() AS updated_at"
    async with database.transaction() as db:
        for statement in (
            f"""INSERT INTO "user" (id, name, email, email_verified, two_factor_enabled, role, banned, created_at,
                updated_at) SELECT 'u' || n, 'Ada', n || '@example.com', true, false, 'user', false, {values}
                FROM generate_series(1, {users}) n""",
            f"""INSERT INTO session (id, user_id, token_digest, remembered, method, expires_at, created_at, updated_at)
                SELECT 's' || n, 'u' || n, n::text::bytea, true, 'password', now(), {values}
                FROM generate_series(1, {users}) n""",
        ):
            await db.execute(text(statement).execution_options(in_thread=True))


async def change(database: Database) -> float:
    """Change a user and a session as the service does, and return the seconds that took."""
    began = time.perf_counter()
    async with database.transaction() as db:
        await db.execute(text("UPDATE \"user\" SET name = 'Eve', updated_at = now() WHERE id = 'u1'"))
        await db.execute(text("UPDATE session SET updated_at = now() WHERE id = 's1'"))
    return time.perf_counter() - began


async def read(database: Database, statement: str) -> list[tuple[Any, ...]]:
    async with database.transaction() as db:
        return [tuple(row) for row in await db.execute(text(statement))]


async def migrated_to(place: Place, revision: str) -> None:
    """Install the schema of this release, and another release's name for it."""
    database = await open_database(place.url, pool_size=3, timeout=5)
    await prepare(database, "auto")
    await set_revision(database, revision)
    await database.close()


async def be_served(visitor: Visitor, name: str, told: Counter[str], over: asyncio.Event) -> None:
    """Do what users do, again and again, and count the answers by what they say of a fault."""
    more = MORE
    while more:
        more -= over.is_set()
        number = told.total()
        joined = await visitor.sign_up(f"{name}-{number}@example.com")
        answers = [
            joined,
            await visitor.get("/get-session", joined.json().get("token", "")),
            await visitor.sign_in(f"{name}-{number}@example.com"),
            await visitor.get("/ready"),
        ]
        told.update(answer.text if answer.is_error else "no fault" for answer in answers)


@pytest.mark.threat("R22")
class TestNewerRelease:
    """A newer release migrates while this one serves."""

    async def test_two_migrate_at_once_and_nobody_who_is_served_notices(
        self, place: Place, tmp_path: Path
    ) -> None:
        release = releases.newer(tmp_path / "newer")
        told, over = Counter[str](), asyncio.Event()

        with place.serving() as live:
            async with Visitor(live) as visitor:
                guests = [
                    asyncio.create_task(be_served(visitor, f"guest{number}", told, over))
                    for number in range(GUESTS)
                ]
                migrations = [
                    releases.run(place.directory, place.settings(), "migrate", release=release)
                    for _ in range(2)
                ]
                ended = await asyncio.gather(*migrations)
                over.set()
                await asyncio.gather(*guests)

        assert [(one.status, one.output) for one in ended] == [
            (0, "The database schema is up to date.\n")
        ] * 2
        assert set(told) == {"no fault"}
        assert live.output.faults() == []
        assert [row.version_num for row in await place.rows("SELECT version_num FROM alembic_version")] == [
            NEXT
        ]

    async def test_a_migration_that_waits_lets_requests_pass(self, old_database: Database) -> None:
        """A backup reads a table for an hour; a column cannot be added in that time, but the table can be used."""
        async with old_database.transaction() as backup:
            # Without a snapshot, for which the creation of indexes would wait before.
            await backup.execute(text('LOCK TABLE "grant" IN ACCESS SHARE MODE'))
            migrating = asyncio.create_task(prepare(old_database, "auto"))
            await until(partial(is_waited_for, old_database))
            has_passed = await is_readable(old_database)
            is_waiting = not migrating.done()
        await asyncio.wait_for(migrating, DEADLINE)

        assert (has_passed, is_waiting) == (True, True)
        assert await current_is_head(old_database)

    async def test_users_are_changed_while_their_indexes_are_built(self, old_database: Database) -> None:
        """A build waits for older snapshots, here that of a backup; nobody waits for the build."""
        await fill(old_database, 1)
        backup = await asyncpg.connect(old_database.address.target)
        try:
            async with backup.transaction(isolation="repeatable_read"):
                await backup.fetch('SELECT 1 FROM "user"')
                migrating = asyncio.create_task(prepare(old_database, "auto"))
                await until(partial(is_waited_for, old_database))
                changed = await change(old_database)
                is_waiting = not migrating.done()
            await asyncio.wait_for(migrating, DEADLINE)
        finally:
            await backup.close()

        assert changed < LONGEST_WAIT
        assert is_waiting
        assert await current_is_head(old_database)

    async def test_no_change_waits_for_a_second(self, old_database: Database) -> None:
        await fill(old_database, USERS)
        migrating = asyncio.create_task(prepare(old_database, "auto"))
        waits = [await change(old_database)]
        while not migrating.done():
            waits.append(await change(old_database))

        await migrating
        measured(f"R22 longest change while {USERS:,} users are migrated", max(waits))
        assert max(waits) < LONGEST_WAIT

    async def test_a_read_that_waits_for_users_holds_no_other_table(self, old_database: Database) -> None:
        """A migration locks users first; it would deadlock with reads that hold what it changes next."""
        await prepare(old_database, "auto")
        others = ", ".join(f'"{name}"' for name in metadata.tables if name != "user")
        reads: list[tuple[ReadStatement[Any], object]] = [
            (SESSION_BY_DIGEST, b""),
            (ONE_TIME_TOKEN_BY_DIGEST, b""),
            (KEY_BY_DIGEST, b""),
            (IMPERSONATOR_OF_SESSION, ""),
            (PASSWORD_BY_EMAIL, ""),
            (sign_in_row_by("email", 100), ""),
        ]
        for query, value in reads:
            async with old_database.transaction() as migration:
                await migration.execute(text('LOCK TABLE "user" IN ACCESS EXCLUSIVE MODE'))
                reading = asyncio.ensure_future(old_database.reads.one(query, value))
                await until(partial(is_waited_for, old_database))
                await migration.execute(text(f"LOCK TABLE {others} IN ACCESS EXCLUSIVE MODE NOWAIT"))
            assert await reading is None

    @pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
    async def test_neither_does_the_list_of_impersonations(self, service: Service) -> None:
        database = service.services.database
        others = ", ".join(f'"{name}"' for name in metadata.tables if name != "user")
        async with database.transaction() as migration:
            await migration.execute(text('LOCK TABLE "user" IN ACCESS EXCLUSIVE MODE'))
            reading = asyncio.ensure_future(service.services.unit_of_work.run(impersonation.running))
            await until(partial(is_waited_for, database))
            await migration.execute(text(f"LOCK TABLE {others} IN ACCESS EXCLUSIVE MODE NOWAIT"))
        assert await reading == []

    async def test_an_index_whose_build_was_interrupted_is_built_again(self, old_database: Database) -> None:
        interrupted = (
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ix_user_role_created_at_id'::regclass"
        )
        async with old_database.transaction() as db:
            await db.execute(text('CREATE INDEX ix_user_role_created_at_id ON "user" (role)'))
            await db.execute(text(interrupted))

        await prepare(old_database, "auto")

        rows = await read(old_database, "SELECT count(*) FROM pg_index WHERE NOT indisvalid")
        assert rows == [(0,)]

    @pytest.mark.parametrize("revision", ["0001", "0005", "0006", "0007", "0008"])
    async def test_an_old_database_gets_the_indexes_of_a_new_one(
        self, old_database: Database, cluster: Cluster, revision: str
    ) -> None:
        await run_alone(old_database, lambda connection: upgrade(connection, revision))
        await prepare(old_database, "auto")
        new = await open_database(cluster.create(migrated=True), pool_size=3, timeout=DEADLINE)

        indexes = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname"
        keys = "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype <> 'n' ORDER BY conname"
        found = [[await read(one, query) for query in (indexes, keys)] for one in (old_database, new)]
        await new.close()
        assert found[0] == found[1]

    async def test_a_migration_that_waits_for_too_long_says_for_what(self, old_database: Database) -> None:
        async with old_database.transaction() as backup:
            await backup.execute(text(READING))

            with pytest.raises(SchemaRefused, match="another transaction has been using a table"):
                await prepare(old_database, "auto", patience=0)

        assert not await is_usable(old_database)


@pytest.mark.threat("R23")
class TestNewerSchema:
    """A newer schema meets this release."""

    @pytest.mark.parametrize("words", [["serve", "--port", "0"], pytest.param(["migrate"], marks=LONG)])
    async def test_a_start_is_refused_and_says_why(self, tmp_path: Path, words: list[str]) -> None:
        place = Place(tmp_path, f"sqlite:///{tmp_path / 'gatewright.db'}")
        await migrated_to(place, NEXT)

        ended = await releases.run(place.directory, place.settings(), *words)

        assert (ended.status, complaint(ended.output)) == (
            1,
            f"the database schema is at {NEXT}, which this program does not know (it knows {head()}):"
            " the schema is newer than the program",
        )

    @pytest.mark.parametrize(
        ("dialect", "damage"),
        [("sqlite", "DELETE FROM alembic_version"), ("postgresql", 'DROP TABLE "lease"')],
    )
    async def test_a_start_on_half_a_schema_ends_with_one_line(
        self, request: pytest.FixtureRequest, dialect: str, tmp_path: Path, damage: str
    ) -> None:
        """All damages, in all ways to start, are tested on both databases in tests/server/database."""
        place = place_of(request, dialect, tmp_path)
        await migrated_to(place, head())
        await place.rows(damage)

        ended = await releases.run(place.directory, place.settings(), "serve", "--port", "0")

        assert ended.status == 1
        assert "begin with an empty database" in complaint(ended.output)
        assert "\n" not in complaint(ended.output)

    @pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
    async def test_it_is_not_ready_without_a_table(self, make_cold_service: MakeService) -> None:
        service = await make_cold_service()
        before = await service.get("/ready")
        async with service.services.database.transaction() as session:
            await session.execute(text("DROP TABLE known_network"))

        after = await service.get("/ready")

        assert (before.status_code, code(after)) == (200, UNAVAILABLE)

    async def test_who_has_started_before_goes_on(self, service: Service) -> None:
        await set_revision(service.services.database, NEXT)

        ready = await service.get("/ready")
        await set_revision(service.services.database, "0001")
        older = await service.get("/ready")

        await set_revision(service.services.database, head())
        assert (ready.status_code, older.status_code) == (200, 503)
