"""What comes on a connection behind requests that wait for their turn: it waits unread, and no more is taken in.

Whoever sends without waiting for answers would fill the memory otherwise: a request that has been read takes a hundred
times the bytes it had on the wire.
"""

from server.kept_alive import KeptAlive


class Backlog(KeptAlive):
    """A connection that reads no further than to the first requests that wait."""

    _unread = b""
    """Bytes that have been received behind requests that wait."""

    def _keep(self, data: bytes) -> None:
        """Keep bytes until nothing waits any more, and let no more of them come."""
        self._unread += data
        self.transport.hold_reading()

    def _read_on(self) -> None:
        """Go on with what has been kept, once nothing waits before it."""
        if self._unread and not self.pipeline and not self.transport.is_closing():
            data = self._forget()
            self.transport.resume_held()
            self.data_received(data)

    def _forget(self) -> bytes:
        """Give what has been kept, which is kept no longer."""
        data, self._unread = self._unread, b""
        return data
