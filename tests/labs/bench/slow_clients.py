"""`python -m tests.labs.bench.slow_clients`: what a client costs that sends one byte of a request per interval (R37).

The clients send either the head of a request, byte by byte and without an end, or a complete head and then the body,
byte by byte. Stock uvicorn with httptools, which serves the application of this module, is compared with the service.
Prints how many connections are open at the end, after how long the servers closed others, with which status, and how
much the memory of the server grew by. It asserts nothing.
"""

import asyncio
import itertools
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from starlette.types import Receive, Scope, Send

from tests.live import serving

WARM_UP = 20
"""Connections before those that are measured, so that memory that a server takes once does not count."""

SETTLED_AFTER = 8.0
"""Seconds after the connections were opened at which memory is read; no server closes any earlier."""

_HEAD = b"POST /sign-in/email HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
_STATUS = slice(9, 12)
"""The place of the status in a response."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server under measurement."""

    name: str
    port: int
    pid: int

    def memory(self) -> float:
        """Return the resident memory in KiB."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * 4.0


@dataclass(frozen=True, slots=True)
class Row:
    """What happened to the connections of one kind."""

    server: str
    kind: str
    opened: int
    closed_after: Sequence[float]
    statuses: frozenset[str]
    kib: float


Clients = Annotated[int, typer.Option(min=1, help="Connections of each kind to each server.")]
Interval = Annotated[float, typer.Option(min=0.1, help="Seconds between two bytes.")]
Seconds = Annotated[float, typer.Option(min=SETTLED_AFTER, help="How long the clients go on.")]


def main(clients: Clients = 5000, interval: Interval = 3.0, seconds: Seconds = 120.0) -> None:
    """Measure both servers at the same time, with all settings as they ship."""
    # Most systems allow a process more open files than it has at first. The servers inherit this.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-bench-")))
        live = stack.enter_context(serving(directory, {}))
        port = urlsplit(live.url).port or 0
        servers = [
            stack.enter_context(_stock()),
            Server("Gatewright", port, live.process.pid),
        ]
        rows = asyncio.run(_measure(servers, clients, interval, seconds))
    print(f"One byte every {interval:g} s, for {seconds:g} s:\n")
    print(
        "| Server | What is slow | Connections | Open at the end | Closed after, median and most | Status | KiB each |"
    )
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        after = row.closed_after
        times = f"{statistics.median(after):.1f} s, {max(after):.1f} s" if after else "none"
        status = ", ".join(sorted(row.statuses)) or "none"
        remaining = row.opened - len(after)
        print(
            f"| {row.server} | {row.kind} | {row.opened} | {remaining} | {times} | {status} | {row.kib:.1f} |"
        )


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Read the body, as applications do, and respond with 200."""
    if scope["type"] == "http":
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})


@contextmanager
def _stock() -> Iterator[Server]:
    """Run stock uvicorn on a free port."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "uvicorn", "tests.labs.bench.slow_clients:application"),
            *("--http", "httptools", "--loop", "uvloop", "--port", "0", "--no-access-log"),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        started = next(line for line in process.stderr if "running on" in line)
        yield Server("stock uvicorn", urlsplit(started.split()[4]).port or 0, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            # It waits for the slow requests to end.
            process.kill()
            process.wait()


async def _measure(servers: Sequence[Server], clients: int, interval: float, seconds: float) -> list[Row]:
    for server in servers:
        warm_up = (_trickle(server, kind, interval, 1.0) for kind in _KINDS for _ in range(WARM_UP))
        await asyncio.gather(*warm_up)
    return [
        row
        for kind in _KINDS
        for row in await asyncio.gather(
            *(_measure_one(server, kind, clients, interval, seconds) for server in servers)
        )
    ]


async def _measure_one(server: Server, kind: str, clients: int, interval: float, seconds: float) -> Row:
    before = server.memory()
    tasks = [asyncio.create_task(_trickle(server, kind, interval, seconds)) for _ in range(clients)]
    await asyncio.sleep(SETTLED_AFTER)
    grown = server.memory() - before
    ends = [end for end in await asyncio.gather(*tasks) if end is not None]
    return Row(
        server.name,
        kind,
        clients,
        [after for after, _ in ends],
        frozenset(status for _, status in ends),
        grown / clients,
    )


def _slow_head() -> Iterator[bytes]:
    for byte in itertools.chain(_HEAD + b"x-slow: ", itertools.repeat(ord("a"))):
        yield bytes([byte])


def _slow_body() -> Iterator[bytes]:
    yield _HEAD + b"content-length: 60000\r\n\r\n{"
    yield from itertools.repeat(b" ")


_KINDS = {"the head": _slow_head, "the body": _slow_body}


async def _trickle(server: Server, kind: str, interval: float, seconds: float) -> tuple[float, str] | None:
    """Send one byte per interval; return when the server ended the connection, and with which status, if it did."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    begun = time.monotonic()
    sending = asyncio.create_task(_send(writer, _KINDS[kind](), interval))
    try:
        async with asyncio.timeout(seconds):
            response = await reader.read(_STATUS.stop)
        return time.monotonic() - begun, response[_STATUS].decode() or "none"
    except TimeoutError:
        return None
    finally:
        sending.cancel()
        writer.close()


async def _send(writer: asyncio.StreamWriter, pieces: Iterator[bytes], interval: float) -> None:
    for piece in pieces:
        writer.write(piece)
        await asyncio.sleep(interval)


if __name__ == "__main__":
    typer.run(main)
