"""A client that does not read its answers: its connection ends when nothing of them has left for too long."""

import asyncio
from typing import ClassVar

from server.backlog import Backlog


class SlowReaders(Backlog):
    """A connection that waits for its client to read, as long as that goes on."""

    request_timeout: ClassVar[float]

    _patience: asyncio.TimerHandle | None = None
    _unsent = 0
    """Bytes that waited to leave when one last looked."""

    def pause_writing(self) -> None:
        """Answer no further until what waits has left, and look in time whether it does."""
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        """Answer on."""
        self._stop_waiting()
        super().resume_writing()

    def _wait_for_reader(self) -> None:
        self._unsent = self.transport.get_write_buffer_size()
        self._patience = self.loop.call_later(self.request_timeout, self._look_for_reader)

    def _look_for_reader(self) -> None:
        if self.transport.get_write_buffer_size() < self._unsent:
            self._wait_for_reader()
        else:
            self.transport.abort()

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
