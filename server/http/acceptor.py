"""New connections are taken in as many at a time as there are, and shared with other processes on the same socket.

libuv takes one in each turn of the event loop. In a flood a turn is as long as it takes to answer everybody who is
connected already, so that a newcomer behind five hundred others would wait for hundreds of such turns. And of several
processes the first that wakes up would take all, and keep them: so one that has more than another leaves newcomers to
that one for a while.
"""

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import Protocol

import structlog

_MOST = 128
"""Connections taken in one turn."""

_PAUSE = 0.001
"""Seconds for which newcomers are left to other processes before this one looks again."""

_LOOKS = 10
"""How often it does before it takes them itself: the others may hang."""

_RETRY = 1.0
"""Seconds until the next try when the system has no room for a connection. Whoever wants one waits."""

_NO_ROOM = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

_log = structlog.get_logger(__name__)


class SharedCounts(Protocol):
    """The connection counts of all processes on a socket; see `server.http.load_balancing`."""

    def publish(self, connections: int) -> None:
        """Publish how many connections this process has."""

    def withdraw(self) -> None:
        """Publish that this process takes no more connections."""

    def is_ahead(self, connections: int) -> bool:
        """Note how many connections this process has, and say if it should leave newcomers to one that has fewer."""


class SingleProcess:
    """The counts of a single process, which has the socket to itself."""

    def publish(self, connections: int) -> None:
        """Do nothing."""

    def withdraw(self) -> None:
        """Do nothing."""

    def is_ahead(self, connections: int) -> bool:
        """Return False: there is no other process."""
        return False


class Acceptor:
    """Takes the connections of one listening socket, until it is closed."""

    def __init__(
        self,
        listener: socket.socket,
        protocol: Callable[[], asyncio.BaseProtocol],
        served: Callable[[], int],
        counts: SharedCounts,
    ) -> None:
        """Begin, in the event loop. `protocol` makes what serves one connection, `served` counts those that are.

        The socket belongs to this object from here on.
        """
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self._protocol = protocol
        self._served = served
        self._counts = counts
        self._tasks: set[asyncio.Task[object]] = set()
        """Connections that have been taken and are not being served yet."""
        self._pause: asyncio.TimerHandle | None = None
        listener.setblocking(False)
        self.publish()
        self._start_accepting()

    async def close(self) -> None:
        """Take no more; whoever has been taken is being served by then."""
        self._loop.remove_reader(self._listener)
        if self._pause is not None:
            self._pause.cancel()
        self._listener.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._counts.withdraw()

    def publish(self) -> None:
        """Publish how many connections this process has."""
        self._counts.publish(self._connections)

    @property
    def _connections(self) -> int:
        return self._served() + len(self._tasks)

    def _start_accepting(self) -> None:
        self._loop.add_reader(self._listener, self._accept_ready)

    def _accept_ready(self) -> None:
        """Accept all waiting connections, or leave them for a while as soon as another process has fewer."""
        if self._counts.is_ahead(self._connections):
            self._pause_accepting(_PAUSE, _LOOKS)
        else:
            self._accept(has_waited=False)

    def _pause_accepting(self, seconds: float, looks: int) -> None:
        """Stop watching the socket for a while, so that the event loop does not spin, and look again so many times."""
        self._loop.remove_reader(self._listener)
        self._pause = self._loop.call_later(seconds, self._look_again, looks - 1)

    def _look_again(self, looks: int) -> None:
        is_ahead = self._counts.is_ahead(self._connections)
        if is_ahead and looks > 0:
            self._pause_accepting(_PAUSE, looks)
        else:
            self._start_accepting()
            self._accept(has_waited=is_ahead)

    def _accept(self, *, has_waited: bool) -> None:
        """Accept waiting connections while no other process has fewer, or if they have been left to it long enough."""
        for _ in range(_MOST):
            if not has_waited and self._counts.is_ahead(self._connections):
                return
            try:
                connection, _ = self._listener.accept()
            except OSError as error:
                # Else nobody waits any more, or the newcomer's network has failed (accept(2)).
                if error.errno in _NO_ROOM:
                    _log.warning("accept.failed", reason=error.strerror)
                    self._pause_accepting(_RETRY, looks=0)
                return
            self._serve(connection)

    def _serve(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        # What the server of the event loop sets, too.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = self._loop.create_task(self._loop.connect_accepted_socket(self._protocol, connection))
        self._tasks.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[object]) -> None:
        """Count who is being served by now no longer twice."""
        self._tasks.discard(task)
        self.publish()
