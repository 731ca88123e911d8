"""Webhooks: the check of their addresses, the queue of deliveries, the erasure of old events, and the metrics."""

from collections.abc import Iterable, Iterator

from domain.admin_webhooks import configuration, fields
from domain.outbound import OutboundGuard
from domain.webhooks import retention
from server.components.component import Component, Core, PeriodicJob
from server.config.base import Settings
from server.config.groups.webhooks import WebhookSettings
from server.outbound.guard import SystemResolver, guard_of
from server.outbound.urls import parse_url
from server.outbox.queue import Queue
from server.webhooks.queue import delivery_queue
from server.webhooks.sampler import Sampler

SAMPLE_EVERY = 5.0
"""Seconds between two updates of the metrics."""
ERASE_EVERY = 3600.0
"""Seconds from one erasure of past events to the next."""


class Webhooks(Component):
    """The component that sends events to webhook endpoints, stores configured endpoints, and erases old events."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._is_enabled = core.settings[WebhookSettings].enabled
        # Even while webhooks are off, because the command line can prepare endpoints.
        self._guard = guard_of(core.settings, SystemResolver())
        core.port.add(OutboundGuard, self._guard)

    @classmethod
    def check(cls, settings: Settings) -> Iterator[str]:
        """Yield the invalid URLs and unknown events of the endpoints in `webhooks.endpoints`."""
        chosen = settings[WebhookSettings]
        for name, endpoint in chosen.endpoints.items():
            key = f"webhooks.endpoints.{name}"
            try:
                is_development = settings.profile == "development"
                parse_url(endpoint.url, allowed_ports=chosen.allowed_ports, development=is_development)
            except ValueError as error:
                yield f"{key}.url: {error}"
            for event in endpoint.events:
                if event not in fields.subscriptions():
                    yield f"{key}.events: unknown event {event}"

    async def start(self) -> None:
        """Make the table of endpoints match `webhooks.endpoints`, if webhooks are enabled."""
        if self._is_enabled:
            await self._core.run(configuration.apply)

    def queues(self) -> Iterable[Queue]:
        """Return the queue of deliveries; none if webhooks are disabled."""
        if not self._is_enabled:
            return
        core = self._core
        yield delivery_queue(core.settings, core.run, core.clock, self._guard, core.metrics)

    def jobs(self) -> Iterable[PeriodicJob]:
        """Return the jobs that give up deliveries that waited too long, erase old events, and update the metrics."""
        core = self._core
        if not self._is_enabled:
            return
        yield PeriodicJob("webhook_payloads", self._erase, ERASE_EVERY)
        if core.metrics is not None:
            sampler = Sampler(core.metrics, core.database.reads, core.clock)
            yield PeriodicJob("webhook_metrics", sampler.sample, SAMPLE_EVERY)

    async def _erase(self) -> None:
        for job in (retention.expire_waiting, retention.erase_payloads):
            while await self._core.run(job) == retention.BATCH:
                pass
