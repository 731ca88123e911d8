"""Row R1: something stands where the database should be, as a proxy without a primary does in a failover."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from sqlalchemy import make_url
from structlog.testing import capture_logs

from tests.conftest import Headers
from tests.handlers.steps import code, join
from tests.labs.faults.asking import UNAVAILABLE, until
from tests.labs.faults.engines import OwnCluster, relayed
from tests.labs.ha.logs import documented_reasons
from tests.proxy import Proxy
from tests.service import PASSWORD, Service

ASKED: tuple[tuple[str, str, object], ...] = (
    ("GET", "/get-session", None),
    ("GET", "/list-sessions", None),
    ("GET", "/ready", None),
    ("POST", "/update-user", {"name": "Ada L."}),
    ("POST", "/sign-in/email", {"email": "ada@example.com", "password": PASSWORD}),
    ("POST", "/sign-out", {}),
)

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def close(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
    """Close at once, as HAProxy does while no server is a primary."""


async def close_after_first_words(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read(8)


async def close_after_startup(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(8)
    writer.write(b"N")
    await reader.read(8)


async def close_within_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(8)
    writer.write(b"S")
    await reader.read(64)


async def speak_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(8)
    writer.write(b"HTTP/1.0 503 Service Unavailable\r\n\r\n")
    await reader.read(64)


async def fail_before_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer as a server that cannot start a process for the connection."""
    await reader.read(8)
    writer.write(b"E\0\0\0\x0fSFATAL\0\0")
    await reader.read(64)


@asynccontextmanager
async def standing(behave: Behaviour) -> AsyncIterator[int]:
    """Yield the port of a server that behaves so."""

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await behave(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        await server.wait_closed()


@pytest.fixture(scope="module")
async def relay(
    server: OwnCluster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Service, Proxy, Headers]]:
    """A service that reaches its database by a relay, the relay, and a user."""
    directory = tmp_path_factory.mktemp("relayed")
    async with relayed(server.create(migrated=True), directory) as (service, relay):
        yield service, relay, await join(service)


async def asked(service: Service, headers: Headers) -> list[httpx.Response]:
    """Return what is answered when everything is asked at once, three times."""
    return await asyncio.gather(
        *(service.client.request(way, path, headers=headers, json=body) for way, path, body in ASKED * 3)
    )


@pytest.mark.threat("R1")
@pytest.mark.parametrize(
    "behave",
    [close, close_after_first_words, close_after_startup, close_within_tls, speak_http, fail_before_tls],
)
async def test_what_is_no_database_costs_503_for_a_reason_of_the_manual(
    server: OwnCluster, relay: tuple[Service, Proxy, Headers], behave: Behaviour
) -> None:
    service, proxy, ada = relay
    async with standing(behave) as port:
        real = make_url(server.url())
        proxy.lead_to("127.0.0.1", port)
        await proxy.cut()
        with capture_logs() as logs:
            refused = await asked(service, ada)
        proxy.lead_to(str(real.host), int(real.port or 5432))

        async def is_well() -> bool:
            return (await service.get("/list-sessions", headers=ada)).status_code == 200

        await until(is_well)

    assert {(code(each), each.headers["retry-after"]) for each in refused} == {(UNAVAILABLE, "5")}
    reasons = {each["reason"] for each in logs}
    assert reasons
    assert reasons <= documented_reasons()


async def is_reading() -> bool:
    """Return whether look-ups are under way."""
    return any(task.get_name() == "BatchLoader" for task in asyncio.all_tasks())


@pytest.mark.threat("R1")
async def test_what_waits_for_the_database_as_the_service_stops_is_told_to_come_again(
    server: OwnCluster, tmp_path: Path
) -> None:
    async with relayed(server.create(migrated=True), tmp_path) as (service, relay):
        ada = await join(service)
        relay.freeze()
        with capture_logs() as logs:
            waiting = asyncio.create_task(asked(service, ada))
            await until(is_reading)
            await service.services.close()
            refused = await waiting

    assert {(code(each), each.headers["retry-after"]) for each in refused} == {(UNAVAILABLE, "5")}
    reasons = {each["reason"] for each in logs if "reason" in each}
    assert "CancelledError" in reasons <= documented_reasons()
