"""API keys while the database stops, is read-only or full of expired keys, while processes are killed, and by several
instances."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from server.jobs import cleanup
from tests.faults.asking import UNAVAILABLE, until
from tests.faults.engines import OwnCluster, restart
from tests.faults.places import IS_LONG, Place, Visitor
from tests.faults.test_database import reading_only
from tests.handlers.steps import code, join
from tests.live import LiveService, promote
from tests.service import VERIFIER, Service, close_service, open_service

BEARER = {"Authorization": f"Bearer {VERIFIER}"}
SETTINGS = {"limits.enabled": "false", "secrets": "s" * 32, "database.timeout": "2s"}
USES = 10_000
KILLS = 20 if IS_LONG else 3
SOME = 5
"""Answers that arrive before a kill."""
EXPIRED = 1_000_000 if IS_LONG else 20_000


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


@pytest.mark.threat("KEY24")
async def test_a_verifier_that_was_removed_is_refused_after_a_restart(place: Place) -> None:
    other = "w" * 40
    told: list[list[str]] = []
    for verifiers in (f"tests:{VERIFIER},mail:{other}", f"tests:{VERIFIER}"):
        settings = {**SETTINGS, "api_keys.verifiers": verifiers}
        service = await open_service(place.url, place.directory, settings)
        if not told:
            key = (await service.post("/api-key/create", {}, headers=await join(service))).json()["key"]
        headers = [BEARER, {"Authorization": f"Bearer {other}"}]
        answers = [await service.post("/api-key/verify", {"key": key}, headers=each) for each in headers]
        told.append([code(answer) for answer in answers])
        assert answers[0].json()["valid"] is True
        await close_service(service)

    assert told == [["200", "200"], ["200", "401 UNAUTHORIZED"]]


@pytest.mark.threat("R9")
async def test_of_a_database_that_is_only_read_keys_without_counters_are_valid(
    server: OwnCluster, tmp_path: Path
) -> None:
    service = await open_service(server.create(migrated=True), tmp_path, SETTINGS)
    plain = await key_of_ada(service)
    admin = {"Authorization": plain["Authorization"]}
    counted = (await service.post("/api-key/create", {"remaining": 5}, headers=admin)).json()

    async with reading_only(server):

        async def is_refused() -> bool:
            return code(await verify(service, counted["key"])) == UNAVAILABLE

        await until(is_refused)
        assert (await verify(service, plain["key"])).json()["valid"] is True
        with pytest.raises(Exception, match="read-only transaction"):
            await service.services.key_usage.write()

    async def is_served() -> bool:
        return (await verify(service, counted["key"])).status_code == 200

    await until(is_served)
    assert (await verify(service, plain["key"])).json()["key"]["lastRequest"] is None
    service.clock.advance(seconds=60)
    await verify(service, plain["key"])
    await service.services.key_usage.write()
    assert (await verify(service, plain["key"])).json()["key"]["lastRequest"] == "2026-01-01T12:01:00.000Z"
    ((remaining,),) = await service.rows("SELECT remaining FROM api_key WHERE remaining IS NOT NULL")
    await close_service(service)
    assert remaining == 4


@pytest.mark.threat("KEY8", "R18")
async def test_a_killed_process_takes_one_use_at_most(place: Place) -> None:
    """The one whose answer was on its way."""
    with serving_keys(place) as live:
        async with Visitor(live) as visitor:
            token = await administrator(place, visitor)
            key = (await visitor.post("/api-key/create", token, remaining=USES)).json()["key"]
    told = 0
    for kills in range(1, KILLS + 1):
        with serving_keys(place) as live:
            async with Visitor(live) as visitor:
                told += len(
                    await answered_until_killed(
                        live, partial(visitor.post, "/api-key/verify", VERIFIER, key=key)
                    )
                )
        [(remaining,)] = await place.rows("SELECT remaining FROM api_key")
        assert told <= USES - remaining <= told + kills


@pytest.mark.threat("R18")
async def test_a_key_whose_creation_was_killed_is_there_with_its_record_or_is_not(place: Place) -> None:
    told: set[str] = set()
    with serving_keys(place) as live:
        async with Visitor(live) as visitor:
            token = await visitor.join("ada@example.com")
    for _ in range(KILLS):
        with serving_keys(place) as live:
            async with Visitor(live) as visitor:
                made = await answered_until_killed(live, partial(visitor.post, "/api-key/create", token))
        told |= {answer["id"] for answer in made}
        stored = {row.id for row in await place.rows("SELECT id FROM api_key")}
        assert told <= stored == await recorded(place)

    with serving_keys(place) as live:
        async with Visitor(live) as visitor:
            listed = (await visitor.get("/api-key/list?limit=500", token)).json()["apiKeys"]
            unseen = [key["id"] for key in listed if key["id"] not in told]
            deleted = [await visitor.post("/api-key/delete", token, keyId=key) for key in unseen]
    assert {key["id"] for key in listed} == stored
    assert [answer.status_code for answer in deleted] == [200] * len(unseen)


def serving_keys(place: Place) -> AbstractContextManager[LiveService]:
    return place.serving({"api_keys.verifiers": f"tests:{VERIFIER}", "api_keys.limit_per_owner": "10000"})


async def administrator(place: Place, visitor: Visitor) -> str:
    """Return the token of a user who manages keys."""
    token = await visitor.join("root@example.com")
    await asyncio.to_thread(promote, "root@example.com", place.directory, place.settings())
    return token


async def answered_until_killed(
    live: LiveService, ask: Callable[[], Awaitable[httpx.Response]]
) -> list[dict[str, Any]]:
    """Ask one time after the other, and kill the process after some answers; return the answers that arrived."""
    answers: list[dict[str, Any]] = []

    async def go_on() -> None:
        while True:
            try:
                answer = await ask()
            except httpx.TransportError:
                return
            assert answer.status_code == 200, answer.text
            answers.append(answer.json())

    async def are_some() -> bool:
        return len(answers) >= SOME

    asking = asyncio.create_task(go_on())
    await until(are_some)
    live.process.kill()
    await asking
    await asyncio.to_thread(live.process.wait)
    return answers


async def recorded(place: Place) -> set[str]:
    """Return the ids of the keys whose creation the audit trail has."""
    rows = await place.rows("SELECT details FROM audit WHERE event = 'api_key.created'")
    details = [json.loads(row.details) if isinstance(row.details, str) else row.details for row in rows]
    return {each["key"] for each in details}


@pytest.fixture
async def crowded(place: Place) -> AsyncIterator[Service]:
    """A service whose table of keys is full of expired ones."""
    service = await open_service(place.url, place.directory, SETTINGS)
    await join(service, "eve@example.com")
    numbers = (
        "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :many)"
        if service.services.database.dialect == "sqlite"
        else "WITH numbers AS (SELECT n FROM generate_series(1, :many) n)"
    )
    digest = "CAST('d' || n AS BLOB)" if "RECURSIVE" in numbers else "('d' || n)::bytea"
    statement = (
        "INSERT INTO api_key (id, digest, kind, user_id, enabled, rate_limit_enabled, rate_limit_window_ms,"
        " rate_limit_max, request_count, expires_at, created_at, updated_at)"
        f" {numbers} SELECT 'k' || n, {digest}, 'default', u.id, true, false, 1000, 1, 0, u.created_at, u.created_at,"
        ' u.created_at FROM numbers, "user" u'
    )
    async with service.services.database.transaction() as db:
        await db.execute(text(statement).execution_options(in_thread=True), many=EXPIRED)
    yield service
    await close_service(service)


@pytest.mark.threat("R41")
async def test_expired_keys_go_while_others_are_verified(crowded: Service) -> None:
    key = (await key_of_ada(crowded))["key"]
    crowded.clock.advance(days=31)
    verdicts: list[bool] = []
    sweeping = asyncio.create_task(cleanup.sweep(crowded.services.database, crowded.clock()))

    while not sweeping.done():
        verdicts.append((await verify(crowded, key)).json()["valid"])

    assert (await sweeping)["api_key"] == EXPIRED
    assert set(verdicts) == {True}
    assert len(verdicts) > EXPIRED // 500
