"""API keys while the database stops, is read-only or full of expired keys, while processes are killed, and by several
instances."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from server.components import cleanup
from server.components.api_keys import ApiKeyUsage
from tests.handlers.steps import code, join, token_of
from tests.labs.faults.asking import UNAVAILABLE, until
from tests.labs.faults.engines import OwnCluster, restart
from tests.labs.faults.places import IS_LONG, Place, Visitor
from tests.labs.faults.test_database import reading_only
from tests.live import LiveService
from tests.service import Service, running_service
from tests.settings.api_keys import VERIFIER

BEARER = {"Authorization": f"Bearer {VERIFIER}"}
KEYS = {"api_keys.verifiers": f"tests:{VERIFIER}", "api_keys.limit_per_owner": "10000"}
SETTINGS = {"limits.enabled": "false", "secrets": "s" * 32, "database.timeout": "2s"}
USES = 10_000
KILLS = 20 if IS_LONG else 2
SOME = 5
"""Answers that arrive before a kill."""
EXPIRED = 1_000_000 if IS_LONG else 20_000
AT_ONCE = 20_000
"""Keys that one statement stores: no statement may take longer than `database.timeout`."""


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
    done, told = asyncio.Event(), Counter[str]()

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

    async def is_served() -> bool:
        return told["valid"] >= wanted

    async with running_service(server.create(migrated=True), tmp_path, SETTINGS) as service:
        key = await key_of_ada(service, remaining=USES)
        asking = asyncio.gather(*(ask() for _ in range(6)))
        wanted = 20
        await until(is_served)
        await restart(server)
        wanted = told["valid"] + 20
        await until(is_served)
        done.set()
        await asking
        ((remaining,),) = await service.rows("SELECT remaining FROM api_key")

    assert set(told) == {"valid", UNAVAILABLE}
    # A use whose answer was lost with the connection may be gone; none was given twice.
    assert told["valid"] <= USES - remaining <= told["valid"] + told[UNAVAILABLE]


@pytest.mark.threat("KEY7", "KEY8")
async def test_instances_count_and_refuse_together(server: OwnCluster, tmp_path: Path) -> None:
    url = server.create(migrated=True)
    async with (
        running_service(url, tmp_path, SETTINGS) as one,
        running_service(url, tmp_path, SETTINGS) as other,
    ):
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


@pytest.mark.threat("KEY24")
async def test_a_verifier_that_was_removed_is_refused_after_a_restart(place: Place) -> None:
    other = "w" * 40
    told: list[list[str]] = []
    for verifiers in (f"tests:{VERIFIER},mail:{other}", f"tests:{VERIFIER}"):
        settings = {**SETTINGS, "api_keys.verifiers": verifiers}
        async with running_service(place.url, place.directory, settings) as service:
            if not told:
                key = (await service.post("/api-key/create", {}, headers=await join(service))).json()["key"]
            headers = [BEARER, {"Authorization": f"Bearer {other}"}]
            answers = [await service.post("/api-key/verify", {"key": key}, headers=each) for each in headers]
        told.append([code(answer) for answer in answers])
        assert answers[0].json()["valid"] is True

    assert told == [["200", "200"], ["200", "401 UNAUTHORIZED"]]


@pytest.mark.threat("R9")
async def test_of_a_database_that_is_only_read_keys_without_counters_are_valid(
    server: OwnCluster, tmp_path: Path
) -> None:
    async with running_service(server.create(migrated=True), tmp_path, SETTINGS) as service:
        plain = await key_of_ada(service)
        admin = {"Authorization": plain["Authorization"]}
        counted = (await service.post("/api-key/create", {"remaining": 5}, headers=admin)).json()

        async def is_refused() -> bool:
            return code(await verify(service, counted["key"])) == UNAVAILABLE

        async def is_served() -> bool:
            return (await verify(service, counted["key"])).status_code == 200

        async with reading_only(server):
            await until(is_refused)
            assert (await verify(service, plain["key"])).json()["valid"] is True
            with pytest.raises(Exception, match="read-only transaction"):
                await service.services.port[ApiKeyUsage].write()
        await until(is_served)
        assert (await verify(service, plain["key"])).json()["key"]["lastRequest"] is None
        service.clock.advance(seconds=60)
        await verify(service, plain["key"])
        await service.services.port[ApiKeyUsage].write()
        used = (await verify(service, plain["key"])).json()["key"]["lastRequest"]
        ((remaining,),) = await service.rows("SELECT remaining FROM api_key WHERE remaining IS NOT NULL")

    assert (used, remaining) == ("2026-01-01T12:01:00.000Z", 4)


@pytest.mark.threat("KEY8", "R18")
async def test_a_killed_process_takes_one_use_at_most_and_leaves_no_half_of_a_key(place: Place) -> None:
    """The use is the one whose answer was on its way; a key that was being created is there with its record, or not."""
    async with as_of_now(place) as service:
        counted = await key_of_ada(service, remaining=USES)
    uses, created = 0, {counted["id"]}
    for kills in range(1, KILLS + 1):
        with place.serving(KEYS) as live:
            async with Visitor(live) as visitor:
                verified, made = await answered_until_killed(
                    live,
                    partial(visitor.post, "/api-key/verify", VERIFIER, key=counted["key"]),
                    partial(visitor.post, "/api-key/create", token_of(counted)),
                )
        uses += len(verified)
        created |= {key["id"] for key in made}
        [(remaining,)] = await place.rows("SELECT remaining FROM api_key WHERE remaining IS NOT NULL")
        assert uses <= USES - remaining <= uses + kills
        stored = {row.id for row in await place.rows("SELECT id FROM api_key")}
        assert created <= stored == await recorded(place)

    async with as_of_now(place) as service:
        owner = {"Authorization": counted["Authorization"]}
        listed = (await service.get("/api-key/list?limit=500", headers=owner)).json()["apiKeys"]
        unseen = {key["id"] for key in listed} - created
        deleted = [await service.post("/api-key/delete", {"keyId": key}, headers=owner) for key in unseen]
    assert {key["id"] for key in listed} == stored
    assert [answer.status_code for answer in deleted] == [200] * len(unseen)


@asynccontextmanager
async def as_of_now(place: Place) -> AsyncIterator[Service]:
    """Yield a service in this process at a place where other processes serve too: its clock shows their time."""
    async with running_service(place.url, place.directory, place.settings(KEYS)) as service:
        service.clock.now = datetime.now(UTC)
        yield service


async def answered_until_killed(
    live: LiveService, *asked: Callable[[], Awaitable[httpx.Response]]
) -> list[list[dict[str, Any]]]:
    """Ask for each thing again and again, and kill the process after some answers to each; return all answers."""
    answers: list[list[dict[str, Any]]] = [[] for _ in asked]

    async def keep_requesting(
        ask: Callable[[], Awaitable[httpx.Response]], arrived: list[dict[str, Any]]
    ) -> None:
        while True:
            try:
                answer = await ask()
            except httpx.TransportError:
                return
            assert answer.status_code == 200, answer.text
            arrived.append(answer.json())

    async def are_some() -> bool:
        return all(len(arrived) >= SOME for arrived in answers)

    asking = asyncio.gather(*map(keep_requesting, asked, answers))
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


@pytest.mark.threat("R41")
async def test_expired_keys_go_while_others_are_verified(place: Place) -> None:
    async with running_service(place.url, place.directory, SETTINGS) as service:
        await join(service, "eve@example.com")
        await add_expired_keys(service)
        key = (await key_of_ada(service))["key"]
        service.clock.advance(days=31)
        verdicts: list[bool] = []
        sweeping = asyncio.create_task(cleanup.delete_expired(service.services.database, service.clock()))
        while not sweeping.done():
            verdicts.append((await verify(service, key)).json()["valid"])

        assert (await sweeping)["api_key"] == EXPIRED
    assert set(verdicts) == {True}
    assert len(verdicts) > EXPIRED // 500


async def add_expired_keys(service: Service) -> None:
    """Fill the table of keys with expired ones of the only user."""
    is_sqlite = service.services.database.dialect == "sqlite"
    digest = "CAST('d' || n AS BLOB)" if is_sqlite else "('d' || n)::bytea"
    statement = (
        "INSERT INTO api_key (id, digest, kind, user_id, enabled, rate_limit_enabled, rate_limit_window_ms,"
        " rate_limit_max, request_count, expires_at, created_at, updated_at)"
        " WITH RECURSIVE numbers(n) AS"
        " (SELECT CAST(:first AS integer) UNION ALL SELECT n + 1 FROM numbers WHERE n < :last)"
        f" SELECT 'k' || n, {digest}, 'default', u.id, true, false, 1000, 1, 0, u.created_at, u.created_at,"
        ' u.created_at FROM numbers, "user" u'
    )
    for first in range(1, EXPIRED, AT_ONCE):
        async with service.services.database.transaction() as db:
            last = first + AT_ONCE - 1
            await db.execute(text(statement).execution_options(in_thread=True), first=first, last=last)
