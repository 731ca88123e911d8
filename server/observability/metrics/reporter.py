"""How each serving process tells its samples: over a Unix socket in a folder that only its own user may enter."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import orjson

from domain import tokens
from server.observability.metrics.families import Sample

ANSWER_WITHIN = 3.0
"""Seconds a process has to tell its samples; Prometheus waits 10 for all of them."""

Samples = Callable[[], Awaitable[Sequence[Sample]]]


class Reporter:
    """Answers whoever connects with all samples, as JSON, and hangs up."""

    def __init__(self, folder: Path, samples: Samples) -> None:
        self._path = folder / f"{tokens.token(16)}.socket"
        self._samples = samples
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Begin to answer."""
        self._server = await asyncio.start_unix_server(self._answer, self._path)

    async def stop(self) -> None:
        """Answer no more. The counts of this process are kept by who has asked last."""
        if self._server is not None:
            self._server.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    async def _answer(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            writer.write(orjson.dumps([tuple(sample) for sample in await self._samples()]))
            await writer.drain()
        writer.close()


def ask(path: Path) -> list[Sample]:
    """Give the samples of the process that answers at a socket. Raises OSError, and ValueError for half an answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_WITHIN)
        connection.connect(str(path))
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    return [Sample(name, tuple(labels), value) for name, labels, value in orjson.loads(answer)]
