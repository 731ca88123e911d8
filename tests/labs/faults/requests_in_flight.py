"""Requests in flight for as long as a test wants: the service has begun with them, and waits for their body."""

import asyncio
import contextlib
import json
from dataclasses import dataclass

import httpx

from tests.labs.faults.places import DEADLINE
from tests.service import PASSWORD


@dataclass(frozen=True, slots=True)
class InFlight:
    """One request whose head was read and whose body is still here."""

    email: str
    body: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def finish(self) -> int:
        """Send the body; give the status of the answer."""
        self.writer.write(self.body)
        return (await self.answer())[0]

    async def answer(self) -> tuple[int, dict[str, str]]:
        """Wait for the answer; give its status and its body."""
        try:
            async with asyncio.timeout(DEADLINE):
                answer = await self.reader.read()
        finally:
            self.writer.close()
        assert answer, "the connection has ended without an answer"
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body)


async def sign_up(origin: str, email: str) -> InFlight:
    """Begin a sign-up. The service says `100 Continue` when it begins to wait for the body (RFC 9110, 10.1.1)."""
    url = httpx.URL(origin)
    body = json.dumps({"name": "Ada", "email": email, "password": PASSWORD}).encode()
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(
        b"POST /sign-up/email HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n" % (url.netloc, len(body))
    )
    async with asyncio.timeout(DEADLINE):
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    return InFlight(email, body, reader, writer)


async def until_refused(origin: str) -> None:
    """Return once nobody takes a new connection."""
    url = httpx.URL(origin)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DEADLINE):
            while True:
                try:
                    _, writer = await asyncio.open_connection(url.host, url.port)
                except ConnectionRefusedError:
                    return
                except ConnectionResetError:
                    continue  # It had been taken in by the socket that is closing.
                writer.close()
                await asyncio.sleep(0.01)
    raise AssertionError("nobody refuses a new connection")
