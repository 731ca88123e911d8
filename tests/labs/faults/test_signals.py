"""The service is told to stop, politely, twice, and by other signals than usual (R24, R25)."""

import asyncio
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from domain.errors import Unavailable
from tests.labs.faults.places import DEADLINE, LONG, Place, Visitor
from tests.labs.faults.requests_in_flight import InFlight, sign_up, until_refused
from tests.live import LiveService
from tests.smtp_peer import SmtpPeer

IN_FLIGHT = 50
UNAVAILABLE = {"message": Unavailable.message, "code": "SERVICE_UNAVAILABLE"}
PATIENT = {"server.request_timeout": "10m", "server.shutdown_grace": "5m"}
"""A slow machine may take its time; a test that waits for the end of these would be seen."""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=LONG)])
def dialect(request: pytest.FixtureRequest) -> str:
    """The database, which matters little here; each test starts processes of its own, and that takes long."""
    return str(request.param)


@contextmanager
def reacting(number: signal.Signals, reaction: signal.Handlers) -> Iterator[None]:
    """Make processes that start meanwhile ignore a signal, as nohup does with that of a lost terminal, or not."""
    before = signal.signal(number, reaction)
    try:
        yield
    finally:
        signal.signal(number, before)


async def in_flight(live: LiveService, number: int) -> list[InFlight]:
    """Have so many requests in flight."""
    return [await sign_up(live.url, f"user{one}@example.com") for one in range(number)]


async def ended(live: LiveService) -> int:
    """Wait for the end of the process; give its exit status."""
    try:
        return await asyncio.to_thread(live.process.wait, DEADLINE)
    except subprocess.TimeoutExpired:
        raise AssertionError("the process goes on") from None


@pytest.mark.threat("R24")
class TestTermination:
    """The service is told to stop, with requests in flight or without."""

    @pytest.mark.threat("R25")
    @pytest.mark.parametrize(
        ("signals", "workers"),
        [
            ([signal.SIGTERM], 1),
            ([signal.SIGTERM], 2),
            ([signal.SIGTERM] * 2, 1),
            pytest.param([signal.SIGTERM] * 2, 2, marks=LONG),
            ([signal.SIGHUP], 1),
            ([signal.SIGHUP], 2),
        ],
        ids=["once-1", "once-2", "twice-1", "twice-2", "lost terminal-1", "lost terminal-2"],
    )
    async def test_what_is_in_flight_is_finished_and_nothing_new_is_taken(
        self, place: Place, signals: list[signal.Signals], workers: int
    ) -> None:
        """A second SIGTERM changes nothing, and a lost terminal stops the service like SIGTERM."""
        peer = SmtpPeer()
        await peer.start()
        await peer.stop()
        mail = {
            "mail.sender": "smtp", "mail.smtp.host": "127.0.0.1", "mail.smtp.port": str(peer.port),
            "mail.smtp.tls": "none", "mail.from": "auth@example.com",
        }  # fmt: skip
        with (
            reacting(signal.SIGHUP, signal.SIG_DFL),
            place.serving({**PATIENT, **mail}, workers=workers) as live,
        ):
            requests = await in_flight(live, IN_FLIGHT)

            for number in signals:
                live.process.send_signal(number)
                await until_refused(live.url)
            statuses = await asyncio.gather(*(request.finish() for request in requests))

            assert (statuses, await ended(live)) == ([200] * IN_FLIGHT, 0)
        users = await place.rows('SELECT email FROM "user"')
        queued = await place.rows("SELECT id FROM outbox WHERE state = 'queued' AND payload IS NOT NULL")
        assert {row.email for row in users} == {request.email for request in requests}
        assert len(queued) == IN_FLIGHT
        assert live.output.faults() == []
        assert json.loads(live.output.lines[-1])["event"] == "service.stopped"

    @pytest.mark.parametrize("workers", [1, pytest.param(2, marks=LONG)])
    async def test_it_is_not_ready_from_the_signal_on_and_serves_until_the_delay_is_over(
        self, place: Place, workers: int
    ) -> None:
        """A load balancer sees that it is not ready, and sends requests until then."""
        with place.serving({"server.shutdown_delay": "2s"}, workers=workers) as live:
            async with Visitor(live) as visitor:
                ready = (await visitor.get("/ready")).status_code
                began = time.monotonic()
                live.process.terminate()
                while (await visitor.get("/ready")).status_code != 503:
                    continue
            async with Visitor(live) as another:
                served = (await another.get("/ok")).status_code
            await until_refused(live.url)
            passed = time.monotonic() - began

            assert (ready, served, await ended(live)) == (200, 200, 0)
        assert passed >= 2
        assert live.output.faults() == []

    @pytest.mark.parametrize("workers", [1, pytest.param(2, marks=LONG)])
    async def test_a_second_sigint_ends_the_delay(self, place: Place, workers: int) -> None:
        with (
            reacting(signal.SIGINT, signal.SIG_IGN),
            place.serving({"server.shutdown_delay": "5m"}, workers=workers) as live,
        ):
            async with Visitor(live) as visitor:
                ready = (await visitor.get("/ready")).status_code
                live.process.send_signal(signal.SIGINT)
                while (await visitor.get("/ready")).status_code != 503:
                    continue
            live.process.send_signal(signal.SIGINT)

            assert (ready, await ended(live)) == (200, 0)

    async def test_what_does_not_end_is_cut_off_after_the_grace(self, place: Place) -> None:
        with place.serving({**PATIENT, "server.shutdown_grace": "1s"}) as live:
            [request] = await in_flight(live, 1)

            live.process.terminate()

            assert await ended(live) == 0
        assert await request.answer() == (503, UNAVAILABLE)
        assert await place.rows('SELECT email FROM "user"') == []


@pytest.mark.threat("R25")
class TestOtherSignals:
    """Signals that an interactive shell sends."""

    @pytest.mark.parametrize("workers", [1, 2])
    async def test_a_second_sigint_ends_it_without_waiting(self, place: Place, workers: int) -> None:
        # A shell lets what a script begins in the background ignore it; who sends it all the same is heard.
        with reacting(signal.SIGINT, signal.SIG_IGN), place.serving(PATIENT, workers=workers) as live:
            requests = await in_flight(live, 2)

            live.process.send_signal(signal.SIGINT)
            await until_refused(live.url)
            live.process.send_signal(signal.SIGINT)

            assert await ended(live) == 0
        assert [await request.answer() for request in requests] == [(503, UNAVAILABLE)] * 2
        assert await place.rows('SELECT email FROM "user"') == []
        assert live.output.faults() == []

    @LONG
    async def test_under_nohup_it_goes_on_without_terminal(self, place: Place) -> None:
        with reacting(signal.SIGHUP, signal.SIG_IGN), place.serving() as live:
            live.process.send_signal(signal.SIGHUP)
            async with Visitor(live) as visitor:
                assert (await visitor.get("/ok")).status_code == 200
            live.process.terminate()
            assert await ended(live) == 0
