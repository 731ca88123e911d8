"""A crowd that connects at once is taken in before long, and shared by the processes that serve."""

import asyncio
import os
import resource
import signal
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import pytest
import uvloop

from server.http.acceptor import Acceptor, SharedCounts, SingleProcess
from server.http.load_balancing import connection_counts
from tests.faults.places import DEADLINE
from tests.live import LiveService, serving
from tests.server.http.test_supervisor import pids

CROWD = 100

ASKING = b"GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Guest(asyncio.Protocol):
    """One connection; it notes in which turn of the event loop it was taken, and stays."""

    def __init__(self, turns: "Turns") -> None:
        self._turns = turns

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the turn."""
        self._turns.taken.append(self._turns.number)
        self._turns.transports.append(transport)


class Turns:
    """Counts the turns of an event loop, and who is taken in which."""

    def __init__(self) -> None:
        self.number = 0
        self.taken: list[int] = []
        self.transports: list[asyncio.BaseTransport] = []

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


async def take_in_a_crowd(*parts: SharedCounts) -> tuple[list[Turns], bool]:
    """Let a crowd connect to one socket that each of these has a part of, then look; give in which turns each took
    whom, and whether the socket was closed afterwards."""
    everywhere = [Turns() for _ in parts]
    with socket.create_server(("127.0.0.1", 0), backlog=CROWD) as listener, ExitStack() as ends:
        address = listener.getsockname()
        for _ in range(CROWD):
            ends.enter_context(closing(socket.create_connection(address)))
        accepting = [
            Acceptor(listener.dup(), partial(Guest, turns), turns.taken.__len__, part)
            for turns, part in zip(everywhere, parts, strict=True)
        ]
        for turns in everywhere:
            turns.go_on()
        async with asyncio.timeout(DEADLINE):
            while sum(len(turns.taken) for turns in everywhere) < CROWD:  # noqa: ASYNC110 (each look is a turn)
                await asyncio.sleep(0)
        for each in accepting:
            await each.close()
        for transport in (transport for turns in everywhere for transport in turns.transports):
            transport.close()
        listener.close()
        with socket.socket() as late:
            is_closed = late.connect_ex(address) != 0
    return everywhere, is_closed


def test_takes_all_who_wait_in_a_few_turns(runner: asyncio.Runner) -> None:
    [turns], is_closed = runner.run(take_in_a_crowd(SingleProcess()))

    assert max(turns.taken) - min(turns.taken) < CROWD / 10
    assert is_closed


def test_shares_those_who_wait_with_others(runner: asyncio.Runner) -> None:
    several, _ = runner.run(take_in_a_crowd(*connection_counts(4)))

    taken = [len(turns.taken) for turns in several]
    assert sum(taken) == CROWD
    assert max(taken) - min(taken) <= 2


def test_takes_those_whom_nobody_else_takes(runner: asyncio.Runner) -> None:
    """Another process has no connection, and hangs."""
    working, hanging = connection_counts(2)
    hanging.publish(0)

    [turns], _ = runner.run(take_in_a_crowd(working))

    assert len(turns.taken) == CROWD


def test_leaves_nobody_to_a_process_that_has_ended(runner: asyncio.Runner) -> None:
    """Nor is anybody kept waiting for it."""
    working, ended = connection_counts(2)
    ended.publish(0)
    ended.withdraw()

    [turns], _ = runner.run(take_in_a_crowd(working))

    assert max(turns.taken) - min(turns.taken) < CROWD / 10


def test_who_takes_no_more_is_not_waited_for(runner: asyncio.Runner) -> None:
    """Others have far more connections than it had when it was closed."""
    closed, other = connection_counts(2)

    runner.run(take_in_a_crowd(closed))

    assert not other.is_ahead(10 * CROWD)


def connected(live: LiveService, ends: ExitStack, number: int) -> list[socket.socket]:
    """Connect so many times at once."""
    host, _, port = live.url.removeprefix("http://").rpartition(":")
    return [
        ends.enter_context(closing(socket.create_connection((host, int(port)), DEADLINE)))
        for _ in range(number)
    ]


def ask(connections: list[socket.socket]) -> list[bytes]:
    """Ask for /ok on each of them, and give the first line of each answer."""
    for connection in connections:
        connection.sendall(ASKING)
    return [connection.recv(4096).split(b"\r\n")[0] for connection in connections]


def served_by(live: LiveService, processes: set[int]) -> list[int]:
    """Give how many connections of clients each process has."""
    port = int(live.url.rpartition(":")[2])
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inodes = {f"socket:[{line[9]}]" for line in lines if line[1].endswith(f":{port:04X}") and line[3] == "01"}
    owned = Counter(
        process
        for process in processes
        for each in Path(f"/proc/{process}/fd").iterdir()
        if os.readlink(each) in inodes
    )
    return [owned[process] for process in processes]


def test_processes_share_those_who_connect(tmp_path: Path) -> None:
    with serving(tmp_path, {}, workers=2) as live, ExitStack() as ends:
        processes = pids(live, 2)

        answers = [ask(connected(live, ends, 1)) for _ in range(32)]

        numbers = served_by(live, processes)
    assert answers == [[b"HTTP/1.1 200 OK"]] * 32
    assert sum(numbers) == 32
    # One that the system does not let run for 10 ms gets the next.
    assert min(numbers) >= 8


def test_a_process_that_hangs_leaves_newcomers_to_the_other(tmp_path: Path) -> None:
    with serving(tmp_path, {}, workers=2) as live, ExitStack() as ends:
        hanging, working = pids(live, 2)
        os.kill(hanging, signal.SIGSTOP)
        try:
            answers = ask(connected(live, ends, 32))

            numbers = served_by(live, {working})
        finally:
            os.kill(hanging, signal.SIGCONT)
    assert answers == [b"HTTP/1.1 200 OK"] * 32
    assert numbers == [32]


def test_whoever_there_is_no_room_for_waits_until_there_is(tmp_path: Path) -> None:
    """The process may open no more files: who is connected is served, and the others are as soon as some leave."""
    with serving(tmp_path, {}) as live, ExitStack() as late:
        with ExitStack() as early:
            first = connected(live, early, 1)
            assert ask(first) == [b"HTTP/1.1 200 OK"]
            open_files = len(list(Path(f"/proc/{live.process.pid}/fd").iterdir()))
            _, hard = resource.prlimit(live.process.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(live.process.pid, resource.RLIMIT_NOFILE, (open_files + 2, hard))
            crowd = connected(live, late, 10)
            live.output.wait_for('"accept.failed"')

            assert ask(first) == [b"HTTP/1.1 200 OK"]
            resource.prlimit(live.process.pid, resource.RLIMIT_NOFILE, (hard, hard))

        answers = ask(crowd)
    assert answers == [b"HTTP/1.1 200 OK"] * 10
