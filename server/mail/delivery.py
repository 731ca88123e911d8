"""Process the outbox: turn requests for emails into emails, and deliver emails.

A request for an email has an address that a client entered. It becomes an email if a user has the address.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

import structlog

from domain.context import Client, Context, RequestFacts, Runner
from domain.mail import outbox
from domain.mail.messages import Resolver
from domain.mail.outbox import LeasedMail, Payload, QueueFilter
from server.clock import Clock
from server.mail.message import FinalError, Sender, TemporaryError
from server.mail.templates import TemplateRenderer
from server.observability.metrics.registry import MetricsRegistry
from server.outbox.queue import Pause, Queue, record_outcome, report

Result = TypeVar("Result")

AT_A_TIME = 4
"""The most rows of one queue that are processed at the same time."""
DELIVERY_LIMIT = 50.0
"""Timeout in seconds of one delivery; the remaining lease is for recording the outcome."""
TRIM_INTERVAL = timedelta(seconds=1)

log = structlog.get_logger(__name__)


class MailQueue(Queue):
    """A queue of emails or requests for emails: the rows of the outbox that `rows` selects. `work` processes a row."""

    def __init__(
        self,
        run: Runner,
        rows: QueueFilter,
        work: Callable[[LeasedMail], Awaitable[None]],
        *,
        is_woken: bool = True,
        when_full: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Set what is processed and how.

        Without `is_woken` the queue is only polled. `when_full` is called after a claim that filled all free slots.
        """
        super().__init__(outbox.MAIL if is_woken else None, AT_A_TIME)
        self._run = run
        self._rows = rows
        self._work = work
        self._when_full = when_full

    async def next_due(self) -> datetime | None:
        """Return the time at which the next row is due; None if there is none."""
        return await self._run(lambda ctx: outbox.next_due(ctx, self._rows))

    async def claim(self, free: int) -> Sequence[LeasedMail]:
        """Claim up to `free` due rows."""
        rows = await self._run(lambda ctx: outbox.claim(ctx, self._rows, free))
        if self._when_full is not None and len(rows) == free:
            await self._when_full()
        return rows

    async def process(self, row: LeasedMail) -> None:
        """Process a claimed row, and record the outcome."""
        await self._work(row)


class MailDelivery:
    """Resolves requests for emails, delivers emails outside transactions, and records the outcomes.

    `senders` are by name (`smtp`, `console`, `file`); without senders no `renderer` is needed. `resolvers` are
    functions by template that queue the email for a request. A delivery is cancelled after `delivery_limit` seconds,
    before its lease expires. `pause` waits for a number of seconds.
    """

    def __init__(
        self,
        *,
        run: Runner,
        clock: Clock,
        renderer: TemplateRenderer | None,
        senders: Mapping[str, Sender],
        resolvers: Mapping[str, Resolver],
        pause: Pause = asyncio.sleep,
        delivery_limit: float = DELIVERY_LIMIT,
        metrics: MetricsRegistry | None = None,
    ) -> None:
        self._run = run
        self._clock = clock
        self._renderer = renderer
        self._senders = senders
        self._resolvers = resolvers
        self._pause = pause
        self._delivery_limit = delivery_limit
        self._metrics = metrics
        self._trimmed: datetime | None = None
        queue = partial(MailQueue, run)
        self.queues: Sequence[Queue] = [
            queue(outbox.unresolved(), self._resolve, when_full=self._trim),
            *(queue(outbox.mails_for(name), self._deliver) for name in senders),
            queue(outbox.unroutable(tuple(senders)), self._deliver, is_woken=False),
        ]

    async def _trim(self) -> None:
        """Drop requests beyond the limit. Runs once a second at most, because it has to count rows."""
        now = self._clock()
        if self._trimmed is not None and now - self._trimmed < TRIM_INTERVAL:
            return
        self._trimmed = now
        dropped = await self._run(outbox.drop_excess)
        if dropped:
            log.warning("mail.requests_dropped", count=dropped, limit=outbox.UNRESOLVED_LIMIT)

    async def _deliver(self, row: LeasedMail) -> None:
        if not await self._attempt(row, self._send):
            return
        if row.is_decoy:
            # Deleted, because a client without an account can cause any number of decoys.
            await self._record_outcome(lambda ctx: outbox.delete_claimed(ctx, row))
        else:
            await self._record_outcome(lambda ctx: outbox.mark_sent(ctx, row))
            self._count(row, "sent")
            log.info("mail.sent", id=row.id, template=row.template)

    async def _resolve(self, row: LeasedMail) -> None:
        await self._attempt(row, self._find_user)

    async def _attempt(self, row: LeasedMail, act: Callable[[LeasedMail], Awaitable[None]]) -> bool:
        """Return whether it succeeded; otherwise the row is postponed or given up."""
        try:
            if row.expires_at <= self._clock():  # defence: M20 expired
                raise FinalError("expired")
            await act(row)
        except FinalError as error:
            await self._give_up(row, str(error))
        except TemporaryError as error:
            await self._postpone(row, str(error))
        except Exception as error:
            report(error, id=row.id, template=row.template)
            await self._postpone(row, type(error).__name__)
        else:
            return True
        return False

    async def _send(self, row: LeasedMail) -> None:
        if row.payload is None:
            raise TemporaryError("no key fits the payload")
        sender = self._senders.get(row.sender)
        if sender is None or self._renderer is None:
            raise TemporaryError("the sender is not configured")
        try:
            async with asyncio.timeout(self._delivery_limit):  # defence: R11 delivery-limit
                mail = self._renderer.render(row, self._clock())
                if not row.is_decoy:
                    await sender.send(mail)
        except TimeoutError as error:
            raise TemporaryError("time-out") from error

    async def _find_user(self, row: LeasedMail) -> None:
        """Replace the request by an email, or delete it if there is no such user, in one transaction."""
        if row.payload is None:
            raise TemporaryError("no key fits the payload")  # defence: R44 no-key
        email, target = str(row.payload["email"]), row.payload["target"]

        async def job(ctx: Context) -> None:
            if await outbox.delete_claimed(ctx, row):
                await self._resolvers[row.template](ctx, email, target)

        await self._run(job, RequestFacts(self._clock(), _client_of(row.payload)))

    async def _give_up(self, row: LeasedMail, reason: str) -> None:
        self._count(row, "failed")
        await self._record_outcome(lambda ctx: outbox.mark_failed(ctx, row, reason))

    async def _postpone(self, row: LeasedMail, reason: str) -> None:
        is_postponed = await self._record_outcome(lambda ctx: outbox.mark_deferred(ctx, row, reason))
        self._count(row, "failed" if is_postponed is False else "postponed")
        if is_postponed:
            log.warning(
                "mail.postponed", id=row.id, template=row.template, reason=reason, attempts=row.attempts
            )

    def _count(self, row: LeasedMail, result: str) -> None:
        if self._metrics is not None:
            self._metrics.mail(row.template, result)

    async def _record_outcome(self, job: Callable[[Context], Awaitable[Result]]) -> Result | None:
        return await record_outcome(self._run, job, self._pause)


def _client_of(payload: Payload) -> Client:
    """Return the client that queued a request; an empty one for a request of an older version."""
    return Client(
        payload.get("address"),
        payload.get("user_agent"),
        payload.get("request_id") or "",
        payload.get("languages"),
    )
