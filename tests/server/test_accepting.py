"""A crowd that connects at once is taken in before long, and shared by the processes that have nothing to do."""

import asyncio
import os
import socket
from collections import Counter
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

    def __init__(self, length: float) -> None:
        """Let each of them take so many seconds."""
        self.number = 0
        self.taken: list[int] = []
        self._length = length

    def clock(self) -> float:
        """Tell the time, in seconds."""
        return self.number * self._length

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


async def take_in_a_crowd(*, is_alone: bool, length: float = 0.0) -> tuple[list[int], bool]:
    """Let a crowd connect, then look, in turns of so many seconds; give the turn in which each was taken, and whether
    it ended afterwards."""
    turns = Turns(length)
    server = await asyncio.get_running_loop().create_server(partial(Guest, turns), "127.0.0.1", 0)
    accepting = Accepting(server.sockets, partial(Guest, turns), is_alone=is_alone, clock=turns.clock)
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
    taken, is_closed = runner.run(take_in_a_crowd(is_alone=True))

    assert max(taken) - min(taken) < CROWD / 10
    assert is_closed


def test_leaves_others_to_further_processes(runner: asyncio.Runner) -> None:
    """The event loop's own server takes one in a turn."""
    taken, _ = runner.run(take_in_a_crowd(is_alone=False))

    assert max(Counter(taken).values()) <= 2


def test_takes_the_more_the_longer_nobody_else_did(runner: asyncio.Runner) -> None:
    taken, _ = runner.run(take_in_a_crowd(is_alone=False, length=0.05))

    assert max(taken) - min(taken) < CROWD / 10


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
