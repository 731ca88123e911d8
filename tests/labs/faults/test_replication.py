"""Row R46: commits wait for a synchronous standby that does not answer.

PostgreSQL makes such a commit visible when its wait is cancelled, and its session outlives the connection. One service
in this process goes through it; an absent standby needs no second server.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.conftest import Headers
from tests.handlers.steps import code, join, user_of
from tests.labs.faults.asking import PLAIN, UNAVAILABLE, measured, until
from tests.labs.faults.engines import OwnCluster, Replica, relayed
from tests.labs.faults.test_failover import catch_up
from tests.service import Service, running_service

POOL = 5
WRITERS = 2
"""Of so many connections two read, and one is left to searches."""
SETTINGS = {**PLAIN, "database.pool_size": str(POOL), "database.timeout": "2s"}


@pytest.fixture
async def url(server: OwnCluster) -> AsyncIterator[str]:
    """The address of the service's database; afterwards no commit waits for a standby, and nobody is connected."""
    yield server.create(migrated=True)
    await find_standby(server)

    async def is_left() -> bool:
        return await server.connections() == 0

    await until(is_left)


@pytest.fixture
async def service(url: str, tmp_path: Path) -> AsyncIterator[Service]:
    """A service on it."""
    async with running_service(url, tmp_path, SETTINGS) as service:
        yield service


async def lose_standby(server: OwnCluster) -> None:
    """Make every commit from now on wait for a standby that is not there."""
    await server.run("ALTER SYSTEM SET synchronous_standby_names = 'absent'", "SELECT pg_reload_conf()")

    async def is_known() -> bool:
        [row] = await server.run("SHOW synchronous_standby_names")
        return str(row[0]) == "absent"

    await until(is_known)
    # The checkpointer tells the other processes to wait, and reads the new setting before it makes a checkpoint.
    await server.run("CHECKPOINT")


async def find_standby(server: OwnCluster) -> None:
    """Make commits wait for no standby, as Patroni does once it has dropped one."""
    await server.run("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")


