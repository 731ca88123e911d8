"""A transport that gathers what is written in one turn of the event loop into one write."""

import asyncio
from collections.abc import Callable
from typing import Any


class Gathered:
    """Stands before a transport. A response's head and body leave together, one system call instead of two."""

    __slots__ = ("_close", "_is_closed", "_is_held", "_loop", "_pieces", "_transport")

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        close: Callable[[asyncio.Transport], None],
    ) -> None:
        """`close` is called to close the transport once everything has been handed to it."""
        self._transport = transport
        self._loop = loop
        self._close = close
        self._pieces: list[bytes] = []
        self._is_closed = False
        self._is_held = False

    def write(self, piece: bytes) -> None:
        """Take a piece; it leaves at the end of this turn of the event loop, or when the transport is closed.

        After that there is nobody to take it: a closed transport may still be open for reading.
        """
        if self._is_closed:
            return
        if not self._pieces:
            self._loop.call_soon(self.flush)
        self._pieces.append(piece)

    def write_whole(self, answer: bytes) -> None:
        """Hand on a whole answer, after what has been gathered: there is nothing to wait for."""
        if not self._is_closed:
            self.flush()
            if not self._transport.is_closing():
                self._transport.write(answer)

    def flush(self) -> None:
        """Hand on what has been gathered."""
        if self._pieces:
            pieces, self._pieces = self._pieces, []
            if not self._transport.is_closing():
                self._transport.write(b"".join(pieces))

    def close(self) -> None:
        """Hand on what has been gathered, and close."""
        if not self._is_closed:
            self._is_closed = True
            self.flush()
            self._close(self._transport)

    def is_closing(self) -> bool:
        """Whether nothing written from here on will arrive."""
        return self._is_closed or self._transport.is_closing()

    def hold_reading(self) -> None:
        """Read nothing until `resume_held`, whoever else resumes reading."""
        self._is_held = True
        if self._transport.is_reading():
            self._transport.pause_reading()

    def resume_held(self) -> None:
        """Read again."""
        self._is_held = False
        self.resume_reading()

    def resume_reading(self) -> None:
        """Read again, unless it is held."""
        if not self._is_held and not self._transport.is_closing() and not self._transport.is_reading():
            self._transport.resume_reading()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
