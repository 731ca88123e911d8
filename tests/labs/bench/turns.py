"""Requests in many short turns: what each costs its server in processor time, however busy the machine is.

One kind is asked after the other, over and over, so that a slow minute hits all alike: shares within one turn say more
than any figure of a single run.
"""

import asyncio
import statistics
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

from tests.labs.bench import machine
from tests.labs.bench.servers import Server

CONNECTIONS = 32
TURN = 320
"""Requests of one kind in a turn: ten on each connection."""

_DEAD = b'"active":false'
"""What the response to the introspection of a dead token holds, for which no server has much to do."""

Load = Sequence[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
"""Open connections to a server."""
Turns = Mapping[Any, Sequence[float]]
"""Microseconds of a request in each turn, by its kind."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Requests of one kind, which are asked again and again."""

    server: Server
    requests: Sequence[bytes]
    port: int | None = None
    """Where, if not at the port of the server."""
    turn: int = TURN
    """How many requests a turn has."""


def get(path: str, headers: str = "") -> bytes:
    """Return a request without a body; `headers` are whole lines."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n".encode()


def post(path: str, form: str, headers: str = "") -> bytes:
    """Return a request with a form; `headers` are whole lines."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(form)}\r\n{headers}"
        f"Content-Type: application/x-www-form-urlencoded\r\n\r\n{form}"
    ).encode()


def share(of: Sequence[float], taken: Sequence[float]) -> float:
    """Return what share of a rate another one is: the median of the shares in one turn."""
    return statistics.median(one / other for one, other in zip(of, taken, strict=True))


async def take(asked: Mapping[Any, Asked], turns: int) -> Turns:
    """Ask everything in turns, after one that warms up."""
    taken: dict[Any, list[float]] = {kind: [] for kind in asked}
    for turn in range(turns + 1):
        for kind, each in asked.items():
            requests = list(islice(cycle(each.requests), each.turn))
            # Servers close connections that nobody has used for a few seconds.
            async with connected(each.port or each.server.port) as load:
                await cost(each.server, load, requests[:CONNECTIONS])
                took = await cost(each.server, load, requests)
            if turn:
                taken[kind].append(took)
    return taken


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Load]:
    """Keep a few connections to a server open."""
    load = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS)]
    yield load
    for _, writer in load:
        writer.close()


async def cost(server: Server, load: Load, requests: Sequence[bytes]) -> float:
    """Return the microseconds that a server takes for each request.

    Each connection sends one request after the other. Raises AssertionError for an error.
    """
    waiting = iter(requests)

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for request in waiting:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            body = await reader.readexactly(length)
            assert b" 200 " in head.split(b"\r\n", 1)[0], (head, body)
            assert _DEAD not in body, (head, body)

    before = machine.spent_nanoseconds(server.pid)
    await asyncio.gather(*(send(*connection) for connection in load))
    return (machine.spent_nanoseconds(server.pid) - before) / len(requests) / 1000
