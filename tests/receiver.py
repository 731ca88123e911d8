"""A server that records the requests it gets and responds as a script says: well, badly, or never.

It runs in the event loop of the test:

    async with Receiver() as receiver:
        receiver.script += [respond(503), hang()]  # the first two requests; later ones get `receiver.otherwise`
        ...
        first, second = await receiver.wait_for(2)
"""

import asyncio
import gzip
import ssl
import struct
import zlib
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address, ip_address
from types import TracebackType
from typing import Self

from tests.ports import free_port

HOST = "127.0.0.1"

Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]
"""Writes what a request gets; the connection is closed afterwards."""


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came."""

    method: str
    target: str
    headers: Mapping[str, str]
    """By name in lower case."""
    body: bytes
    at: datetime


def respond(status: int = 204, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Behaviour:
    """Respond in full."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return raw("\r\n".join((*lines, "", "")).encode() + body)


def redirect(status: int, location: str) -> Behaviour:
    """Respond with a redirect."""
    return respond(status, headers={"Location": location})


def raw(sent: bytes) -> Behaviour:
    """Send bytes, whatever they are; none at all to hang up."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        await writer.drain()

    return behave


def hang(first: bytes = b"") -> Behaviour:
    """Send nothing after the first bytes."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        await asyncio.Event().wait()

    return behave


def hold(until: asyncio.Event, status: int = 204) -> Behaviour:
    """Respond when the test says so."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        await until.wait()
        await respond(status)(writer)

    return behave


def endless(piece: bytes, first: bytes = b"HTTP/1.1 200 OK\r\n", every: float = 0) -> Behaviour:
    """Send the first bytes, and then the same piece, with `every` seconds between, until the connection is closed."""

    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(every)

    return behave


def bomb() -> Behaviour:
    """Send a body of 100 MiB, compressed to 100 KiB."""
    size = 2**20
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    # A block that refers to nothing before it can be repeated.
    block = packer.compress(bytes(size)) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for _ in range(100):
        checksum = zlib.crc32(bytes(size), checksum)
    head, tail = gzip.compress(b"")[:10], struct.pack("<II", checksum, 100 * size)
    return respond(200, head + 100 * block + packer.flush() + tail, {"Content-Encoding": "gzip"})


@dataclass
class Receiver:
    """The server; `tls` is its context if it speaks https."""

    tls: ssl.SSLContext | None = None
    host: str = HOST
    port: int = field(default_factory=free_port)
    script: deque[Behaviour] = field(default_factory=deque)
    otherwise: Behaviour = field(default_factory=respond)
    requests: list[Received] = field(default_factory=list)
    reads: bool = True
    """False: it responds before it has got a request."""
    connections: int = 0
    """How many connections were accepted, with or without a request."""

    def url(self, path: str = "/hook", host: str | None = None) -> str:
        """Return a URL of the receiver, with its address or with a name."""
        return f"{'https' if self.tls else 'http'}://{host or self.host}:{self.port}{path}"

    async def wait_for(self, count: int) -> Sequence[Received]:
        """Return the first requests, as soon as there are so many."""
        async with self._news:
            await self._news.wait_for(lambda: len(self.requests) >= count)
        return self.requests[:count]

    async def __aenter__(self) -> Self:
        self._news = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._accept, self.host, self.port, ssl=self.tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        while self._tasks:  # A connection may be accepted meanwhile.
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        await asyncio.sleep(0)  # Transports close their sockets in the next iteration of the event loop.

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.reads:
                await self._record(await _read(reader))
            behave = self.script.popleft() if self.script else self.otherwise
            await behave(writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # The client has left.
        finally:
            writer.close()

    async def _record(self, request: Received) -> None:
        async with self._news:
            self.requests.append(request)
            self._news.notify_all()


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    pairs = [line.split(": ", 1) for line in lines]
    headers = {name.lower(): value for name, value in pairs}
    assert len(headers) == len(pairs), "a header came twice"
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, target, headers, body, datetime.now(UTC))


Addresses = Sequence[str]


class Names:
    """A resolver that answers as it is told: for each host a list of addresses for each look-up; the last one stays."""

    def __init__(self, hosts: Mapping[str, Sequence[Addresses]]) -> None:
        self.hosts = {name: deque(answers) for name, answers in hosts.items()}
        self.asked: list[str] = []

    async def resolve(self, host: str) -> Sequence[IPv4Address | IPv6Address]:
        """Return the addresses of a host, the next ones with each call. Raises OSError for an unknown host."""
        self.asked.append(host)
        answers = self.hosts.get(host)
        if answers is None:
            raise OSError("unknown host")
        found = answers.popleft() if len(answers) > 1 else answers[0]
        return [ip_address(address) for address in found]
