"""What stands between an application and Gatewright: a wire that can be cut, fall silent, or answer for itself."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from tests.ports import free_port


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class Relay:
    """Listens on a port of the loopback, and passes what comes to a server until it is told otherwise."""

    def __init__(self, target: str) -> None:
        """`target` is the origin of the server, over http."""
        place = urlsplit(target)
        self._target = (place.hostname or "", place.port or 80)
        self._answer: bytes | None = None
        self._open: list[socket.socket] = []
        # One that no connection takes while nothing listens.
        self._port = free_port()
        self._listener = self._listen(self._port)
        self.url = f"http://127.0.0.1:{self._port}"

    def close(self) -> None:
        """Listen no more, and end every connection."""
        # Closing alone would not wake the thread that waits for the next connection.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._end_connections()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Refuse connections, as where nothing listens."""
        self.close()
        yield
        self._listener = self._listen(self._port)

    @contextmanager
    def answering(self, answer: bytes) -> Iterator[None]:
        """Answer every request with these bytes; with none, say nothing and keep the connection open."""
        self._answer = answer
        self._end_connections()
        yield
        self._answer = None
        self._end_connections()

    def _listen(self, port: int) -> socket.socket:
        listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return listener

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = listener.accept()
                threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        self._open.append(caller)
        if self._answer is None:
            there = socket.create_connection(self._target)
            self._open.append(there)
            threading.Thread(target=_pass_on, args=(there, caller), daemon=True).start()
            _pass_on(caller, there)
        elif self._answer:
            with contextlib.suppress(OSError):
                caller.recv(65536)
                caller.sendall(self._answer)
                caller.shutdown(socket.SHUT_RDWR)

    def _end_connections(self) -> None:
        while self._open:
            end = self._open.pop()
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
