"""What may happen to PostgreSQL and does no more harm than a 503: R1 to R4, R7 and R9 of the fault list.

One process of the service goes through all of it and is never started again.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import asyncpg
import httpx
import pytest
from sqlalchemy import String, bindparam, column, func, make_url, select

from domain.errors import Unavailable
from models import Session
from models.queries import ReadStatement
from server.database.database import open_database
from tests.conftest import Headers
from tests.handlers.steps import ADA, code, count, join, sign_in, until_blocked
from tests.labs.faults.asking import (
    PLAIN,
    TIMEOUT,
    UNAVAILABLE,
    Asker,
    Load,
    asking,
    descriptors,
    measured,
    told,
    until,
)
from tests.labs.faults.engines import OwnCluster, relayed, restart
from tests.labs.faults.places import IS_LONG, LONG
from tests.live import LiveService, Output, launch, serving
from tests.proxy import Proxy
from tests.service import Service, running_service

POOL = 5
SETTINGS = {**PLAIN, "database.pool_size": str(POOL), "database.timeout": "2s", "session.update_age": "0s"}
"""Sessions are extended at every use, so that each look at one would write."""


@pytest.fixture(scope="module")
def url(server: OwnCluster) -> str:
    """The address of the service's database."""
    return server.create(migrated=True)


