"""`python -m tests.labs.bench.webhooks`: what webhooks cost a sign-in, and how many deliveries a processor makes.

A sign-in is measured without webhooks, with webhooks that no endpoint subscribes to, and with ten endpoints that get
every event; the deliveries themselves happen in the background and are measured apart, to a receiver that is a process
of its own. All figures are processor time of the service, without that of PostgreSQL.
"""

import asyncio
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import httpx
import typer

from server.app import assemble
from server.observability import logs
from server.services import Services, load_settings
from tests.ports import free_port
from tests.postgres import Cluster
from tests.receiver import HOST
from tests.service import BASE_URL, PASSWORD, MovableClock, Service, environment
from tests.webhooks import add_endpoint, happen

ENDPOINTS = 10
BATCH = 200
"""Events of one transaction, while the deliveries to measure are written."""
LEAST_A_SECOND = 500
"""The goal: deliveries of one second of a processor."""
MOST_SHARE = 0.05
"""The goal: the part of a sign-in that ten endpoints may add."""
CHEAP = {"password.argon2_memory_kib": "1024", "password.argon2_time": "1"}
"""Hashes whose time does not hide what else a sign-in costs."""
AS_SHIPPED = {"password.argon2_memory_kib": "19456", "password.argon2_time": "2"}
EMAIL = "ada@example.com"
ANSWER = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"

Asked = Annotated[int, typer.Option(min=20, help="Sign-ins of each kind.")]
Events = Annotated[int, typer.Option(min=BATCH, help="Events to deliver.")]
Databases = Annotated[str, typer.Option(help="Kinds of databases, separated by commas.")]


def main(asked: Asked = 100, events: Events = 2000, databases: Databases = "sqlite,postgresql") -> None:
    """Measure services in this process."""
    logs.configure("error", "json")
    with ExitStack() as ends:
        directory = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-webhooks-")))
        port = free_port()
        receiver = multiprocessing.get_context("spawn").Process(target=receive, args=(port,), daemon=True)
        receiver.start()
        ends.callback(receiver.terminate)
        cluster = Cluster(None)
        if "postgresql" in databases:
            cluster.start()
            ends.callback(cluster.stop)
        for database in databases.split(","):
            urls = (
                [cluster.create() for _ in range(3)]
                if database == "postgresql"
                else [f"sqlite:///{directory / f'{number}.db'}" for number in range(3)]
            )
            print(asyncio.run(_measure(database, urls, directory, port, asked, events)), flush=True)


def receive(port: int) -> None:
    """Respond to every request at once, until the process ends."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        [length] = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        await reader.readexactly(int(length.partition(b":")[2]))
        writer.write(ANSWER)
        writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(answer, HOST, port, backlog=1000)
        await server.serve_forever()

    asyncio.run(serve())


@dataclass(frozen=True, slots=True)
class Probe:
    """A service without background, and how it is called in the table."""

    name: str
    service: Service

    async def sign_in(self) -> float:
        """Return the milliseconds of processor time of a sign-in."""
        begun = time.process_time()
        answer = await self.service.client.post("/sign-in/email", json={"email": EMAIL, "password": PASSWORD})
        spent = time.process_time() - begun
        assert answer.status_code == 200, answer.text
        self.service.client.cookies.clear()
        return spent * 1000

    async def publish(self) -> float:
        """Return the milliseconds of processor time of an event in a transaction of its own."""
        begun = time.process_time()
        await happen(self.service)
        return (time.process_time() - begun) * 1000


async def _measure(
    database: str, urls: Sequence[str], directory: Path, port: int, asked: int, events: int
) -> str:
    kinds = (("off", False, 0), ("on, no endpoint", True, 0), ("ten endpoints", True, ENDPOINTS))
    async with AsyncExitStack() as ends:
        probes = []
        for (name, is_on, number), url in zip(kinds, urls, strict=True):
            service = await ends.enter_async_context(_serving(url, directory, CHEAP, is_on=is_on))
            for _ in range(number):
                await add_endpoint(service, f"http://{HOST}:{port}/hook")
            probes.append(Probe(name, service))
        sign_ins = await _medians(Probe.sign_in, probes, asked)
        published = await _medians(Probe.publish, probes, asked)
        shipped = await ends.enter_async_context(_serving(urls[0], directory, AS_SHIPPED, is_on=False))
        [whole] = await _medians(Probe.sign_in, [Probe("as it ships", shipped)], asked // 2)
        lines = [
            f"| {database}, ms of processor at p50 | sign-in, cheap hash | of a whole one | event alone |",
            "|---" * 4 + "|",
        ]
        for probe, spent, event in zip(probes, sign_ins, published, strict=True):
            added = (spent - sign_ins[0]) / whole
            lines.append(f"| {probe.name} | {spent:.2f} | {added:+.1%} | {event:.2f} |")
        added = (sign_ins[-1] - sign_ins[0]) / whole
        lines += [
            "",
            f"Ten endpoints add {added:.1%} to a sign-in of {whole:.1f} ms; goal met: {added <= MOST_SHARE}",
        ]
        lines.append(await _deliver(probes[-1].service, events))
    return "\n".join(lines) + "\n"


async def _deliver(service: Service, events: int) -> str:
    """Deliver events to ten endpoints, and describe what it cost."""
    await service.services.worker.drain()
    for _ in range(0, events // ENDPOINTS, BATCH // ENDPOINTS):
        await happen(service, BATCH // ENDPOINTS)
    [(number,)] = await service.rows("SELECT count(*) FROM delivery WHERE state = 'pending'")
    begun, spent = time.perf_counter(), time.process_time()
    await service.services.worker.drain()
    wall, spent = time.perf_counter() - begun, time.process_time() - spent
    [(left,)] = await service.rows("SELECT count(*) FROM delivery WHERE state <> 'delivered'")
    assert left == 0, f"{left} were not delivered"
    met = number / spent >= LEAST_A_SECOND
    return (
        f"{number} deliveries: {number / spent:,.0f} per second of a processor ({spent / number * 1000:.2f} ms each), "
        f"{number / wall:,.0f} per second; {LEAST_A_SECOND} a second take {LEAST_A_SECOND * spent / number:.0%} of a "
        f"processor; goal met: {met}"
    )


async def _medians(
    step: Callable[[Probe], Awaitable[float]], probes: Sequence[Probe], asked: int
) -> list[float]:
    """Return the median of each probe. They take turns, so that whatever slows the machine slows all alike."""
    taken: list[list[float]] = [[] for _ in probes]
    for number in range(asked + asked // 5):
        for probe, seconds in zip(probes, taken, strict=True):
            spent = await step(probe)
            if number >= asked // 5:
                seconds.append(spent)
    return [statistics.median(seconds) for seconds in taken]


@asynccontextmanager
async def _serving(
    url: str, directory: Path, hashes: Mapping[str, str], *, is_on: bool
) -> AsyncIterator[Service]:
    """Yield a service in this process with one user."""
    settings = {"webhooks.enabled": str(is_on).lower(), "limits.enabled": "false", **hashes}
    clock = MovableClock()
    services = Services(
        load_settings(environment(url, directory / "mail.jsonl", settings), directory), clock=clock
    )
    app = assemble(services)
    await services.open()
    try:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as client:
            service = Service(services, clock, directory / "mail.jsonl", client)
            body = {"name": "Ada", "email": EMAIL, "password": PASSWORD}
            await service.post("/sign-up/email", body)
            yield service
    finally:
        await services.close()


if __name__ == "__main__":
    typer.run(main)
