"""Endpoints that are down, hang or are gone, and clocks that jump: what is attempted, when, and what is dropped."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, cast

import pytest

from domain import tokens
from domain.admin_webhooks import operator
from domain.context import Context
from domain.outbound import OutboundGuard
from domain.webhooks.backlog_limit import MOST_PENDING
from domain.webhooks.deliveries import END_PENDING
from models.delivery import ADD_DELIVERY, DeliveryState
from models.webhook_endpoint import CHANGE_ENDPOINT, REMOVE_ENDPOINT
from server.outbound.client import OutboundClient
from server.outbound.guard import Guard
from server.outbox.worker import OutboxWorker
from server.webhooks.queue import DeliveryQueue, Limits
from tests.conftest import MakeService, SignIn
from tests.receiver import Behaviour, Receiver, respond
from tests.service import START, Service
from tests.webhooks import SETTINGS, add_endpoint, attempt, deliveries, endpoint, happen

pytestmark = pytest.mark.both_databases

HOUR = 3600
MOST_A_SECOND = 20
FAILING: dict[str, Any] = {"failures": 3, "failing_since": START, "next_probe": START}
"""The columns of an endpoint that is failing, and may be probed."""


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """A service that sends events."""
    return await make_service(SETTINGS)


def instance(service: Service, run: Any = None) -> OutboxWorker:
    """Return the worker of another instance on the same database."""
    guard = cast(Guard, service.services.port[OutboundGuard])
    queue = DeliveryQueue(
        run=run or service.services.unit_of_work.run,
        clock=service.clock,
        client=OutboundClient(guard),
        limits=Limits(16, 4, 15.0),
    )
    return OutboxWorker([queue], service.clock)


async def audited(service: Service, event: str) -> int:
    """Return how many records of an event there are."""
    return len(await service.rows("SELECT id FROM audit WHERE event = :event", event=event))


async def requests_of(receiver: Receiver, act: Awaitable[object]) -> int:
    """Return how many requests came during an act."""
    before = len(receiver.requests)
    await act
    return len(receiver.requests) - before


def answer_when(released: asyncio.Event, status: int = 204) -> Behaviour:
    """Respond once the event is set."""
    answer = respond(status)

    async def behave(writer: asyncio.StreamWriter) -> None:
        await released.wait()
        await answer(writer)

    return behave


async def fill(service: Service, endpoint_id: str, number: int) -> None:
    """Add pending deliveries of the only event, each a millisecond younger than the one before it."""
    [event] = await service.rows("SELECT id FROM webhook_event")

    async def job(ctx: Context) -> None:
        rows = []
        for index in range(number):
            at = ctx.now + timedelta(milliseconds=index + 1)
            rows.append(
                {
                    "id": tokens.token(),
                    "event_id": event.id,
                    "endpoint_id": endpoint_id,
                    "state": DeliveryState.PENDING,
                    "attempts": 0,
                    "next_attempt": ctx.now,
                    "created_at": at,
                    "updated_at": at,
                }
            )
        await ctx.db.execute_many(ADD_DELIVERY, rows)

    await service.services.unit_of_work.run(job)


class TestOutage:
    @pytest.mark.threat("WH9")
    async def test_what_waits_is_delivered_bit_by_bit_to_an_endpoint_that_is_revived_by_hand(
        self, service: Service
    ) -> None:
        async with Receiver() as receiver:
            endpoint_id = await add_endpoint(service, receiver.url(), **FAILING)
            await happen(service)
            await fill(service, endpoint_id, 100)
            service.clock.advance(seconds=1)
            await service.services.unit_of_work.run(
                lambda ctx: operator.update(ctx, endpoint_id, {"state": "active"})
            )
            for _ in range(3):
                service.clock.advance(seconds=1)
                assert await requests_of(receiver, attempt(service)) in range(1, MOST_A_SECOND + 1)

    @pytest.mark.threat("WH9")
    async def test_an_endpoint_that_is_down_is_probed_and_then_drained(
        self, service: Service, sign_up: SignIn
    ) -> None:
        await _go_through_an_outage(service, sign_up, 300)

    @pytest.mark.skipif(not os.environ.get("GATEWRIGHT_LONG"), reason="takes a minute: make faults")
    async def test_fifty_thousand_events_while_an_endpoint_is_down(
        self, service: Service, sign_up: SignIn
    ) -> None:
        await _go_through_an_outage(service, sign_up, 50_000)

    @pytest.mark.threat("WH9")
    async def test_the_backlog_is_bounded_and_audited_once_an_hour(self, service: Service) -> None:
        next_probe = START + timedelta(days=1)
        async with Receiver() as receiver:
            endpoint_id = await add_endpoint(service, receiver.url(), **{**FAILING, "next_probe": next_probe})
            await happen(service)
            await fill(service, endpoint_id, MOST_PENDING + 4)
            workers = [service.services.worker, instance(service)]
            await asyncio.gather(*(worker.drain() for worker in workers))

            assert len(await deliveries(service)) == MOST_PENDING
            assert await audited(service, "webhook.backlog_full") == 1

            for seconds, records in ((2, 1), (HOUR, 2)):
                service.clock.advance(seconds=seconds)
                await happen(service)
                for worker in workers:
                    await worker.drain()

                assert len(await deliveries(service)) == MOST_PENDING
                assert await audited(service, "webhook.backlog_full") == records
        assert receiver.requests == []

    @pytest.mark.threat("WH9")
    async def test_the_last_events_are_those_that_are_dropped(self, service: Service) -> None:
        async with Receiver() as receiver:
            columns = {**FAILING, "next_probe": START + timedelta(days=1)}
            endpoint_id = await add_endpoint(service, receiver.url(), **columns)
            await happen(service)
            [first] = await deliveries(service)
            await fill(service, endpoint_id, MOST_PENDING + 1)
            before = [row.id for row in await deliveries(service)]

            await attempt(service)

        assert [row.id for row in await deliveries(service)] == before[:MOST_PENDING]
        assert before[0] == first.id

    @pytest.mark.threat("WH9")
    async def test_a_failing_endpoint_is_disabled_in_the_end(self, service: Service) -> None:
        async with Receiver(otherwise=respond(500)) as receiver:
            await add_endpoint(service, receiver.url(), **FAILING)
            await happen(service, 3)
            service.clock.advance(days=4, hours=23)
            await attempt(service)
            assert (await endpoint(service)).state == "active"

            service.clock.advance(hours=1)
            await attempt(service)

            assert (await endpoint(service)).state == "disabled"
            assert {row.state for row in await deliveries(service)} == {"failed"}
            assert await audited(service, "webhook.endpoint_disabled") == 1
            service.clock.advance(days=1)
            await happen(service)
            assert await requests_of(receiver, attempt(service)) == 0
        assert len(receiver.requests) == 2

    async def test_an_endpoint_is_never_disabled_if_so_configured(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "webhooks.disable_after": "0s"})
        async with Receiver(otherwise=respond(500)) as receiver:
            await add_endpoint(service, receiver.url(), **FAILING)
            service.clock.advance(days=100)
            await happen(service)
            await attempt(service)

        assert (len(receiver.requests), (await endpoint(service)).state) == (1, "active")

    async def test_deliveries_that_have_expired_take_no_turn_of_a_probe(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({**SETTINGS, "webhooks.disable_after": "0s"})
        async with Receiver() as receiver:
            await add_endpoint(service, receiver.url(), **FAILING)
            await happen(service, 3)
            service.clock.advance(days=8)
            await happen(service)

            await attempt(service)

        assert len(receiver.requests) == 1
        states = [(row.state, row.last_error) for row in await deliveries(service)]
        assert states == [("failed", "expired")] * 3 + [("delivered", None)]
        assert (await endpoint(service)).failing_since is None

    async def test_failures_of_attempts_that_began_before_do_not_postpone_the_first_probe(
        self, service: Service
    ) -> None:
        async with Receiver(otherwise=respond(500)) as receiver:
            await add_endpoint(service, receiver.url())
            await happen(service, 8)
            assert await requests_of(receiver, attempt(service)) == 4

            service.clock.advance(seconds=10)
            assert await requests_of(receiver, attempt(service)) == 1
            service.clock.advance(seconds=19)
            assert await requests_of(receiver, attempt(service)) == 0
            service.clock.advance(seconds=1)
            assert await requests_of(receiver, attempt(service)) == 1

    @pytest.mark.threat("WH9")
    async def test_a_late_success_does_not_release_what_waits(self, service: Service) -> None:
        released = asyncio.Event()
        worker = instance(service)
        async with Receiver(otherwise=respond(500)) as receiver:
            receiver.script += [answer_when(released)]
            await add_endpoint(service, receiver.url())
            await happen(service)
            [first] = await deliveries(service)
            held = asyncio.create_task(worker.drain())
            await receiver.wait_for(1)
            await happen(service, 100)
            await attempt(service)
            assert len(receiver.requests) == 1 + 4
            receiver.otherwise = respond()
            released.set()
            await held

            assert await requests_of(receiver, attempt(service)) == 0
            service.clock.advance(seconds=10)
            assert await requests_of(receiver, attempt(service)) == 1
            service.clock.advance(seconds=1)
            assert await requests_of(receiver, attempt(service)) == MOST_A_SECOND
        delivered = {row.id for row in await deliveries(service) if row.state == "delivered"}
        assert first.id in delivered
        assert len(delivered) == 2 + MOST_A_SECOND

    @pytest.mark.threat("WH9")
    async def test_a_second_outage_while_what_waited_is_drained(self, service: Service) -> None:
        async with Receiver() as receiver:
            await add_endpoint(service, receiver.url(), **FAILING)
            await happen(service, 300)
            await attempt(service)
            service.clock.advance(seconds=2)
            receiver.script += [respond(500)] * 4
            await attempt(service)
            assert (await endpoint(service)).failing_since is not None
            service.clock.advance(seconds=10)

            drained = [await requests_of(receiver, attempt(service))]
            for _ in range(10):
                service.clock.advance(seconds=1)
                drained.append(await requests_of(receiver, attempt(service)))

        # Two that failed have been postponed by seconds, and are due in between.
        assert drained[0] == 1
        assert max(drained) <= MOST_A_SECOND + 4
        assert sum(drained) <= 10 * MOST_A_SECOND + 1 + 4


class TestNeighbours:
    @pytest.mark.threat("WH10")
    async def test_an_endpoint_that_hangs_holds_up_no_other(self, service: Service) -> None:
        never = asyncio.Event()
        worker = instance(service)
        async with Receiver(otherwise=answer_when(never)) as tarpit, Receiver() as other:
            await add_endpoint(service, tarpit.url(), name="tarpit")
            await happen(service, 60)
            worker.start()
            await tarpit.wait_for(4)
            await add_endpoint(service, other.url(), name="other")
            await happen(service, 60)
            worker.wake({"delivery"})

            # Far from the 15 seconds of an attempt that hangs.
            await asyncio.wait_for(other.wait_for(60), 10)

            assert len(tarpit.requests) == 4
            await worker.stop(grace=0)

    async def test_the_latency_of_others_is_that_without_the_endpoint_that_hangs(
        self, service: Service
    ) -> None:
        never = asyncio.Event()
        taken = []
        async with Receiver(otherwise=answer_when(never)) as tarpit, Receiver() as other:
            await add_endpoint(service, other.url(), name="other")
            for hangs in (False, True):
                if hangs:
                    await add_endpoint(service, tarpit.url(), name="tarpit")
                worker = instance(service)
                worker.start()
                await happen(service, 8)
                worker.wake({"delivery"})
                if hangs:
                    await tarpit.wait_for(4)
                begun, count = asyncio.get_running_loop().time(), len(other.requests)
                await happen(service)
                worker.wake({"delivery"})
                await asyncio.wait_for(other.wait_for(count + 1), 10)
                taken.append(asyncio.get_running_loop().time() - begun)
                await worker.stop(grace=0)

        assert taken[1] < taken[0] + 8


class TestClock:
    @pytest.mark.threat("WH13")
    async def test_a_lease_that_a_jump_ends_leaves_the_delivery_to_another_instance(
        self, service: Service
    ) -> None:
        first, second = asyncio.Event(), asyncio.Event()
        workers = [instance(service) for _ in range(3)]
        async with Receiver() as receiver:
            receiver.script += [answer_when(first, 500), answer_when(second)]
            await add_endpoint(service, receiver.url())
            await happen(service)
            slow = asyncio.create_task(workers[0].drain())
            await receiver.wait_for(1)
            service.clock.advance(hours=1)
            repeated = asyncio.create_task(workers[1].drain())
            await receiver.wait_for(2)

            # The late outcome of the first attempt does not end the lease of the second.
            first.set()
            await slow
            service.clock.advance(seconds=10)
            assert await requests_of(receiver, workers[2].drain()) == 0

            second.set()
            await repeated
        [delivery] = await deliveries(service)
        assert (delivery.state, delivery.attempts, delivery.last_status) == ("delivered", 2, 204)
        assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1

    @pytest.mark.threat("WH13")
    @pytest.mark.parametrize("jump", [timedelta(days=-1), timedelta(days=1)])
    async def test_timestamps_follow_the_clock(self, service: Service, jump: timedelta) -> None:
        async with Receiver() as receiver:
            await add_endpoint(service, receiver.url())
            await happen(service)
            await attempt(service)
            service.clock.now += jump
            await happen(service)
            await attempt(service)

        times = [int(request.headers["webhook-timestamp"]) for request in receiver.requests]
        assert times[1] - times[0] == jump.total_seconds()

    @pytest.mark.threat("WH13")
    async def test_a_clock_that_jumps_back_makes_no_hot_loop(self, service: Service, sign_up: SignIn) -> None:
        calls = 0

        async def run(job: Callable[[Context], Awaitable[Any]], *more: Any) -> Any:
            nonlocal calls
            calls += 1
            return await service.services.unit_of_work.run(job, *more)

        worker = instance(service, run)
        async with Receiver() as receiver:
            receiver.script += [respond(500)]
            await add_endpoint(service, receiver.url(), events=["webhook.test"])
            await happen(service)
            await worker.drain()
            service.clock.advance(days=-1)
            worker.start()
            await happen(service)
            worker.wake({"delivery"})
            await receiver.wait_for(2)
            before = calls
            # They take hashes and several round trips, in which a loop would make hundreds of queries.
            for number in range(3):
                await sign_up(f"ada{number}@example.com", on=service)
            await worker.stop()

        assert calls - before <= 8
        assert (await deliveries(service))[-1].state == "pending"

    async def test_what_was_due_before_a_jump_back_is_delivered_when_its_time_comes(
        self, service: Service
    ) -> None:
        async with Receiver() as receiver:
            receiver.script += [respond(500)]
            await add_endpoint(service, receiver.url())
            await happen(service)
            await attempt(service)
            service.clock.advance(hours=-1)
            assert await requests_of(receiver, attempt(service)) == 0
            service.clock.advance(hours=1, seconds=7)
            assert await requests_of(receiver, attempt(service)) == 1


class TestAnswers:
    @pytest.mark.threat("WH17")
    async def test_an_endpoint_that_is_gone_is_disabled(self, service: Service) -> None:
        async with Receiver(otherwise=respond(410)) as receiver:
            await add_endpoint(service, receiver.url())
            await happen(service)
            await attempt(service)
            service.clock.advance(days=1)
            await happen(service)
            await attempt(service)

        assert len(receiver.requests) == 1
        assert (await endpoint(service)).state == "disabled"
        assert await audited(service, "webhook.endpoint_disabled") == 1
        [delivery] = await deliveries(service)
        assert (delivery.state, delivery.last_status, delivery.last_error) == ("failed", 410, "status")

    @pytest.mark.threat("WH17")
    @pytest.mark.parametrize(
        ("status", "retry_after", "earliest", "latest"),
        [
            (429, "315360000", 3600, 3601),
            (503, "9" * 400, 3600, 3601),
            (503, "60", 60, 61),
            (503, "Thu, 01 Jan 2026 12:30:00 GMT", 1800, 1801),
            (503, "Fri, 01 Jan 2036 12:00:00 GMT", 3600, 3601),
            (503, "Mon, 01 Jan 1996 12:00:00 GMT", 4, 6),
            (429, "-1", 4, 6),
            (429, "soon", 4, 6),
            (429, "", 4, 6),
            (500, "60", 4, 6),
        ],
    )
    async def test_a_receiver_postpones_the_next_attempt_by_an_hour_at_most(
        self, service: Service, status: int, retry_after: str, earliest: int, latest: int
    ) -> None:
        async with Receiver() as receiver:
            receiver.script += [respond(status, headers={"Retry-After": retry_after})]
            await add_endpoint(service, receiver.url())
            await happen(service)
            await attempt(service)

            service.clock.advance(seconds=earliest - 0.001)
            assert await requests_of(receiver, attempt(service)) == 0
            service.clock.advance(seconds=latest - earliest + 0.001)
            assert await requests_of(receiver, attempt(service)) == 1


class TestConcurrency:
    async def test_two_instances_make_one_attempt(self, service: Service) -> None:
        workers = [instance(service) for _ in range(2)]
        async with Receiver() as receiver:
            await add_endpoint(service, receiver.url())
            for number in range(1, 21):
                await happen(service)
                await asyncio.gather(*(worker.drain() for worker in workers))
                assert len(receiver.requests) == number

        assert {row.attempts for row in await deliveries(service)} == {1}

    @pytest.mark.parametrize(("status", "state"), [(204, "delivered"), (500, "pending")])
    async def test_an_endpoint_is_paused_during_an_attempt(
        self, service: Service, status: int, state: str
    ) -> None:
        async def pause(ctx: Context) -> None:
            await ctx.db.execute(CHANGE_ENDPOINT, endpoint_id=endpoint_id, state="paused", updated_at=ctx.now)

        async with Receiver() as receiver:
            endpoint_id = await add_endpoint(service, receiver.url())
            await _during_an_attempt(service, receiver, pause, status)

            [delivery] = await deliveries(service)
            assert delivery.state == state
            service.clock.advance(days=1)
            assert await requests_of(receiver, attempt(service)) == 0

    @pytest.mark.threat("WH17")
    async def test_an_endpoint_gets_another_url_during_an_attempt(self, service: Service) -> None:
        """A receiver that has moved may say that it is gone."""
        released = asyncio.Event()
        async with Receiver() as former, Receiver() as receiver:
            former.script.append(answer_when(released, 410))
            endpoint_id = await add_endpoint(service, former.url(), failures=2)
            await happen(service)
            attempting = asyncio.create_task(attempt(service))
            await former.wait_for(1)
            await service.services.unit_of_work.run(
                lambda ctx: operator.update(ctx, endpoint_id, {"url": receiver.url()})
            )
            released.set()
            await attempting
            service.clock.advance(seconds=7)
            await attempt(service)

        assert (len(former.requests), len(receiver.requests)) == (1, 1)
        row = await endpoint(service)
        assert (row.state, row.failures) == ("active", 0)

    @pytest.mark.parametrize("status", [204, 500, 410])
    async def test_an_endpoint_is_deleted_during_an_attempt(self, service: Service, status: int) -> None:
        async def remove(ctx: Context) -> None:
            ended = {"state": DeliveryState.CANCELLED, "ended_at": ctx.now, "updated_at": ctx.now}
            await ctx.db.execute(REMOVE_ENDPOINT, endpoint_id=endpoint_id)
            await ctx.db.execute(END_PENDING, of_endpoint=endpoint_id, **ended)

        async with Receiver() as receiver:
            endpoint_id = await add_endpoint(service, receiver.url())
            await _during_an_attempt(service, receiver, remove, status)

            [delivery] = await deliveries(service)
            assert delivery.state == "cancelled"
            assert await service.rows("SELECT * FROM webhook_endpoint") == []
            service.clock.advance(days=1)
            assert await requests_of(receiver, attempt(service)) == 0


async def _during_an_attempt(
    service: Service, receiver: Receiver, act: Callable[[Context], Awaitable[None]], status: int
) -> None:
    """Do something while an attempt is in flight, which then gets a status."""
    released = asyncio.Event()
    receiver.script += [answer_when(released, status)]
    await happen(service)
    attempting = asyncio.create_task(attempt(service))
    await receiver.wait_for(1)
    await service.services.unit_of_work.run(act)
    released.set()
    await attempting


async def _go_through_an_outage(service: Service, sign_up: SignIn, events: int) -> None:
    """Have an endpoint fail for an hour, and then respond; two instances deliver."""
    workers = [service.services.worker, instance(service)]

    async def work() -> None:
        await asyncio.gather(*(worker.drain() for worker in workers))

    async with Receiver(otherwise=respond(503)) as receiver:
        await add_endpoint(service, receiver.url())
        for _ in range(0, events, 300):
            await happen(service, min(events, 300))
        first = await requests_of(receiver, work())
        probes = []
        for _ in range(HOUR // 10):
            service.clock.advance(seconds=10)
            probes.append(await requests_of(receiver, work()))
        await sign_up(on=service)
        mails = await service.inbox("ada@example.com")

        receiver.otherwise = respond()
        service.clock.advance(minutes=10)
        receiver.requests.clear()
        await work()
        drained = [len(receiver.requests)]
        left = min(events, MOST_PENDING)
        while len(receiver.requests) < left - 20 and len(drained) < left:
            service.clock.advance(seconds=1)
            drained.append(await requests_of(receiver, work()))

    # Four of each instance may be in flight when the third fails.
    assert first <= 8
    assert max(probes) == 1
    assert 8 <= sum(probes) <= 12
    assert [mail["template"] for mail in mails] == ["verify-email"]
    assert max(drained) <= MOST_A_SECOND
    assert len(drained) >= left // MOST_A_SECOND
    # The sign-up has published events of its own, and rows that were attempted may be postponed until later.
    assert len(receiver.requests) >= left - 20
    assert (await endpoint(service)).failing_since is None
