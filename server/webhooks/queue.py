"""The queue of webhook deliveries: sign and send each attempt, and record the outcome."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING

import structlog

from domain.context import Context, Runner
from domain.outbound import OutboundError
from domain.webhooks import backlog_limit, claims, deliveries
from domain.webhooks.claims import DueEndpoint
from domain.webhooks.deliveries import Failure, LeasedDelivery
from domain.webhooks.publication import DELIVERIES
from models.delivery import DeliveryError
from server.clock import Clock
from server.config.base import Settings
from server.config.groups.webhooks import WebhookSettings
from server.observability.metrics.registry import MetricsRegistry
from server.outbound import LazyClient
from server.outbound.guard import Guard
from server.outbox.queue import Pause, Queue, record_outcome, report
from server.webhooks import signature

if TYPE_CHECKING:
    from server.outbound.client import Answer, OutboundClient

TRIM_INTERVAL = timedelta(seconds=1)
"""The least time between two counts of waiting deliveries."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """The most simultaneous attempts of this instance and of one endpoint, and the timeout of an attempt in seconds."""

    concurrency: int
    endpoint_concurrency: int
    timeout: float


class DeliveryQueue(Queue):
    """The queue of webhook deliveries. Endpoints take turns, so that a slow one does not delay the others."""

    def __init__(
        self,
        *,
        run: Runner,
        clock: Clock,
        client: "LazyClient | OutboundClient",
        limits: Limits,
        metrics: MetricsRegistry | None = None,
        pause: Pause = asyncio.sleep,
    ) -> None:
        super().__init__(DELIVERIES, limits.concurrency)
        self._run = run
        self._clock = clock
        self._client = client
        self._limits = limits
        self._metrics = metrics
        self._pause = pause
        self._due: Sequence[DueEndpoint] = ()
        self._in_flight: Counter[str] = Counter()
        """Attempts in flight by endpoint."""
        self._turn = 0
        self._trimmed: datetime | None = None

    async def next_due(self) -> datetime | None:
        """Return the earliest time at which an attempt at an endpoint with free slots is due; None if none waits.

        Drops deliveries beyond the limit, and keeps the endpoints for `claim`.
        """
        endpoints = await self._run(claims.due_endpoints)
        # Those of a failing endpoint too, of which nothing is claimed for minutes.
        await self._trim([one.row.id for one in endpoints if one.due is not None])
        self._due = [one for one in endpoints if one.due is not None and self._free(one)]
        return min((one.due for one in self._due if one.due is not None), default=None)

    def _free(self, endpoint: DueEndpoint) -> int:
        return self._limits.endpoint_concurrency - self._in_flight[endpoint.row.id]

    async def claim(self, free: int) -> Sequence[LeasedDelivery]:
        """Claim up to `free` deliveries for the endpoints that `next_due` found, with an equal share for each."""
        now = self._clock()
        due = [one for one in self._due if one.due is not None and one.due <= now]
        if not due:
            return []
        # Endpoints take turns, where there are more of them than free slots.
        self._turn = (self._turn + 1) % len(due)
        chosen = (due[self._turn :] + due[: self._turn])[:free]
        share = max(1, free // len(chosen))
        numbers = {one.row.id: min(self._free(one), share) for one in chosen}  # defence: WH10 own-slots
        in_order = [one for one in due if one.row.id in numbers]
        claimed = await self._run(lambda ctx: claims.claim(ctx, numbers, in_order))
        for delivery in claimed:
            self._in_flight[delivery.endpoint.id] += 1
        return claimed

    async def _trim(self, endpoint_ids: Sequence[str]) -> None:
        """Drop deliveries beyond the limit, at most once a second, because they have to be counted."""
        now = self._clock()
        if self._trimmed is not None and timedelta(0) <= now - self._trimmed < TRIM_INTERVAL:
            return
        self._trimmed = now
        for endpoint_id in await self._run(lambda ctx: backlog_limit.full_endpoints(ctx, endpoint_ids)):
            dropped = await self._run(partial(backlog_limit.drop_excess, endpoint_id=endpoint_id))
            if dropped:
                log.warning("webhook.backlog_full", endpoint_id=endpoint_id, dropped=dropped)
                if self._metrics is not None:
                    self._metrics.webhooks_dropped(dropped)

    async def process(self, delivery: LeasedDelivery) -> None:
        """Send a delivery once, and record the outcome."""
        try:
            outcome = await self._attempt(delivery)
            result = await record_outcome(
                self._run, lambda ctx: self._record(ctx, delivery, outcome), self._pause
            )
            if result is not None and self._metrics is not None:
                self._metrics.webhook_attempt(result)
        finally:
            self._in_flight[delivery.endpoint.id] -= 1

    async def _attempt(self, delivery: LeasedDelivery) -> int | Failure:
        """Return the status of a success, or why the attempt failed."""
        # The time of the attempt, which receivers compare with theirs.
        # defence: WH6 time-of-attempt
        headers = signature.headers(delivery.event_id, delivery.secrets, delivery.body, self._clock())
        body = delivery.body.encode()
        try:
            answer = await self._client.post(
                delivery.endpoint.url, headers=headers, body=body, within=self._limits.timeout
            )
        except OutboundError as error:
            return Failure(DeliveryError(error.reason))  # defence: WH5 fixed-words
        except Exception as error:
            report(error, id=delivery.id)
            return Failure(DeliveryError.CONNECT)
        return answer.status if 200 <= answer.status < 300 else self._refused(answer)

    def _refused(self, answer: "Answer") -> Failure:
        if 300 <= answer.status < 400:
            return Failure(DeliveryError.REDIRECT, answer.status)
        retry_after = answer.retry_after if answer.status in {429, 503} else None
        return Failure(DeliveryError.STATUS, answer.status, parse_retry_after(retry_after, self._clock()))

    async def _record(self, ctx: Context, delivery: LeasedDelivery, outcome: int | Failure) -> str:
        """Record the outcome; return it as the metrics call it."""
        if isinstance(outcome, int):
            await deliveries.mark_delivered(ctx, delivery, outcome)
            return "delivered"
        is_postponed = await deliveries.mark_failed(ctx, delivery, outcome)
        log.warning(
            "webhook.attempt_failed",
            id=delivery.id,
            endpoint_id=delivery.endpoint.id,
            reason=outcome.error,
            attempts=delivery.attempts,
            is_last=not is_postponed,
        )
        return "postponed" if is_postponed else "failed"


def delivery_queue(
    settings: Settings, run: Runner, clock: Clock, guard: Guard, metrics: MetricsRegistry | None
) -> DeliveryQueue:
    """Create the queue of webhook deliveries. `guard` decides to which URLs requests may be sent."""
    chosen = settings[WebhookSettings]
    limits = Limits(chosen.concurrency, chosen.endpoint_concurrency, chosen.timeout.total_seconds())
    return DeliveryQueue(run=run, clock=clock, client=LazyClient(guard), limits=limits, metrics=metrics)


def parse_retry_after(text: str | None, now: datetime) -> timedelta | None:
    """Return the time to wait by a Retry-After header (RFC 9110, 10.2.3); None if missing, malformed or past."""
    if text is None:
        return None
    if text.isascii() and text.isdecimal():
        # A longer number is beyond any limit, and could be beyond that of a timedelta.
        return timedelta(seconds=int(text[:9]))
    try:
        delay = parsedate_to_datetime(text) - now
    except (TypeError, ValueError, OverflowError):
        return None
    return delay if delay > timedelta(0) else None
