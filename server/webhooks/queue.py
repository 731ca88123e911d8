"""The queue of deliveries: each attempt is signed, sent, and its outcome recorded."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial

import structlog

from domain.context import Context, Runner
from domain.outbound import OutboundError
from domain.webhooks import deliveries, events
from domain.webhooks.deliveries import DueEndpoint, Failure, LeasedDelivery
from domain.webhooks.publication import DELIVERIES
from models.delivery import DeliveryError
from server.clock import Clock
from server.config.base import Settings
from server.config.groups.webhooks import WebhookSettings
from server.observability.metrics.registry import MetricsRegistry
from server.outbound.client import Answer, OutboundClient
from server.outbound.guard import Guard
from server.outbox.queue import Pause, Queue, record_outcome, report
from server.webhooks import signature

TRIM_INTERVAL = timedelta(seconds=1)
"""The time between two counts of the deliveries that wait for an endpoint."""

REPORT_INTERVAL = timedelta(hours=1)
"""The time between two audit records that deliveries of an endpoint were dropped."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """The attempts at the same time, of the instance and of an endpoint, and the seconds of an attempt."""

    concurrency: int
    endpoint_concurrency: int
    timeout: float


class DeliveryQueue(Queue):
    """Deliveries of webhooks. Claims go round by endpoint, so that one of them holds up no other."""

    def __init__(
        self,
        *,
        run: Runner,
        clock: Clock,
        client: OutboundClient,
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
        self._trimmed: dict[str, datetime] = {}
        self._reported: dict[str, datetime] = {}

    async def next_due(self) -> datetime | None:
        """Return the time of the next attempt at an endpoint that may receive one more."""
        endpoints = await self._run(deliveries.due_endpoints)
        self._due = [one for one in endpoints if one.due is not None and self._free(one)]
        return min((one.due for one in self._due if one.due is not None), default=None)

    def _free(self, endpoint: DueEndpoint) -> int:
        return self._limits.endpoint_concurrency - self._in_flight[endpoint.row.id]

    async def claim(self, free: int) -> Sequence[LeasedDelivery]:
        """Claim deliveries of the endpoints that `next_due` found, the same number of each if there are too many."""
        now = self._clock()
        due = [one for one in self._due if one.due is not None and one.due <= now]
        if not due:
            return []
        # Endpoints take turns, where there are more of them than free slots.
        self._turn = (self._turn + 1) % len(due)
        chosen = (due[self._turn :] + due[: self._turn])[:free]
        share = max(1, free // len(chosen))
        numbers = {one.row.id: min(self._free(one), share) for one in chosen}
        in_order = [one for one in due if one.row.id in numbers]
        claimed = await self._run(lambda ctx: deliveries.claim(ctx, numbers, in_order))
        for delivery in claimed:
            self._in_flight[delivery.endpoint.id] += 1
        await self._trim(numbers)
        return claimed

    async def _trim(self, endpoint_ids: Sequence[str] | dict[str, int]) -> None:
        """Drop deliveries beyond the limit, at most once a second for an endpoint, because they have to be counted."""
        now = self._clock()
        for endpoint_id in endpoint_ids:
            trimmed = self._trimmed.get(endpoint_id)
            if trimmed is not None and timedelta(0) <= now - trimmed < TRIM_INTERVAL:
                continue
            self._trimmed[endpoint_id] = now
            await self._run(partial(self._drop_excess, endpoint_id))

    async def _drop_excess(self, endpoint_id: str, ctx: Context) -> None:
        dropped = await deliveries.drop_excess(ctx, endpoint_id)
        if not dropped:
            return
        log.warning("webhook.backlog_full", endpoint_id=endpoint_id, dropped=dropped)
        reported = self._reported.get(endpoint_id)
        if reported is None or not timedelta(0) <= ctx.now - reported < REPORT_INTERVAL:
            self._reported[endpoint_id] = ctx.now
            events.backlog_full(ctx, endpoint_id, dropped)

    async def process(self, delivery: LeasedDelivery) -> None:
        """Attempt a delivery, and record the outcome."""
        try:
            outcome = await self._attempt(delivery)
            await record_outcome(self._run, lambda ctx: self._record(ctx, delivery, outcome), self._pause)
        finally:
            self._in_flight[delivery.endpoint.id] -= 1

    async def _attempt(self, delivery: LeasedDelivery) -> int | Failure:
        """Return the status of a success, or why the attempt failed."""
        # The time of the attempt, which receivers compare with theirs.
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

    def _refused(self, answer: Answer) -> Failure:
        if 300 <= answer.status < 400:  # defence: WH3 not-followed
            return Failure(DeliveryError.REDIRECT, answer.status)
        retry_after = answer.retry_after if answer.status in {429, 503} else None
        return Failure(DeliveryError.STATUS, answer.status, parse_retry_after(retry_after, self._clock()))

    async def _record(self, ctx: Context, delivery: LeasedDelivery, outcome: int | Failure) -> None:
        if isinstance(outcome, int):
            await deliveries.mark_delivered(ctx, delivery, outcome)
            self._count("delivered")
            return
        is_postponed = await deliveries.mark_failed(ctx, delivery, outcome)
        self._count("postponed" if is_postponed else "failed")
        log.warning(
            "webhook.attempt_failed",
            id=delivery.id,
            endpoint_id=delivery.endpoint.id,
            reason=outcome.error,
            attempts=delivery.attempts,
            is_last=not is_postponed,
        )

    def _count(self, result: str) -> None:
        if self._metrics is not None:
            self._metrics.webhook_attempt(result)


def delivery_queue(
    settings: Settings, run: Runner, clock: Clock, guard: Guard, metrics: MetricsRegistry | None
) -> DeliveryQueue:
    """Return the queue of a service with these settings."""
    chosen = settings[WebhookSettings]
    limits = Limits(chosen.concurrency, chosen.endpoint_concurrency, chosen.timeout.total_seconds())
    return DeliveryQueue(run=run, clock=clock, client=OutboundClient(guard), limits=limits, metrics=metrics)


def parse_retry_after(text: str | None, now: datetime) -> timedelta | None:
    """Return the time in a Retry-After header, seconds or a date (RFC 9110, 10.2.3); None if malformed or past."""
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
