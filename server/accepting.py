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


class Share(Protocol):
    """What is known of how many connections this process has and others have; see `server.sharing`."""

    def tell(self, connections: int) -> None:
        """Note how many connections this process has."""

    def leave(self) -> None:
        """Note that this process takes none any more."""

    def is_ahead(self, connections: int) -> bool:
        """Note how many connections this process has, and say if it should leave newcomers to one that has fewer."""


class Alone:
    """The share of a process that has a socket to itself."""

    def tell(self, connections: int) -> None:
        """Tell nobody."""

    def leave(self) -> None:
        """Tell nobody."""

    def is_ahead(self, connections: int) -> bool:
        """Nobody is there to leave newcomers to."""
        return False


class Accepting:
    """Takes the connections of one listening socket, until it is closed."""

    def __init__(
        self,
        listener: socket.socket,
        protocol: Callable[[], asyncio.BaseProtocol],
        served: Callable[[], int],
        share: Share,
    ) -> None:
        """Begin, in the event loop. `protocol` makes what serves one connection, `served` counts those that are.

        The socket belongs to this object from here on.
        """
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self._protocol = protocol
        self._served = served
        self._share = share
        self._tasks: set[asyncio.Task[object]] = set()
        """Connections that have been taken and are not being served yet."""
        self._pause: asyncio.TimerHandle | None = None
        listener.setblocking(False)
        self.tell()
        self._watch()

    async def close(self) -> None:
        """Take no more; whoever has been taken is being served by then."""
        self._loop.remove_reader(self._listener)
        if self._pause is not None:
            self._pause.cancel()
        self._listener.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._share.leave()

    def tell(self) -> None:
        """Note for the other processes how many connections this one has."""
        self._share.tell(self._connections)

    @property
    def _connections(self) -> int:
        return self._served() + len(self._tasks)

    def _watch(self) -> None:
        self._loop.add_reader(self._listener, self._come)

    def _come(self) -> None:
        """Somebody waits: take all who do, or leave them for a while as soon as another process has fewer."""
        if self._share.is_ahead(self._connections):
            self._leave(_PAUSE, _LOOKS)
        else:
            self._take(has_waited=False)

    def _leave(self, seconds: float, looks: int) -> None:
        """Look away, so that the loop does not turn round and round, and look again so many times."""
        self._loop.remove_reader(self._listener)
        self._pause = self._loop.call_later(seconds, self._look_again, looks - 1)

    def _look_again(self, looks: int) -> None:
        is_ahead = self._share.is_ahead(self._connections)
        if is_ahead and looks > 0:
            self._leave(_PAUSE, looks)
        else:
            self._watch()
            self._take(has_waited=is_ahead)

    def _take(self, *, has_waited: bool) -> None:
        """Take those who wait; as long as no other process has fewer, unless those were left to it for long enough."""
        for _ in range(_MOST):
            if not has_waited and self._share.is_ahead(self._connections):
                return
            try:
                connection, _ = self._listener.accept()
            except OSError as error:
                # Else nobody waits any more, or the newcomer's network has failed (accept(2)).
                if error.errno in _NO_ROOM:
                    _log.warning("service.no_room", reason=error.strerror)
                    self._leave(_RETRY, looks=0)
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
        self.tell()
