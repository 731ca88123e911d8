"""A crowd that connects at once is taken in at once, so that nobody behind it waits for all of it to be answered."""

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import pytest
import uvloop

from server.accepting import Accepting
from tests.faults.places import DEADLINE
from tests.live import serving

CROWD = 100


class Guest(asyncio.Protocol):
    """One connection; it notes in which turn of the event loop it was taken."""

    def __init__(self, turns: "Turns") -> None:
        self._turns = turns

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the turn."""
        self._turns.taken.append(self._turns.number)
        transport.close()


class Turns:
    """Counts the turns of an event loop."""

    def __init__(self) -> None:
        self.number = 0
        self.taken: list[int] = []

    def go_on(self) -> None:
        """Count one, and come again in the next."""
        self.number += 1
        if len(self.taken) < CROWD:
            asyncio.get_running_loop().call_soon(self.go_on)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """The event loop that the service runs in."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        yield runner


async def take_in_a_crowd() -> tuple[list[int], bool]:
    """Let a crowd connect, then look; give the turns in which each was taken, and whether it ended afterwards."""
    turns = Turns()
    server = await asyncio.get_running_loop().create_server(partial(Guest, turns), "127.0.0.1", 0)
    accepting = Accepting(server.sockets, partial(Guest, turns))
    with ExitStack() as ends:
        address = server.sockets[0].getsockname()
        for _ in range(CROWD):
            ends.enter_context(closing(socket.create_connection(address)))
        turns.go_on()
        async with asyncio.timeout(DEADLINE):
            while len(turns.taken) < CROWD:  # noqa: ASYNC110 (each look is a turn)
                await asyncio.sleep(0)
        await accepting.close()
        server.close()
        await server.wait_closed()
        with socket.socket() as late:
            is_closed = late.connect_ex(address) != 0
    return turns.taken, is_closed


def test_takes_all_who_wait_in_a_few_turns(runner: asyncio.Runner) -> None:
    taken, is_closed = runner.run(take_in_a_crowd())

    assert max(taken) - min(taken) < CROWD / 10
    assert is_closed


def test_the_service_takes_them_so(tmp_path: Path) -> None:
    """Two watch the socket, by numbers of their own: the server of the event loop, and who helps it."""
    with serving(tmp_path, {}) as live:
        port = int(live.url.rpartition(":")[2])
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        [inode] = [line[9] for line in lines if line[1].endswith(f":{port:04X}") and line[3] == "0A"]

        watching = [
            os.readlink(each)
            for each in Path(f"/proc/{live.process.pid}/fd").iterdir()
            if f"socket:[{inode}]" == os.readlink(each)
        ]

    assert len(watching) == 2
