"""The queue of logout tokens (OpenID Connect Back-Channel Logout): sign and send each, and record the outcome."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import structlog

from domain.backchannel_logout import deliveries
from domain.backchannel_logout.deliveries import DueClient, LeasedLogout
from domain.backchannel_logout.filing import LOGOUTS
from domain.backchannel_logout.policy import BackchannelLogoutPolicy
from domain.context import Context, Runner
from domain.jwt.signing_keys import SigningKeys
from domain.outbound import OutboundError, OutboundFailure, OutboundGuard
from domain.policy import Policy
from domain.ports import Ports
from server.clock import Clock
from server.observability.metrics.registry import MetricsRegistry
from server.outbound import LazyClient
from server.outbound.guard import Guard
from server.outbox.queue import Pause, Queue, record_outcome, report

if TYPE_CHECKING:
    from server.outbound.client import OutboundClient

CONCURRENCY = 20
"""The most simultaneous attempts of this instance."""
CLIENT_CONCURRENCY = 5
"""The most simultaneous attempts for one client, so that a slow one leaves slots for the others."""
TIMEOUT = 5.0
"""Timeout in seconds of an attempt."""

_HEADERS = {
    "content-type": "application/x-www-form-urlencoded",
    "user-agent": "Gatewright-Logout/1",
    "cache-control": "no-store",
}

log = structlog.get_logger(__name__)


class LogoutQueue(Queue):
    """The queue of logout tokens: it notifies clients of ended sessions. Clients take turns, so none delays others."""

    def __init__(
        self,
        *,
        issuer: str,
        keys: SigningKeys,
        run: Runner,
        clock: Clock,
        client: "LazyClient | OutboundClient",
        metrics: MetricsRegistry | None = None,
        pause: Pause = asyncio.sleep,
    ) -> None:
        super().__init__(LOGOUTS, CONCURRENCY)
        self._issuer = issuer
        self._keys = keys
        self._run = run
        self._clock = clock
        self._client = client
        self._metrics = metrics
        self._pause = pause
        self._due: Sequence[DueClient] = ()
        self._in_flight: Counter[str] = Counter()
        """Attempts in flight by client."""
        self._turn = 0

    async def next_due(self) -> datetime | None:
        """Return the time of the next attempt for a client with free slots; None if there is none."""
        clients = await self._run(deliveries.due_clients)
        self._due = [one for one in clients if self._free(one.client_id)]
        return min((one.due for one in self._due), default=None)

    def _free(self, client_id: str) -> int:
        return CLIENT_CONCURRENCY - self._in_flight[client_id]

    async def claim(self, free: int) -> Sequence[LeasedLogout]:
        """Claim up to `free` deliveries for the clients that `next_due` found, with an equal share for each."""
        now = self._clock()
        due = [one.client_id for one in self._due if one.due <= now]
        if not due:
            return []
        # Clients take turns, where there are more of them than free slots.
        self._turn = (self._turn + 1) % len(due)
        chosen = (due[self._turn :] + due[: self._turn])[:free]
        share = max(1, free // len(chosen))
        numbers = {one: min(self._free(one), share) for one in sorted(chosen)}  # defence: O23 own-slots
        claimed = await self._run(lambda ctx: deliveries.claim(ctx, numbers))
        for delivery in claimed:
            self._in_flight[delivery.client_id] += 1
        return claimed

    async def process(self, delivery: LeasedLogout) -> None:
        """Send a logout token once, and record the outcome."""
        try:
            fault = await self._attempt(delivery)
            result = await record_outcome(
                self._run, lambda ctx: self._record(ctx, delivery, fault), self._pause
            )
            if result is not None and self._metrics is not None:
                self._metrics.logout_attempt(result)
        finally:
            self._in_flight[delivery.client_id] -= 1

    async def _attempt(self, delivery: LeasedLogout) -> str | None:
        """Return why the attempt failed, in a word of this program, or None."""
        try:
            now = self._clock()
            claims = deliveries.claims_of(self._issuer, delivery, now)
            token = await self._keys.sign(claims, now, algorithm=delivery.algorithm, typ="logout+jwt")
            body = urlencode({"logout_token": token}).encode()
            answer = await self._client.post(delivery.url, headers=_HEADERS, body=body, within=TIMEOUT)
        except OutboundError as error:
            return error.reason
        except Exception as error:
            report(error, id=delivery.id)
            return OutboundFailure.CONNECT
        if 300 <= answer.status < 400:
            return "redirect"
        return None if 200 <= answer.status < 300 else "status"

    async def _record(self, ctx: Context, delivery: LeasedLogout, fault: str | None) -> str:
        """Record the outcome; return it as the metrics call it."""
        if fault is None:
            await deliveries.mark_delivered(ctx, delivery)
            return "delivered"
        is_postponed = await deliveries.mark_failed(ctx, delivery, fault)
        log.warning(
            "logout.attempt_failed",
            id=delivery.id,
            client_id=delivery.client_id,
            reason=fault,
            attempts=delivery.attempts,
            is_last=not is_postponed,
        )
        return "postponed" if is_postponed else "failed"


def logout_queue(
    policy: Policy, port: Ports, run: Runner, clock: Clock, metrics: MetricsRegistry | None
) -> LogoutQueue:
    """Create the queue of logout tokens. `metrics` is None if metrics are disabled."""
    guard = port[OutboundGuard]
    assert isinstance(guard, Guard), "the requests go through the guard of the service"  # noqa: S101
    return LogoutQueue(
        issuer=policy[BackchannelLogoutPolicy].issuer,
        keys=port[SigningKeys],
        run=run,
        clock=clock,
        client=LazyClient(guard),
        metrics=metrics,
    )
