"""Tracing by OpenTelemetry, which the extra `otel` installs; loaded only where `tracing.endpoint` is set."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from server.config.base import Settings
from server.config.groups.observability import TracingSettings

if TYPE_CHECKING:
    from server.observability.opentelemetry import OpenTelemetryTracing

Span = Callable[[str], AbstractContextManager[object]]
"""A function that returns a context manager, whose block runs in a child span of this name; `nullcontext` if tracing is
disabled. The name must not contain text from clients.
"""


def is_installed() -> bool:
    """Return whether the extra `otel` is installed."""
    try:
        return find_spec("opentelemetry.sdk") is not None and find_spec("opentelemetry.exporter") is not None
    except ModuleNotFoundError:
        return False


def check(settings: Settings) -> Iterator[str]:
    """Yield a problem if tracing is enabled and the extra `otel` is not installed."""
    if settings[TracingSettings].endpoint is not None and not is_installed():
        yield "tracing.endpoint: needs OpenTelemetry; install it with: pip install 'gatewright[otel]'"


def tracing_of(settings: Settings) -> "OpenTelemetryTracing | None":
    """Return the tracer of this process, or None if tracing is disabled."""
    tracing = settings[TracingSettings]
    if tracing.endpoint is None:
        return None
    from server.observability.opentelemetry import OpenTelemetryTracing  # noqa: PLC0415 - loaded where it is used

    return OpenTelemetryTracing(tracing.endpoint, tracing.ratio)
