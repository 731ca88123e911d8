"""Traces: nothing at all unless `tracing.endpoint` is set; then what `server/spans.py` makes, with the extra `otel`."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncEngine
from starlette.types import ASGIApp

from domain.ports import Hasher, Reads
from server.pipeline.ports import Observer
from server.settings import Settings

EXTRA = "gatewright[otel]"

Span = Callable[[str], AbstractContextManager[object]]
"""Makes a part of what is being traced, by its name, which never holds anything a client has sent."""


class Tracing(Observer, Protocol):
    """What traces the requests of one process. Told of every answer, it gives the request's span its name."""

    def around(self, api: ASGIApp) -> ASGIApp:
        """Give the application with a span around each request."""

    def span(self, name: str) -> AbstractContextManager[object]:
        """Begin a part of the request that is under way; it ends with the block."""

    def hasher(self, hasher: Hasher) -> Hasher:
        """Give a hasher with a span around each hash."""

    def reads(self, reads: Reads) -> Reads:
        """Give reads with a span around each."""

    def watch(self, engine: AsyncEngine) -> None:
        """Make each statement of an engine a span."""

    async def close(self) -> None:
        """Send what is still unsent, for a few seconds at most, and end."""


def is_installed() -> bool:
    """Whether the extra that traces is installed."""
    try:
        return find_spec("opentelemetry.sdk") is not None and find_spec("opentelemetry.exporter") is not None
    except ModuleNotFoundError:
        return False


def tracing_of(settings: Settings) -> Tracing | None:
    """Give what traces by these settings; None where nothing does, and nothing for it is imported then."""
    if settings.tracing.endpoint is None:
        return None
    made: Tracing = import_module("server.spans").Spans(settings.tracing.endpoint, settings.tracing.ratio)
    return made
