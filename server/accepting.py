"""New connections are taken in several at a time, and the more the longer they had to wait.

libuv takes one in each turn of the event loop. In a flood a turn is as long as it takes to answer everybody who is
connected already, so that a newcomer behind five hundred others would wait for hundreds of such turns. But several
processes on one socket leave it at that while turns are short: else the first that wakes up would take all, and keep
them.
"""

import asyncio
import os
import socket
import time
from collections.abc import Callable, Sequence
from typing import Protocol

_MOST = 128
"""Connections taken in one turn."""

_EACH = 0.002
"""Seconds that who was left for other processes waits for each one that is taken beside the loop's own."""


class Listening(Protocol):
    """A socket that somebody listens on."""

    def fileno(self) -> int:
        """Give its number."""


class Accepting:
    """Takes connections beside the server of the event loop, from the same sockets, until it is closed."""

    def __init__(
        self,
        listeners: Sequence[Listening],
        protocol: Callable[[], asyncio.BaseProtocol],
        *,
        is_alone: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin; `protocol` makes what serves one connection, `clock` tells seconds. Runs in the event loop.

        `is_alone` says that no other process takes connections from these sockets.
        """
        self._loop = asyncio.get_running_loop()
        self._protocol = protocol
        self._tasks: set[asyncio.Task[object]] = set()
        self._is_alone = is_alone
        self._clock = clock
        self._left: dict[socket.socket, float] = {}
        """Since when somebody may wait at a socket at which not all were taken."""
        # A number of its own for each: the loop watches the given ones already.
        self._listeners = [socket.socket(fileno=os.dup(each.fileno())) for each in listeners]
        for listener in self._listeners:
            listener.setblocking(False)
            self._loop.add_reader(listener, self._accept, listener)

    async def close(self) -> None:
        """Take no more; whoever has been taken is being served by then."""
        for listener in self._listeners:
            self._loop.remove_reader(listener)
            listener.close()
        self._listeners.clear()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(self._share(listener)):
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # Nobody is waiting; or the system has no room, which is for the loop's server to deal with.
            connection.setblocking(False)
            # What the loop's server sets, too.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            task = self._loop.create_task(self._loop.connect_accepted_socket(self._protocol, connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._left[listener] = self._clock()

    def _share(self, listener: socket.socket) -> int:
        """Give how many to take in this turn."""
        if self._is_alone:
            return _MOST
        now = self._clock()
        waited = now - self._left.pop(listener, now)
        return min(_MOST, int(waited / _EACH))
