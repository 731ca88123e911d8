"""Webhooks while processes are killed or stopped, and while the database is away (SW 11: W11, W12)."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import insert

from domain import tokens
from domain.webhooks import secrets
from models.delivery import DeliveryState
from models.statements import table_of
from models.webhook_endpoint import SECRET, EndpointSource, WebhookEndpoint
from server.crypto.keyring import Keyring
from tests import webhooks
from tests.labs.faults.asking import PLAIN, until
from tests.labs.faults.engines import OwnCluster
from tests.labs.faults.places import DEADLINE, IS_LONG, Place, Visitor
from tests.labs.faults.requests_in_flight import until_refused
from tests.labs.faults.test_kill import LATEST, new_random
from tests.labs.faults.test_signals import ended
from tests.live import LiveService
from tests.receiver import Received, Receiver, hang, hold, respond
from tests.service import Service, running_service

SETTINGS = {"webhooks.enabled": "true"}
KILLS = 100 if IS_LONG else 10
AT_ONCE = 6
"""Users who sign up at the moment of a kill."""
LEASE = 60.0
"""Seconds for which a delivery stays with a process that was killed while it was sending it."""
IN_FLIGHT = 4
"""Attempts at the same time, of one instance at one endpoint."""


async def add_endpoint(place: Place, url: str) -> None:
    """Store an endpoint that receives new users."""
    now = datetime.now(UTC)
    sealed = Keyring([place.settings()["secrets"]]).encrypt(SECRET, secrets.create())
    values = {
        "id": tokens.token(), "name": "receiver", "url": url, "events": '["user.created"]', "secret": sealed,
        "source": EndpointSource.CLI, "state": "active", "failures": 0, "created_at": now, "updated_at": now,
    }  # fmt: skip
    await place.rows(insert(table_of(WebhookEndpoint)).values(values))


async def deliveries(place: Place) -> list[Any]:
    """Return the deliveries, each with the user of its event; a claimed one has a lease."""
    return await place.rows(
        "SELECT d.id, d.event_id, d.state, d.attempts, d.lease_until, d.last_status, e.user_id"
        " FROM delivery d JOIN webhook_event e ON e.id = d.event_id"
    )


async def users(place: Place) -> dict[str, str]:
    """Return the email addresses of all users by id."""
    return {row.id: row.email for row in await place.rows('SELECT id, email FROM "user"')}


def by_id(requests: list[Received]) -> dict[str, list[bytes]]:
    """Return the bodies that came with each `webhook-id`."""
    found: dict[str, list[bytes]] = {}
    for request in requests:
        found.setdefault(request.headers["webhook-id"], []).append(request.body)
    return found


async def received(receiver: Receiver, count: int) -> None:
    """Wait for so many requests."""
    async with asyncio.timeout(DEADLINE):
        await receiver.wait_for(count)


@dataclass
class Kills:
    """What is known of the processes so far: who was told that they have an account, and what they were sending."""

    told: set[str] = field(default_factory=set)
    claimed: Counter[str] = field(default_factory=Counter)
    """By event, how many processes were killed while they had claimed its delivery."""

    async def sign_up(self, visitor: Visitor, email: str) -> None:
        """Sign up; nothing is known of it when nobody answers."""
        try:
            answer = await visitor.sign_up(email)
        except httpx.TransportError:
            return
        assert answer.status_code == 200, answer.text
        self.told.add(email)

    async def kill_among(
        self, live: LiveService, receiver: Receiver, number: int, chance: random.Random
    ) -> None:
        """Kill the process while people sign up: between answers, in an attempt, or after a response to it."""
        seen, some = len(receiver.requests), chance.randrange(AT_ONCE)
        moment = chance.choice(["sign-up", "attempt", "response"])
        if moment == "attempt":
            receiver.script += [respond()] * some + [hang()]
        async with Visitor(live) as visitor:
            steps = [
                asyncio.create_task(self.sign_up(visitor, f"user-{number}-{one}@example.com"))
                for one in range(AT_ONCE)
            ]
            if moment == "sign-up":
                for _, step in zip(range(some), asyncio.as_completed(steps), strict=False):
                    await step
            else:
                await received(receiver, seen + some + 1)
            if moment != "attempt":
                await asyncio.sleep(chance.uniform(0, LATEST))
            live.process.kill()
            await asyncio.gather(*steps)
        await asyncio.to_thread(live.process.wait)
        receiver.script.clear()

    async def look(self, place: Place) -> None:
        """See which deliveries a killed process has left claimed."""
        pending = [row for row in await deliveries(place) if row.state == DeliveryState.PENDING]
        self.claimed.update(row.event_id for row in pending if row.lease_until is not None)


async def let_leases_expire(place: Place) -> None:
    """Make the deliveries that killed processes have claimed due again, as time would."""
    await place.rows("UPDATE delivery SET next_attempt = created_at WHERE state = 'pending'")


@pytest.mark.threat("WH11")
async def test_killed_processes_lose_and_invent_no_event(place: Place) -> None:
    chance, kills = new_random(), Kills()
    async with Receiver() as receiver:
        for number in range(KILLS):
            with place.serving(SETTINGS) as live:
                if number == 0:
                    await add_endpoint(place, receiver.url())
                await kills.kill_among(live, receiver, number, chance)
            await kills.look(place)
        if not IS_LONG:
            await let_leases_expire(place)
        with place.serving(SETTINGS):

            async def all_are_delivered() -> bool:
                return {row.state for row in await deliveries(place)} == {DeliveryState.DELIVERED}

            await until(all_are_delivered, DEADLINE + LEASE)

    there, sent, rows = await users(place), by_id(receiver.requests), await deliveries(place)
    print(len(there), "users,", len(sent), "events,", len(receiver.requests), "requests")
    events = {
        webhook_id: {json.loads(body)["data"]["user"]["id"] for body in bodies}
        for webhook_id, bodies in sent.items()
    }
    # Each user who is there was told once, and nobody else.
    assert Counter(user for found in events.values() for user in found) == Counter(there.keys())
    assert kills.told <= set(there.values())
    assert {f"msg_{row.event_id}": {row.user_id} for row in rows} == events
    assert len(rows) == len(events)
    # A repeat has the same content; only what a process was sending when it was killed is sent again.
    assert {webhook_id for webhook_id, bodies in sent.items() if len(set(bodies)) > 1} == set()
    again = {webhook_id: len(bodies) - 1 for webhook_id, bodies in sent.items()}
    assert {
        one: number for one, number in again.items() if number > kills.claimed[one.removeprefix("msg_")]
    } == {}
    assert {row.last_status for row in rows} == {204}


@pytest.mark.threat("WH11")
class TestStopped:
    """The service is told to stop while it sends events."""

    async def test_attempts_in_flight_are_finished_and_not_repeated(self, place: Place) -> None:
        answer = asyncio.Event()
        async with Receiver(otherwise=hold(answer)) as receiver:
            with place.serving(SETTINGS) as live:
                await self.begin(place, live, receiver)

                live.process.terminate()
                await until_refused(live.url)
                answer.set()
                assert await ended(live) == 0
            sent, before = len(receiver.requests), await deliveries(place)
            with place.serving(SETTINGS):
                await received(receiver, AT_ONCE)

        finished = [row for row in before if row.state == DeliveryState.DELIVERED]
        waiting = [row for row in before if row.state == DeliveryState.PENDING]
        assert {(row.attempts, row.last_status) for row in finished} == {(1, 204)}
        assert {(row.attempts, row.lease_until) for row in waiting} <= {(0, None)}
        assert (len(finished), len(waiting)) == (sent, AT_ONCE - sent)
        assert len(by_id(receiver.requests)) == len(receiver.requests) == AT_ONCE
        assert live.output.faults() == []

    async def test_an_attempt_that_does_not_end_is_repeated_with_the_same_id(self, place: Place) -> None:
        async with Receiver(otherwise=hang()) as receiver:
            with place.serving(SETTINGS) as live:
                await self.begin(place, live, receiver)
                live.process.terminate()
                assert await ended(live) == 0
            cut_off = set(by_id(receiver.requests))
            await let_leases_expire(place)
            receiver.otherwise = respond()
            with place.serving(SETTINGS):
                await received(receiver, IN_FLIGHT + AT_ONCE)

        sent = by_id(receiver.requests)
        assert {webhook_id for webhook_id, bodies in sent.items() if len(bodies) == 2} == cut_off
        assert len(sent) == AT_ONCE

    async def begin(self, place: Place, live: LiveService, receiver: Receiver) -> None:
        """Have more events than attempts at the same time, and as many attempts as there may be."""
        await add_endpoint(place, receiver.url())
        async with Visitor(live) as visitor:
            for number in range(AT_ONCE):
                await visitor.join(f"user-{number}@example.com")
        await received(receiver, IN_FLIGHT)


@pytest.mark.threat("WH11")
async def test_instances_share_the_work(place: Place) -> None:
    """Each event is sent by one of them."""
    answer = asyncio.Event()
    async with Receiver(otherwise=hold(answer)) as receiver:
        with ExitStack() as ends:
            both = [ends.enter_context(place.serving(SETTINGS)) for _ in range(2)]
            await add_endpoint(place, receiver.url())
            for number, live in enumerate(both * 6):
                async with Visitor(live) as visitor:
                    await visitor.join(f"user-{number}@example.com")
            # As many as both may send at the same time, and more than one of them.
            await received(receiver, 2 * IN_FLIGHT)
            at_once = len(receiver.requests)
            answer.set()
            await received(receiver, 12)

            async def all_are_delivered() -> bool:
                return {row.state for row in await deliveries(place)} == {DeliveryState.DELIVERED}

            await until(all_are_delivered)

    assert at_once == 2 * IN_FLIGHT
    assert len(by_id(receiver.requests)) == len(receiver.requests) == 12
    assert {row.attempts for row in await deliveries(place)} == {1}


Break = Callable[[OwnCluster], None]


@pytest.mark.threat("WH12")
@pytest.mark.parametrize(
    ("fails", "recovers"),
    [(OwnCluster.halt, OwnCluster.resume), (OwnCluster.freeze, OwnCluster.thaw)],
    ids=["stopped", "frozen"],
)
async def test_deliveries_resume_when_the_database_is_back(
    server: OwnCluster, tmp_path: Path, fails: Break, recovers: Break
) -> None:
    settings = {**PLAIN, **webhooks.SETTINGS, "database.timeout": "1s"}
    answer = asyncio.Event()
    async with (
        Receiver(otherwise=hold(answer)) as receiver,
        running_service(server.create(migrated=True), tmp_path, settings) as service,
    ):
        await webhooks.add_endpoint(service, receiver.url())
        await webhooks.happen(service, 10)
        service.services.worker.start()
        try:
            await received(receiver, IN_FLIGHT)
            await asyncio.to_thread(fails, server)
            # The responses come while their outcome cannot be recorded.
            answer.set()
            await until(lambda: is_unavailable(service))
            await asyncio.to_thread(recovers, server)

            async def all_are_delivered() -> bool:
                # An outcome that could not be recorded is repeated when its lease has expired.
                webhooks.later(service, seconds=1)
                rows = await webhooks.deliveries(service)
                return {row.state for row in rows} == {DeliveryState.DELIVERED}

            await until(all_are_delivered, DEADLINE * 2)
        finally:
            await service.services.worker.stop()
        rows = await webhooks.deliveries(service)

    sent = by_id(list(receiver.requests))
    assert set(sent) == {f"msg_{row.event_id}" for row in rows}
    assert len(rows) == 10
    assert {webhook_id for webhook_id, bodies in sent.items() if len(set(bodies)) > 1} == set()
    assert Counter(len(bodies) for bodies in sent.values()).keys() <= {1, 2}


async def is_unavailable(service: Service) -> bool:
    """Return whether the service says that it cannot use the database."""
    return (await service.get("/ready")).status_code == 503
