"""Instrumentation hooks for calls to identity providers."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from domain.identity_provider import CodeRefused, IdentityRefused, RefreshRefused
from server.observability.metrics.registry import MetricsRegistry
from server.observability.tracing import Span


@dataclass(frozen=True, slots=True)
class Instrumentation:
    """The metrics and the tracing of calls to identity providers; each is optional."""

    metrics: MetricsRegistry | None = None
    span: Span = nullcontext

    @contextmanager
    def measure(self, provider_id: str) -> Iterator[None]:
        """Count and trace the operation in this block, which may make several HTTP calls or none."""
        result = "unavailable"
        try:
            with self.span(f"provider {provider_id}"):
                yield
            result = "answered"
        except (CodeRefused, RefreshRefused, IdentityRefused):
            result = "refused"
            raise
        finally:
            if self.metrics is not None:
                self.metrics.provider_call(provider_id, result)


NO_INSTRUMENTATION = Instrumentation()
