"""A name server on this machine, whose records a test writes, and what it is asked."""

import asyncio
import socketserver
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import cast

import dns.flags
import dns.message
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset

HOST = "127.0.0.1"


@dataclass
class NameServer:
    """The server. A record whose name begins with `*.` is for all names below that have none of their own."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    """Other names by name (CNAME)."""
    fails: bool = False
    """Whether it responds with SERVFAIL."""
    is_silent: bool = False
    is_held: bool = False
    """Whether responses wait for `release`."""
    held: list[Callable[[], None]] = field(default_factory=list)
    expected: int = 1
    is_reached: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once as many responses wait as are expected."""
    questions: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def address(self) -> str:
        """Its address and port, as the setting has them."""
        return f"{HOST}:{self.port}"

    def reset(self) -> None:
        """Forget all records and questions, and respond as a new server does."""
        for known in (self.texts, self.aliases, self.held, self.questions):
            known.clear()
        self.fails = self.is_silent = self.is_held = False
        self.expected = 1
        self.is_reached.clear()

    def release(self) -> None:
        """Send the responses that wait, and later ones at once."""
        self.is_held = False
        for send in self.held:
            send()

    def respond(self, data: bytes) -> bytes:
        """Return the response to a query."""
        query = dns.message.from_wire(data)
        name = query.question[0].name.to_text(omit_final_dot=True).lower()
        self.questions.append(name)
        response = dns.message.make_response(query)
        response.flags |= dns.flags.RA
        if self.fails:
            response.set_rcode(dns.rcode.SERVFAIL)
            return response.to_wire()
        owner = name
        if alias := self.aliases.get(name):
            response.answer.append(
                dns.rrset.from_text(f"{name}.", 60, dns.rdataclass.IN, dns.rdatatype.CNAME, f"{alias}.")
            )
            owner = alias
        texts = self.texts.get(owner, self.texts.get(f"*.{owner.partition('.')[2]}"))
        if texts is None:
            response.set_rcode(dns.rcode.NXDOMAIN)
            return response.to_wire()
        quoted = (f'"{text}"' for text in texts)
        response.answer.append(
            dns.rrset.from_text(f"{owner}.", 60, dns.rdataclass.IN, dns.rdatatype.TXT, *quoted)
        )
        return response.to_wire()


class _Protocol(asyncio.DatagramProtocol):
    def __init__(self, server: NameServer) -> None:
        self._server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if self._server.is_silent:
            return
        send = partial(self._transport.sendto, self._server.respond(data), addr)
        if self._server.is_held:
            self._server.held.append(send)
            if len(self._server.held) >= self._server.expected:
                self._server.is_reached.set()
        else:
            send()


@asynccontextmanager
async def name_server() -> AsyncIterator[NameServer]:
    """Run a name server on a free port."""
    server = NameServer()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: _Protocol(server), local_addr=(HOST, 0))
    server.port = transport.get_extra_info("sockname")[1]
    try:
        yield server
    finally:
        transport.close()


@contextmanager
def name_server_in_thread(port: int) -> Iterator[NameServer]:
    """Run a name server on a port, for tests without an event loop."""
    server = NameServer(port=port)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            data, socket = self.request
            socket.sendto(server.respond(data), self.client_address)

    with socketserver.UDPServer((HOST, port), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown()
            thread.join()