async def waiting(server: OwnCluster) -> int:
    """Return how many sessions wait for a standby."""
    [row] = await server.run("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    return int(row[0])


async def users(server: OwnCluster, url: str, pattern: str) -> int:
    """Return how many users with such an address are visible."""
    [row] = await server.run(f"""SELECT count(*) FROM "user" WHERE email LIKE '{pattern}'""", url=url)
    return int(row[0])


async def name_of(server: OwnCluster, url: str) -> str:
    """Return the name of the only user."""
    [row] = await server.run('SELECT name FROM "user"', url=url)
    return str(row[0])


def rename(service: Service, headers: Headers, name: str) -> "asyncio.Task[object]":
    """Begin to rename a user."""
    return asyncio.create_task(service.post("/update-user", {"name": name}, headers=headers))


async def sign_up(service: Service, name: str) -> str:
    """Return what is answered to a sign-up."""
    email = f"{name}@example.com"
    body = {"name": "Grace", "email": email, "password": "correct horse battery staple"}
    return code(await service.post("/sign-up/email", body))


async def unanswered(service: Service, number: int) -> None:
    """Return once so many commits were not answered in time."""

    async def are_so_many() -> bool:
        return service.services.database.pool_state().unanswered == number

    await until(are_so_many)


@pytest.mark.threat("R46")
class TestAbsentStandby:
    async def test_clients_are_told_in_time_and_all_is_done_once_the_standby_is_back(
        self, server: OwnCluster, url: str, service: Service
    ) -> None:
        """No session is left behind, however many ask."""
        ada = await join(service)
        await lose_standby(server)
        most = 0

        for turn in range(3):
            began = time.monotonic()
            crowd = asyncio.gather(*(sign_up(service, f"grace-{turn}-{each}") for each in range(8)))
            while not crowd.done():
                most = max(most, await server.connections())
                assert code(await service.get("/get-session", headers=ada)) == "200"
            measured("R46 slowest refusal", time.monotonic() - began)
            assert set(await crowd) == {UNAVAILABLE}

        assert most <= POOL
        assert await waiting(server) == WRITERS
        assert service.services.database.pool_state().unanswered == WRITERS
        assert await users(server, url, "grace-%") == 0

        await find_standby(server)
        await unanswered(service, 0)

        assert await users(server, url, "grace-%") == WRITERS
        answers = await asyncio.gather(*(sign_up(service, f"again-{each}") for each in range(8)))
        assert set(answers) == {"200"}
        assert code(await service.get("/get-session", headers=ada)) == "200"
        assert await server.connections() <= POOL

    async def test_a_write_of_one_statement_keeps_its_place_too(
        self, server: OwnCluster, url: str, service: Service
    ) -> None:
        """What has no transaction around it is sent as one statement, whose commit waits alike."""
        ada = await join(service)
        await lose_standby(server)

        answers = [code(await rename(service, ada, "Ada L."))]  # type: ignore[arg-type]

        assert answers == [UNAVAILABLE]
        assert (await waiting(server), await name_of(server, url)) == (1, "Ada")
        await find_standby(server)
        await unanswered(service, 0)
        assert (await user_of(service, ada))["name"] == "Ada L."

    async def test_a_caller_who_leaves_cancels_nothing(
        self, server: OwnCluster, url: str, service: Service
    ) -> None:
        ada = await join(service)
        await lose_standby(server)
        asked = rename(service, ada, "Ada L.")

        async def waits() -> bool:
            return await waiting(server) == 1

        await until(waits)
        asked.cancel()
        await asyncio.wait([asked])

        await unanswered(service, 1)
        assert (await waiting(server), await name_of(server, url)) == (1, "Ada")
        await find_standby(server)
        await unanswered(service, 0)
        assert await name_of(server, url) == "Ada L."

    async def test_nor_does_a_service_that_stops(self, server: OwnCluster, url: str, tmp_path: Path) -> None:
        async with running_service(url, tmp_path, SETTINGS) as service:
            ada = await join(service)
            await lose_standby(server)
            refused = code(await rename(service, ada, "Ada L."))  # type: ignore[arg-type]

        assert refused == UNAVAILABLE
        # The rename, and what a service writes last: the counts of events.
        assert (await waiting(server), await name_of(server, url)) == (2, "Ada")
        await find_standby(server)

        async def is_done() -> bool:
            return await name_of(server, url) == "Ada L."

        await until(is_done)


@pytest.mark.threat("R46")
@pytest.mark.parametrize("is_frozen", [True, False], ids=["frozen", "cut off"])
async def test_after_a_failover_places_come_back_at_once(
    server: OwnCluster, url: str, tmp_path: Path, is_frozen: bool
) -> None:
    """Nothing closes the connections to the old server, which says nothing any more, or waits for ever."""
    replica = Replica(server)
    replica.start()
    try:
        async with relayed(url, tmp_path, SETTINGS) as (service, relay):
            await join(service)
            await catch_up(server, replica, place="replay")
            await lose_standby(server)
            refused = await asyncio.gather(*(sign_up(service, f"grace-{each}") for each in range(6)))
            await unanswered(service, WRITERS)

            if is_frozen:
                server.freeze()
            try:
                await asyncio.to_thread(replica.promote)
                standby = make_url(replica.url())
                relay.lead_to(str(standby.host), int(standby.port or 5432))

                async def writes() -> bool:
                    return await sign_up(service, "grace") == "200"

                measured("R46 first write at the new primary", await until(writes))
                assert set(refused) == {UNAVAILABLE}
                assert service.services.database.pool_state().unanswered == 0
                answers = await asyncio.gather(*(sign_up(service, f"again-{each}") for each in range(6)))
                assert set(answers) == {"200"}
            finally:
                if is_frozen:
                    server.thaw()
    finally:
        replica.stop()
