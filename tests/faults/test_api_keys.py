"""Verification of API keys while PostgreSQL stops and comes back, and by several instances."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text

from tests.faults.asking import UNAVAILABLE, until
from tests.faults.engines import OwnCluster, restart
from tests.handlers.steps import code, join
from tests.service import VERIFIER, Service, close_service, open_service

BEARER = {"Authorization": f"Bearer {VERIFIER}"}
SETTINGS = {"limits.enabled": "false", "secrets": "s" * 32, "database.timeout": "2s"}
USES = 10_000


@pytest.fixture
def server() -> Iterator[OwnCluster]:
    """A PostgreSQL of these tests alone."""
    cluster = OwnCluster()
    cluster.start()
    yield cluster
    cluster.stop()


async def key_of_ada(service: Service, **body: object) -> dict[str, str]:
    """Return a new key of a user who may set everything, with its text."""
    ada = await join(service)
    async with service.services.database.transaction() as db:
        await db.execute(text("UPDATE \"user\" SET role = 'admin'"))
    made: dict[str, str] = (await service.post("/api-key/create", body, headers=ada)).json()
    return {**made, **ada}


async def verify(service: Service, key: str) -> httpx.Response:
    return await service.post("/api-key/verify", {"key": key}, headers=BEARER)


@pytest.mark.threat("KEY8")
async def test_no_use_is_counted_twice_or_given_away_by_a_restart(server: OwnCluster, tmp_path: Path) -> None:
    service = await open_service(server.create(migrated=True), tmp_path, SETTINGS)
    key = await key_of_ada(service, remaining=USES)
    told: Counter[str] = Counter()

    async def ask() -> None:
        while not done.is_set():
            answer = await verify(service, key["key"])
            if answer.status_code == 200:
                assert answer.json()["valid"] is True
                told["valid"] += 1
            else:
                assert answer.headers["retry-after"]
                told[code(answer)] += 1
            await asyncio.sleep(0.01)

    done = asyncio.Event()
    asking = [asyncio.create_task(ask()) for _ in range(6)]

    async def is_served() -> bool:
        return told["valid"] >= wanted

    wanted = 20
    await until(is_served)
    await restart(server)
    wanted = told["valid"] + 20
    await until(is_served)
    done.set()
    await asyncio.gather(*asking)

    ((remaining,),) = await service.rows("SELECT remaining FROM api_key")
    await close_service(service)
    assert set(told) == {"valid", UNAVAILABLE}
    # A use whose answer was lost with the connection may be gone; none was given twice.
    assert told["valid"] <= USES - remaining <= told["valid"] + told[UNAVAILABLE]


@pytest.mark.threat("KEY7", "KEY8")
async def test_instances_count_and_refuse_together(server: OwnCluster, tmp_path: Path) -> None:
    url = server.create(migrated=True)
    one, other = [await open_service(url, tmp_path, SETTINGS) for _ in range(2)]
    key = await key_of_ada(one, remaining=20)

    answers = await asyncio.gather(*(verify(each, key["key"]) for each in (one, other) * 25))

    assert Counter(answer.json()["valid"] for answer in answers) == {True: 20, False: 30}
    owner = {"Authorization": key["Authorization"]}
    for change, verdict in (({"remaining": 5}, None), ({"enabled": False}, "KEY_DISABLED")):
        await one.post("/api-key/update", {"keyId": key["id"], **change}, headers=owner)
        error = (await verify(other, key["key"])).json()["error"]
        assert (error and error["code"]) == verdict
    await one.post("/api-key/delete", {"keyId": key["id"]}, headers=owner)
    assert (await verify(other, key["key"])).json()["error"]["code"] == "INVALID_API_KEY"
    for each in (one, other):
        await close_service(each)
