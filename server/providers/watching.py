"""Who is told of questions to providers."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from domain.providers import CodeRefused, IdentityRefused, RefreshRefused
from server.metrics.tallies import Tallies
from server.tracing import Span


@dataclass(frozen=True, slots=True)
class Watch:
    """Who wants to know of questions to providers: what counts them, and what makes them spans."""

    tallies: Tallies | None = None
    span: Span | None = None

    @contextmanager
    def over(self, provider_id: str) -> Iterator[None]:
        """Watch one question, with all the calls it takes; a provider that has been heard lately is not called."""
        result = "unavailable"
        try:
            with nullcontext() if self.span is None else self.span(f"provider {provider_id}"):
                yield
            result = "answered"
        except (CodeRefused, RefreshRefused, IdentityRefused):
            result = "refused"
            raise
        finally:
            if self.tallies is not None:
                self.tallies.provider_call(provider_id, result)


NOBODY = Watch()
