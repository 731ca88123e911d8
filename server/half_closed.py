"""A client that sends nothing more and still reads: it gets the answers to all it has asked for."""

import asyncio

from domain import errors
from server.slow_readers import SlowReaders


class HalfClosed(SlowReaders):
    """A connection that outlives its client's half by the answers that are under way."""

    _has_ended = False
    """Whether the client has closed its half while answers were owed; the connection ends with the last of them."""

    _last_word: errors.Refusal | None = None
    """What the connection will end with, once all requests that came before it are answered; nothing more is read."""

    _deadline: asyncio.TimerHandle | None = None
    """When the request that is coming in must be there."""

    def eof_received(self) -> bool:  # type: ignore[override]  # uvicorn's gives nothing, which closes
        """Give whether to stay open for answers; a request that has not come whole will never, and gets none."""
        if not self._has_ended and not self.transport.is_closing() and self._is_answering():
            self._has_ended = True
            self._stop_clock()
            self._drop_unfinished()
        return self._has_ended and not self.transport.is_closing()

    def _is_answering(self) -> bool:
        return self._last_word is not None or self._is_received() or self._is_behind()

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _drop_unfinished(self) -> None:
        """Take the newest request out of the queue, if its body cannot be read: it never begins."""
        if self.pipeline and self.cycle.more_body and not self._is_in_head():
            self.pipeline.popleft()