@pytest.fixture(scope="module")
def service(server: OwnCluster, url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """The service, started once."""
    with serving(tmp_path_factory.mktemp("service"), {**SETTINGS, "database_url": url}) as service:
        yield service


@pytest.fixture
async def asker(service: LiveService) -> AsyncIterator[Asker]:
    """A client, once everything is well; after each test everything is well again."""
    async with asking(service) as asker:
        await until(lambda: asker.answers(200, "/ready"))
        yield asker
        await until(lambda: asker.answers(200, "/ready"))
        await until(asker.writes)
        assert service.process.poll() is None


@pytest.fixture
async def ada(asker: Asker) -> tuple[str, Headers]:
    """A user: the address, and the headers of a session."""
    return await asker.join()


@dataclass(frozen=True)
class Conflicts:
    """Conflicts that are made: the first so many changes of a user fail, whoever makes them."""

    server: OwnCluster
    url: str

    async def run(self, *statements: str) -> list[Any]:
        """Run statements in the service's database."""
        return await self.server.run(*statements, url=self.url)

    async def set(self, times: int) -> None:
        """Make the next changes, this many, fail."""
        await self.run("DELETE FROM conflict", f"INSERT INTO conflict VALUES ({times})")

    async def tries(self) -> int:
        """Return how often a change was tried."""
        [row] = await self.run("SELECT last_value FROM tries")
        return int(row[0])


async def everything(asker: Asker, ada: tuple[str, Headers], times: int) -> list[str]:
    """Send many requests at once, some that read and some that write; return their answers."""
    email, headers = ada
    asked = [
        request
        for _ in range(times)
        for request in (
            asker.get("/get-session", headers),
            asker.get("/list-sessions", headers),
            asker.sign_in(email),
            asker.sign_up(asker.address()),
            asker.post("/update-user", {"name": "Ada L."}, headers),
            asker.post("/request-password-reset", {"email": email}),
        )
    ]
    return sorted(told(await asyncio.gather(*asked)))


async def missing(server: OwnCluster, url: str, emails: list[str]) -> list[str]:
    """Return which of these users the database does not have, with their password."""
    rows = await server.run(
        """SELECT email FROM "user" JOIN account ON account.user_id = "user".id""", url=url
    )
    return sorted(set(emails) - {row[0] for row in rows})


@pytest.mark.threat("R1")
class TestRestart:
    """The server restarts under load."""

    async def test_a_restart_under_load_costs_503_and_no_write(
        self,
        server: OwnCluster,
        url: str,
        service: LiveService,
        asker: Asker,
        ada: tuple[str, Headers],
    ) -> None:
        load = Load(asker, ada[1])

        async with load.running():
            for _ in range(10 if IS_LONG else 2):
                await load.until("200")
                await asyncio.to_thread(server.halt)
                measured("R1 first 503 after the stop", await load.until(UNAVAILABLE, 1))
                await load.until(UNAVAILABLE)
                assert (await asker.get("/ok")).status_code == 200
                assert (await asker.get("/ready")).status_code == 503
                await asyncio.to_thread(server.resume)
                measured("R1 first success after the start", await load.until("200", 1))
                measured("R1 /ready after the start", await until(lambda: asker.answers(200, "/ready")))

        measured("R1 slowest request", load.slowest)
        assert set(load.told) == {"200", UNAVAILABLE}
        assert await missing(server, url, load.kept) == []
        assert await server.connections() <= POOL
        logged = "".join(service.output.lines)
        print("R1 reasons:", *sorted(set(re.findall(r'"reason":"([^"]*)"', logged))), sep="\n  ")
        assert re.search(r'"service_unavailable",.*"reason":"ConnectionRefusedError"', logged)
        assert re.search(r'"service.not_ready","reason":"ConnectionRefusedError"', logged)

    async def test_dead_connections_are_dropped_unseen(
        self, server: OwnCluster, url: str, asker: Asker, ada: tuple[str, Headers]
    ) -> None:
        """A restart that nobody saw costs nobody anything: the first request afterwards is served."""
        waiting = "SELECT id FROM outbox WHERE state IN ('unresolved', 'queued')"

        async def is_quiet() -> bool:
            return not await server.run(waiting, url=url)

        assert await everything(asker, ada, 3) == ["200"]
        # Mail under way would see the restart, and the whole pool would be dropped for it.
        await until(is_quiet)
        # It leaves its connection at hand for who comes next.
        assert code(await asker.sign_in(ada[0])) == "200"
        await restart(server)

        assert code(await asker.sign_in(ada[0])) == "200"
        assert await everything(asker, ada, 1) == ["200"]
        assert await server.connections() <= POOL


Ask = Callable[[], Awaitable[httpx.Response]]


async def are_served(ask: Ask) -> bool:
    """Return whether eight requests at once are."""
    return set(told(await asyncio.gather(*(ask() for _ in range(8))))) == {"200"}


async def end_all(server: OwnCluster, service: Service, relay: Proxy) -> None:
    """Terminate every connection of a service at the server; return once each is closed."""
    name = make_url(service.services.settings.database_url.get_secret_value()).database
    relay.ends = 0
    [row] = await server.run(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        f" WHERE application_name = 'gatewright' AND datname = '{name}'"
    )

    async def all_told() -> bool:
        return relay.ends >= int(row[0])

    await until(all_told)


ASKED: tuple[tuple[str, str, dict[str, str] | None], ...] = (
    ("GET", "/get-session", None),
    ("GET", "/list-sessions", None),
    ("GET", "/ready", None),
    ("POST", "/update-user", {"name": "Ada L."}),
    ("POST", "/revoke-other-sessions", {}),
    ("POST", "/request-password-reset", {"email": ADA}),
)


@pytest.mark.threat("R1")
class TestEndedConnections:
    """The server has ended a connection, and the end of the stream is still on its way (or a relay keeps it).

    The driver has met an error that nobody asked for; a statement that begins now fails by an error of its own.
    """

    async def test_what_begins_before_the_end_has_come_is_told_to_wait(
        self, server: OwnCluster, tmp_path: Path
    ) -> None:
        async with relayed(server.create(migrated=True), tmp_path) as (service, relay):
            relay.hold_ends()
            ada = await join(service)
            for method, path, body in ASKED:
                ask = partial(service.client.request, method, path, headers=ada, json=body)
                await until(partial(are_served, ask))
                await end_all(server, service, relay)
                refused = await asyncio.gather(*(ask() for _ in range(8)))

                assert set(told(refused)) <= {"200", UNAVAILABLE}
                assert UNAVAILABLE in told(refused), path
                assert {each.headers["retry-after"] for each in refused if each.status_code == 503} == {"5"}
                await until(partial(are_served, ask))
            # A connection whose end is held back is ended with the relay.
            await relay.stop()

    async def test_connections_that_end_under_load_cost_503_and_no_write(
        self,
        server: OwnCluster,
        url: str,
        asker: Asker,
        ada: tuple[str, Headers],
    ) -> None:
        load = Load(asker, ada[1])

        async with load.running(8):
            for _ in range(200 if IS_LONG else 20):
                await load.until("200", 8)
                await server.run(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gatewright'"
                )

        assert set(load.told) == {"200", UNAVAILABLE}
        assert await missing(server, url, load.kept) == []


@contextmanager
def starting(directory: Path, url: str) -> Iterator[LiveService]:
    """Start a service without waiting until it serves."""
    process = launch(directory, {**SETTINGS, "database_url": url}, "--port", "0")
    assert process.stdout is not None
    output = Output()
    reader = Thread(target=output.read, args=(process.stdout,))
    reader.start()
    try:
        yield LiveService("", process, output)
    finally:
        process.terminate()
        process.wait(TIMEOUT)
        reader.join()
        process.stdout.close()


async def line(service: LiveService, event: str) -> dict[str, Any]:
    """Return what the log says of an event, once it says it."""
    found = await asyncio.to_thread(service.output.wait_for, rf"^\{{[^\n]*\"{event}\"[^\n]*\}}$")
    told: dict[str, Any] = json.loads(found[0])
    return told


@pytest.mark.threat("R2")
class TestAbsentAtStart:
    """The database is away when the service starts."""

    async def test_the_service_waits_says_so_and_serves_when_it_comes(
        self, server: OwnCluster, tmp_path: Path
    ) -> None:
        url = server.create()
        await asyncio.to_thread(server.halt)
        with starting(tmp_path, url) as service:
            try:
                waiting = await line(service, "database.awaited")
            finally:
                await asyncio.to_thread(server.resume)
            began = time.monotonic()
            started = await line(service, "service.started")
            measured("R2 served after the database came", time.monotonic() - began)

            async with httpx.AsyncClient(base_url=f"http://{started['address']}") as client:
                assert (await client.get("/ready")).status_code == 200
        assert (waiting["level"], waiting["reason"]) == ("warning", "ConnectionRefusedError")
        assert service.process.returncode == 0

    @LONG
    @pytest.mark.parametrize("fault", ["stopped", "frozen"])
    async def test_after_half_a_minute_it_gives_up_with_one_clear_line(
        self, server: OwnCluster, tmp_path: Path, fault: str
    ) -> None:
        url = server.create()
        await asyncio.to_thread(server.halt if fault == "stopped" else server.freeze)
        began = time.monotonic()
        try:
            with starting(tmp_path, url) as service:
                status = await asyncio.to_thread(service.process.wait, TIMEOUT * 2)
        finally:
            await asyncio.to_thread(server.resume if fault == "stopped" else server.thaw)

        measured("R2 until the service gave up", time.monotonic() - began)
        line, _ = [line for line in service.output.lines if line.startswith("gatewright: ")]
        assert status == 1
        assert "cannot be used after 30 s of trying" in line
        assert not [line for line in service.output.lines if "Traceback" in line]


@pytest.mark.threat("R3")
class TestSilentServer:
    """The server takes connections and answers nothing."""

    async def test_waiting_ends_and_nothing_piles_up(
        self, server: OwnCluster, service: LiveService, asker: Asker, ada: tuple[str, Headers]
    ) -> None:
        await everything(asker, ada, 3)
        before = descriptors(service)
        server.freeze()
        began = time.monotonic()
        try:
            rounds = asyncio.create_task(self.rounds(asker, ada))
            while not rounds.done():
                assert (await asker.get("/ok")).status_code == 200
                assert (await asker.get("/ready")).status_code == 503
            outcomes = await rounds
        finally:
            server.thaw()

        measured("R3 hanging", time.monotonic() - began)
        assert outcomes == [UNAVAILABLE]
        measured("R3 first success afterwards", await until(asker.writes))
        assert await everything(asker, ada, 3) == ["200"]
        # Its own client keeps some connections open, and so do SQLAlchemy's pool and the read connections.
        assert descriptors(service) <= before + 20
        assert await server.connections() <= POOL

    async def rounds(self, asker: Asker, ada: tuple[str, Headers]) -> list[str]:
        """Ask in rounds, for a minute in the long form; give what was told."""
        outcomes: set[str] = set()
        end = time.monotonic() + (60 if IS_LONG else 0)
        while not outcomes or time.monotonic() < end:
            outcomes.update(await everything(asker, ada, 10))
        return sorted(outcomes)

    async def test_tasks_do_not_pile_up(self, server: OwnCluster, tmp_path: Path) -> None:
        """In this process, where tasks can be counted; there is no client here that keeps connections."""
        settings = {**PLAIN, "database.timeout": "1s"}
        headers = {"Authorization": f"Bearer {'x' * 32}"}
        async with running_service(server.create(migrated=True), tmp_path, settings) as service:
            await service.get("/get-session", headers=headers)
            before = len(asyncio.all_tasks())
            server.freeze()
            try:
                for _ in range(3):
                    asked = [service.get("/get-session", headers=headers) for _ in range(20)]
                    asked += [
                        service.post("/request-password-reset", {"email": "ada@example.com"})
                        for _ in range(20)
                    ]
                    assert set(told(await asyncio.gather(*asked))) == {UNAVAILABLE}
            finally:
                server.thaw()

            async def only_those_from_before() -> bool:
                return len(asyncio.all_tasks()) <= before

            await until(only_those_from_before)


@pytest.mark.threat("R4")
class TestFullPool:
    """More requests that wait than there are connections."""

    async def test_two_hundred_wait_in_line_and_nobody_for_ever(
        self, server: OwnCluster, url: str, asker: Asker, ada: tuple[str, Headers]
    ) -> None:
        """Each waits for the row that somebody else has locked; readers have connections of their own."""
        holder = await asyncpg.connect(url)
        held = holder.transaction()
        await held.start()
        await holder.execute('SELECT * FROM "user" WHERE email = $1 FOR UPDATE', ada[0])
        try:
            crowd = [
                asyncio.create_task(asker.post("/update-user", {"name": f"Ada {n}"}, {**ada[1]}))
                for n in range(200)
            ]
            await asyncio.wait(crowd, return_when=asyncio.FIRST_COMPLETED)
            assert (await asker.get("/ok")).status_code == 200
            assert (await asker.get("/ready")).status_code == 200
            refused = await asyncio.gather(*crowd)
        finally:
            await held.rollback()
            await holder.close()

        assert set(told(refused)) == {UNAVAILABLE}
        assert await server.connections() <= POOL

    async def test_so_do_those_who_wait_to_begin_with_a_command(
        self, server: OwnCluster, tmp_path: Path
    ) -> None:
        """Their line is the pool's own. One has its turn; if nobody gave up, each would, one after the other."""
        url = server.create(migrated=True)
        settings = {**PLAIN, "database.pool_size": "4", "database.timeout": "2s"}
        operator = await asyncpg.connect(url)
        async with running_service(url, tmp_path, settings) as service:
            ada = await join(service)
            async with operator.transaction():
                await operator.execute('SELECT * FROM "user" FOR UPDATE')
                asked = [service.post("/update-user", {"name": f"Ada {n}"}, headers=ada) for n in range(12)]

                assert told(await asyncio.gather(*asked)) == {UNAVAILABLE: 12}
                assert service.services.database.pool_state().timeouts > 6
        await operator.close()

    async def test_a_short_wait_is_served(
        self, server: OwnCluster, asker: Asker, ada: tuple[str, Headers]
    ) -> None:
        crowd = [asker.post("/update-user", {"name": f"Ada {n}"}, ada[1]) for n in range(60)]

        answers = told(await asyncio.gather(*crowd))

        assert set(answers) <= {"200", UNAVAILABLE}
        assert answers["200"] >= POOL
        assert await server.connections() <= POOL


@pytest.fixture
async def conflicts(server: OwnCluster, url: str) -> AsyncIterator[Conflicts]:
    """What makes the database refuse changes of a user as if another transaction had been faster."""
    conflicts = Conflicts(server, url)
    await conflicts.run(
        "CREATE SEQUENCE tries",
        "CREATE TABLE conflict (times INTEGER)",
        """CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF nextval('tries') <= (SELECT times FROM conflict) THEN
               RAISE EXCEPTION 'somebody was faster' USING ERRCODE = 'serialization_failure';
             END IF;
             RETURN NEW;
           END $$""",
        'CREATE TRIGGER conflict BEFORE UPDATE ON "user" FOR EACH ROW EXECUTE FUNCTION conflict()',
    )
    yield conflicts
    await conflicts.run("DROP FUNCTION conflict CASCADE", "DROP TABLE conflict", "DROP SEQUENCE tries")


@pytest.mark.threat("R7")
class TestConflicts:
    """Serialization faults and deadlocks."""

    @pytest.mark.parametrize(("number", "told"), [(3, "200"), (1000, UNAVAILABLE)])
    async def test_three_conflicts_are_not_seen_and_more_are_a_503(
        self, asker: Asker, ada: tuple[str, Headers], conflicts: Conflicts, number: int, told: str
    ) -> None:
        await conflicts.set(number)

        answer = await asker.post("/update-user", {"name": "Ada L."}, ada[1])

        assert code(answer) == told
        assert await conflicts.tries() == 4

    async def test_the_loser_of_a_deadlock_tries_again(self, server: OwnCluster, tmp_path: Path) -> None:
        """The service locks the user, then the sessions; an operator does it the other way round, and is let win."""
        url = server.create(migrated=True)
        name = url.rpartition("/")[2]
        await server.run(f"ALTER DATABASE {name} SET deadlock_timeout = '4s'")
        operator = await asyncpg.connect(url, server_settings={"deadlock_timeout": "60s"})
        async with running_service(url, tmp_path, {**PLAIN, "database.timeout": "60s"}) as service:
            ada = await join(service)
            async with operator.transaction():
                await operator.execute("SELECT * FROM session FOR UPDATE")
                revoking = asyncio.create_task(service.post("/revoke-sessions", headers=ada))
                await until_blocked(service)
                await operator.execute("""UPDATE "user" SET name = 'Ada L.'""")

            assert (await revoking).status_code == 200
            [row] = await server.run(f"SELECT deadlocks FROM pg_stat_database WHERE datname = '{name}'")
            assert await count(service, Session) == 0
            assert row[0] >= 1
        await operator.close()

    async def test_a_stricter_database_is_not_noticed(self, server: OwnCluster, tmp_path: Path) -> None:
        """Whatever isolation is the database's default: all that is asked at once for one user is done.

        Nothing is written under another isolation than the service's own, which is not left to what is tried again.
        """
        url = server.create(migrated=True)
        name = url.rpartition("/")[2]
        await server.run(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
        await server.run(
            """CREATE FUNCTION insist() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 IF current_setting('transaction_isolation') <> 'read committed' THEN
                   RAISE EXCEPTION 'written under another isolation';
                 END IF;
                 RETURN NEW;
               END $$""",
            *(
                f'CREATE TRIGGER insist BEFORE INSERT OR UPDATE ON "{table}"'
                " FOR EACH ROW EXECUTE FUNCTION insist()"
                for table in ("user", "account", "session", "audit", "known_network")
            ),
            url=url,
        )
        # Without webhooks a change of a user is one statement, in no transaction that would set its isolation.
        settings = {**PLAIN, "database.timeout": "60s", "webhooks.enabled": "false"}
        async with running_service(url, tmp_path, settings) as service:
            ada = await join(service)

            asked = [service.post("/update-user", {"name": f"Ada {n}"}, headers=ada) for n in range(20)]
            asked += [sign_in(service) for _ in range(20)]
            asked += [service.get("/list-sessions", headers=ada) for _ in range(20)]

            assert told(await asyncio.gather(*asked)) == {"200": 60}

    async def test_a_read_that_loses_is_a_503(self, server: OwnCluster) -> None:
        """A standby that has to change what somebody reads says so in the same words."""
        url = server.create()
        await server.run(
            """CREATE FUNCTION lose(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
                 RAISE EXCEPTION 'conflict with recovery' USING ERRCODE = 'serialization_failure';
               END $$""",
            url=url,
        )
        losing = select(func.lose(bindparam("value", type_=String())))
        database = await open_database(url, pool_size=3, timeout=5)
        asked = (
            database.reads.one(ReadStatement(losing, tuple, key=column("value", String())), "x"),
            database.reads.all(ReadStatement(losing, tuple), "x"),
        )

        outcomes = await asyncio.gather(*asked, return_exceptions=True)

        await database.close()
        assert [type(outcome) for outcome in outcomes] == [Unavailable] * 2


@asynccontextmanager
async def reading_only(server: OwnCluster) -> AsyncIterator[None]:
    """Make a server read-only, from one moment to the next."""
    await server.run("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
    try:
        yield
    finally:
        await server.run("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")


@pytest.mark.threat("R9")
class TestReadOnly:
    """The database can only be read."""

    async def test_what_reads_goes_on_and_what_writes_is_told_to_wait(
        self, server: OwnCluster, service: LiveService, asker: Asker, ada: tuple[str, Headers]
    ) -> None:
        """Afterwards no connection is stuck in what it was."""
        async with reading_only(server):
            await until(lambda: refuses(asker))
            await look_around(asker, ada)
        assert "25006 ReadOnlySQLTransactionError" in "".join(service.output.lines)
        measured("R9 first write afterwards", await until(asker.writes))

        answers = await asyncio.gather(*(asker.sign_up(asker.address()) for _ in range(POOL * 2)))

        assert told(answers) == {"200": POOL * 2}

    async def test_a_connection_that_cannot_write_is_dropped(
        self, server: OwnCluster, tmp_path: Path
    ) -> None:
        """Its server may be a primary no more, whatever stands between."""
        url = server.create(migrated=True)
        database = url.rpartition("/")[2]

        async def connections() -> set[int]:
            rows = await server.run(
                "SELECT pid FROM pg_stat_activity"
                f" WHERE application_name = 'gatewright' AND datname = '{database}'"
            )
            return {row[0] for row in rows}

        async def is_answered(post: Ask, told: str) -> bool:
            return code(await post()) == told

        async def are_dropped(before: set[int]) -> bool:
            return bool(before - await connections())

        async with running_service(url, tmp_path, PLAIN) as service:
            ada = await join(service)
            for _, path, body in ASKED[3:]:
                post = partial(service.post, path, body, headers=ada)
                await until(partial(is_answered, post, "200"))
                before = await connections()
                async with reading_only(server):
                    await until(partial(is_answered, post, UNAVAILABLE))
                    await until(partial(are_dropped, before))

    async def test_a_standby_takes_over(
        self, server: OwnCluster, url: str, asker: Asker, ada: tuple[str, Headers]
    ) -> None:
        """Nothing is asked of the standby; once it is promoted it serves everything."""
        await asyncio.to_thread(server.fail_over)
        assert await everything(asker, ada, 3) == [UNAVAILABLE]
        assert code(await asker.get("/ready")) == UNAVAILABLE
        assert await server.connections() == 0
        await asyncio.to_thread(server.promote)
        measured("R9 first write to the promoted standby", await until(asker.writes))

        assert await everything(asker, ada, 1) == ["200"]
        assert await missing(server, url, [ada[0]]) == []
        assert await server.connections() <= POOL


async def refuses(asker: Asker) -> bool:
    """Return whether nobody can sign up."""
    return code(await asker.sign_up(asker.address())) == UNAVAILABLE


async def look_around(asker: Asker, ada: tuple[str, Headers]) -> None:
    """See what a database that is only read leaves; the session is due for extension, which is skipped."""
    email, headers = ada
    for path in ("/get-session", "/list-sessions", "/ready", "/ok"):
        assert (await asker.get(path, headers)).status_code == 200
    for answer in (
        await asker.sign_in(email),
        await asker.sign_up(asker.address()),
        await asker.post("/update-user", {"name": "Ada L."}, headers),
        await asker.post("/request-password-reset", {"email": email}),
    ):
        assert code(answer) == UNAVAILABLE
