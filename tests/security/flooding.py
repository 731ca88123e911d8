"""More than anybody wants to read, sent while the answer is awaited."""

import asyncio
import contextlib
import sys

import pytest

from tests.server.http.test_protocol import PATIENCE, Wire

on_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="memory and open files of another process are read from /proc"
)

Answer = tuple[int, dict[str, str], bytes]


async def flood(wire: Wire, head: bytes, piece: bytes, most: int) -> tuple[Answer, int]:
    """Send a head, and then a piece again and again, until the answer is there or `most` bytes are sent.

    Gives the answer (status, headers, body) and the bytes sent.
    """
    answering, size = asyncio.create_task(wire.answer()), 0
    with contextlib.suppress(ConnectionError, TimeoutError):
        async with asyncio.timeout(PATIENCE):
            await wire.send(head)
            while size < most and not answering.done():
                await wire.send(piece)
                size += len(piece)
                await asyncio.sleep(0)
    return await answering, size


async def hang_up(wires: list[Wire]) -> None:
    """Drop connections, with all that is still to be sent on them, and return when their sockets are closed."""
    for wire in wires:
        wire.writer.transport.abort()
    await asyncio.gather(*(wire.writer.wait_closed() for wire in wires), return_exceptions=True)
