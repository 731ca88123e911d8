"""Row R9: the address of the database leads to a standby for a while, as in a switchover or failover.

The standby lags behind: sessions that were ended at the primary are still alive there. One service in this process goes
through it behind a relay, and is never started again.
"""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from sqlalchemy import make_url

from server.clock import system_clock
from server.database.database import DatabaseAbsent, open_database
from server.database.postgresql.engine import postgresql_connect
from server.database.schema import is_usable
from server.doctor.examination import examine_database
from tests.conftest import Headers
from tests.handlers.steps import code, join, sign_in
from tests.labs.faults.asking import UNAVAILABLE, until, until_ready
from tests.labs.faults.engines import OwnCluster, Replica, relayed
from tests.pgbouncer import pooling
from tests.server.doctor.test_doctor import is_wrong, settings
from tests.service import Service


@pytest.fixture
def url(server: OwnCluster) -> str:
    """The address of the service's database at the primary."""
    return server.create(migrated=True)


@pytest.fixture
def replica(server: OwnCluster, url: str) -> Iterator[Replica]:
    """A standby that follows the primary."""
    replica = Replica(server)
    replica.start()
    yield replica
    replica.stop()


async def catch_up(server: OwnCluster, replica: Replica, *, place: str) -> None:
    """Return once the standby has received, or replayed, what the primary has written so far."""
    [row] = await server.run("SELECT pg_current_wal_flush_lsn()::text")

    async def has_it() -> bool:
        [there] = await replica.run(f"SELECT pg_last_wal_{place}_lsn() >= '{row[0]}'")
        return bool(there[0])

    await until(has_it)


async def told(service: Service, headers: Headers) -> dict[str, str]:
    """Return what is answered to somebody with a session, by what was asked; each thing is asked three times."""
    gets = ("/get-session", "/list-sessions", "/ready")
    answers = {path: {code(await service.get(path, headers=headers)) for _ in range(3)} for path in gets} | {
        "/update-user": {
            code(await service.post("/update-user", {"name": "Ada L."}, headers=headers)) for _ in range(3)
        },
        "/sign-in/email": {code(await sign_in(service)) for _ in range(3)},
    }
    return {path: " or ".join(sorted(codes)) for path, codes in answers.items()}


def everything(answer: str) -> dict[str, str]:
    """Return what `told` gives where everything is answered alike."""
    return dict.fromkeys(
        ("/get-session", "/list-sessions", "/ready", "/update-user", "/sign-in/email"), answer
    )


@pytest.mark.threat("R9")
class TestFailover:
    async def test_a_standby_that_lags_answers_nothing_and_serves_once_promoted(
        self, server: OwnCluster, replica: Replica, url: str, tmp_path: Path
    ) -> None:
        async with relayed(url, tmp_path) as (service, relay):
            ada, gone = await join(service), await join(service, "gone@example.com")
            assert await told(service, ada) == everything("200")
            await catch_up(server, replica, place="replay")
            await replica.run("SELECT pg_wal_replay_pause()")
            assert code(await service.post("/sign-out", headers=gone)) == "200"
            await catch_up(server, replica, place="receive")

            standby = make_url(replica.url())
            relay.lead_to(str(standby.host), int(standby.port or 5432))
            await relay.cut()
            revoked = [code(await service.get("/get-session", headers=gone)) for _ in range(3)]
            away = await told(service, ada)

            async def keeps_no_connection() -> bool:
                return await replica.connections() == 0

            await until(keeps_no_connection)  # One may just have been opened, and is about to be refused.

            await asyncio.to_thread(server.halt)
            await asyncio.to_thread(replica.promote)

            await until_ready(service)
            back = await told(service, ada)
            later = code(await service.get("/get-session", headers=gone))
            await asyncio.to_thread(server.resume)

        assert revoked == [UNAVAILABLE] * 3
        assert away == everything(UNAVAILABLE)
        assert back == everything("200")
        assert later == "401 UNAUTHORIZED"

    async def test_a_service_neither_starts_on_a_standby_nor_is_ready_where_a_pooler_leads_to_one(
        self, server: OwnCluster, replica: Replica, url: str, tmp_path: Path
    ) -> None:
        """What the pooler tells of its server may be old, and the service keeps its connections to the pooler."""
        await catch_up(server, replica, place="replay")
        there = make_url(replica.url(str(make_url(url).database))).render_as_string()
        with pytest.raises(DatabaseAbsent, match="the server is a standby"):
            await open_database(there, pool_size=3, timeout=5, patience=0)
        [directly] = await examine_database(settings(tmp_path, there), system_clock)
        with pooling(there, connections=2) as pooled:
            through = settings(tmp_path, pooled, **{"database.pooler": "transaction"})
            by_pooler = (await examine_database(through, system_clock))[0]
            opened = await open_database(pooled, pool_size=3, timeout=5, patience=0, pooled=True)
            try:
                before = await is_usable(opened)
                await asyncio.to_thread(replica.promote)
                after = await is_usable(opened)
            finally:
                await opened.close()

        assert is_wrong(directly, "it is read-only: a standby")
        assert is_wrong(by_pooler, "it is read-only: a standby")
        assert (before, after) == (False, True)

    async def test_doctor_says_to_any_role_that_commits_wait_for_no_standby(
        self, server: OwnCluster, replica: Replica, url: str, tmp_path: Path
    ) -> None:
        await server.run("CREATE ROLE ada LOGIN", "GRANT pg_read_all_data, pg_write_all_data TO ada")
        ada = make_url(url).set(username="ada").render_as_string()
        await catch_up(server, replica, place="replay")

        async def verdicts() -> list[tuple[str, str]]:
            found = await examine_database(settings(tmp_path, ada), system_clock)
            return [(each.check, each.verdict) for each in found if each.verdict != "ok"]

        async def are_synchronous() -> bool:
            return not await verdicts()

        asynchronous = await verdicts()
        await server.run("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        try:
            await until(are_synchronous)
            await server.run("ALTER ROLE ada SET synchronous_commit = 'local'")
            by_role = await verdicts()
        finally:
            await server.run("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")

        assert asynchronous == by_role == [("replication", "warning")]

    async def test_doctor_counts_the_processes_that_run(self, url: str, tmp_path: Path) -> None:
        """The server takes 50 connections, three of them from superusers only."""
        chosen = settings(tmp_path, url, **{"database.pool_size": "20"})
        before = await examine_database(chosen, system_clock)
        async with AsyncExitStack() as held:
            for _ in range(21):
                connection = await postgresql_connect(url, 5)(5)
                held.callback(connection.terminate)
            during = await examine_database(chosen, system_clock)

        assert "connections" not in {each.check for each in before}
        [finding] = [each for each in during if each.check == "connections"]
        assert finding.found.startswith("3 processes, one more than run now, need 60 connections")
