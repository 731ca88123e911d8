"""Tracing by OpenTelemetry, which the extra `otel` installs; loaded only where `tracing.endpoint` is set."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import Protocol

from starlette.types import ASGIApp

from domain.ports import Hasher, Reads
from server.config.settings import Settings

EXTRA = "gatewright[otel]"

Span = Callable[[str], AbstractContextManager[object]]
"""Makes a part of what is being traced, by its name, which never holds anything a client has sent."""


class Tracing(Protocol):
    """What traces the requests of one process. Told of every answer, it gives the request's span its name."""

    def request(self, operation: str | None, status: int, seconds: float) -> None:
        """Name the span of the request that has just been answered, by its operationId."""

    def around(self, api: ASGIApp) -> ASGIApp:
        """Give the application with a span around each request."""

    def span(self, name: str) -> AbstractContextManager[object]:
        """Begin a part of the request that is under way; it ends with the block."""

    def hasher(self, hasher: Hasher) -> Hasher:
        """Give a hasher with a span around each hash."""

    def reads(self, reads: Reads) -> Reads:
        """Give reads with a span around each."""

    def statement(self, sql: str, arguments: Sequence[object]) -> AbstractContextManager[object]:
        """Begin the span of a statement, which shows nothing of its arguments; it ends with the block."""

    async def close(self) -> None:
        """Send what is still unsent, for a few seconds at most, and end."""


def is_installed() -> bool:
    """Whether the extra that traces is installed."""
    try:
        return find_spec("opentelemetry.sdk") is not None and find_spec("opentelemetry.exporter") is not None
    except ModuleNotFoundError:
        return False


def check(settings: Settings) -> Iterator[str]:
    """Yield that traces are wanted, and what sends them is not installed."""
    if settings.tracing.endpoint is not None and not is_installed():
        yield f"tracing.endpoint: needs OpenTelemetry; install it with: pip install '{EXTRA}'"


def tracing_of(settings: Settings) -> Tracing | None:
    """Give what traces by these settings; None where nothing does, and nothing for it is imported then."""
    if settings.tracing.endpoint is None:
        return None
    from server.observability.opentelemetry import OpenTelemetryTracing  # noqa: PLC0415 - OpenTelemetry is loaded where it is used

    return OpenTelemetryTracing(settings.tracing.endpoint, settings.tracing.ratio)
