"""Rate limits: the limit of requests, and a report when the store of counters has lost them."""

from collections.abc import Iterable
from functools import partial

from domain.context import Client, RequestFacts
from domain.rate_limits import events
from domain.rate_limits.policy import RateLimitPolicy
from server import rate_limit
from server.components.component import Component, Core, PeriodicJob
from server.rate_limit.requests import RequestLimiter


class RateLimits(Component):
    """Watches a Valkey or Redis server."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def jobs(self) -> Iterable[PeriodicJob]:
        """Look every few seconds whether the store has lost its counts."""
        core = self._core
        if core.settings.limits.store.get_secret_value() == rate_limit.DATABASE:
            return
        lost = core.metrics.counts_lost if core.metrics is not None else _nothing
        yield PeriodicJob(
            "limit_store", partial(rate_limit.report_lost_counts, core.counters, lost), rate_limit.EVERY
        )


def request_limiter(core: Core) -> RequestLimiter | None:
    """Return what limits requests by network and operation; None where nothing does."""
    quota = core.policy[RateLimitPolicy].requests
    if not quota.number:
        return None

    def audit(client: Client, operation_id: str) -> None:
        core.audit(
            lambda ctx: events.limit_reached(ctx, "requests", operation=operation_id),
            RequestFacts(core.clock(), client),
        )

    return RequestLimiter(quota, shared=core.counters, cipher=core.cipher, clock=core.clock, reached=audit)


def _nothing() -> None:
    """Count nowhere."""
