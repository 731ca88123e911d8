"""Rate limits: the request limit, and a check whether the Valkey or Redis server has lost its counters."""

from collections.abc import Iterable
from functools import partial

from domain.context import Client, RequestFacts
from domain.rate_limits import events
from domain.rate_limits.policy import RateLimitPolicy
from server import rate_limit
from server.components.component import Component, Core, PeriodicJob
from server.config.groups.limits import LimitSettings
from server.rate_limit.requests import RequestLimiter


class RateLimits(Component):
    """The component that checks a Valkey or Redis server for lost counters."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def jobs(self) -> Iterable[PeriodicJob]:
        """Return the job that checks for lost counters; none if the counters are in the database."""
        core = self._core
        if core.settings[LimitSettings].store.get_secret_value() == rate_limit.DATABASE:
            return
        lost = core.metrics.counts_lost if core.metrics is not None else lambda: None
        yield PeriodicJob(
            "limit_store", partial(rate_limit.report_lost_counts, core.counters, lost), rate_limit.EVERY
        )


def request_limiter(core: Core) -> RequestLimiter | None:
    """Return the limiter that counts requests by network and operation; None if requests are not limited.

    A limit that is reached is audited.
    """
    quota = core.policy[RateLimitPolicy].requests
    if not quota.number:
        return None

    def audit(client: Client, operation_id: str) -> None:
        core.audit(
            lambda ctx: events.limit_reached(ctx, "requests", operation=operation_id),
            RequestFacts(core.clock(), client),
        )

    return RequestLimiter(quota, shared=core.counters, cipher=core.cipher, clock=core.clock, reached=audit)
