"""The outbox worker: delivers queued mail in the background, and is woken by new mail."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

import structlog

from domain.context import Client, Context, RequestFacts, Runner
from domain.errors import Unavailable
from domain.mail import outbox
from domain.mail.messages import Resolver
from domain.mail.outbox import LeasedMail, Payload
from server.clock import Clock
from server.mail.message import FinalError, Sender, TemporaryError
from server.mail.templates import TemplateRenderer
from server.mail.work_queue import WorkQueue, end_tasks
from server.observability.metrics.registry import MetricsRegistry

Result = TypeVar("Result")

AT_A_TIME = 4
"""Rows of one queue that are processed at the same time."""
LONGEST_WAIT = 60.0
"""Seconds between two polls for rows that another instance queued but did not deliver."""
SHORT_WAIT = 0.1
"""Seconds before the next query if another instance has claimed the rows."""
DELIVERY_LIMIT = 50.0
"""Timeout in seconds of one delivery; the remaining lease is for recording the outcome."""
LONGEST_PAUSE = 30.0
"""Longest pause in seconds between two queries while the database is unavailable; the first pause is one second."""
RECORD_PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds to wait after each failed attempt to record an outcome."""
TRIM_INTERVAL = timedelta(seconds=1)

log = structlog.get_logger(__name__)


class OutboxWorker:
    """Claims due rows, resolves or delivers them, and records the outcome. No transaction is open during a delivery.

    `senders` are by name (`smtp`, `console`, `file`), `resolvers` by template; without senders no `renderer` is needed.
    A delivery is cancelled after `delivery_limit` seconds, before its lease expires. `pause` waits for a number of
    seconds.
    """

    def __init__(
        self,
        *,
        run: Runner,
        clock: Clock,
        renderer: TemplateRenderer | None,
        senders: Mapping[str, Sender],
        resolvers: Mapping[str, Resolver],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
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
        self._stopping = False
        self._trimmed: datetime | None = None
        self._unresolved = WorkQueue(outbox.unresolved(), self._resolve)
        self._unroutable = WorkQueue(outbox.unroutable(tuple(senders)), self._deliver)
        self._mails = [WorkQueue(outbox.mails_for(name), self._deliver) for name in senders]
        self._queues = [self._unresolved, *self._mails, self._unroutable]
        self._loops: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start delivering, beginning with rows left by an earlier run."""
        self._stopping = False
        self._loops = [asyncio.create_task(self._serve(queue)) for queue in self._queues]

    def wake(self) -> None:
        """Wake the worker after a commit that queued emails. Rows without a configured sender are only polled."""
        for queue in (self._unresolved, *self._mails):
            queue.woken.set()

    async def stop(self, grace: float = 5.0) -> None:
        """Claim no more rows, and cancel deliveries that take longer than `grace` seconds; they are repeated later."""
        self._stopping = True
        for queue in self._queues:
            queue.woken.set()
        await end_tasks(self._loops, grace)
        await end_tasks([task for queue in self._queues for task in queue.running], grace)
        self._loops = []

    async def drain(self) -> None:
        """Process all due rows, and the rows that they create; for a worker that is not started."""
        while any(await asyncio.gather(*(self._drain(queue) for queue in self._queues))):
            pass

    async def _drain(self, queue: WorkQueue) -> bool:
        worked = False
        # This query costs a tenth of a claim, and most queues are empty most of the time.
        while await self._seconds_until_due(queue) <= 0 and await self._claim(queue):
            worked = True
            await asyncio.gather(*queue.running)
        return worked

    async def _serve(self, queue: WorkQueue) -> None:
        failures = 0
        while not self._stopping:
            queue.woken.clear()
            try:
                seconds = await self._start_due_rows(queue)
                failures = 0
            except Exception as error:
                seconds = min(2.0**failures, LONGEST_PAUSE)
                # Bounded, because 2.0**1024 is an OverflowError.
                failures = min(failures + 1, 10)
                _report(error, seconds=seconds)
            await queue.wait(seconds)

    async def _start_due_rows(self, queue: WorkQueue) -> float:
        """Start due rows; return the seconds until the next query, unless the queue is woken before."""
        if len(queue.running) == AT_A_TIME:
            return LONGEST_WAIT
        seconds = await self._seconds_until_due(queue)
        if seconds > 0:
            return min(seconds, LONGEST_WAIT)
        return 0.0 if await self._claim(queue) else SHORT_WAIT

    async def _seconds_until_due(self, queue: WorkQueue) -> float:
        """Return the seconds until the first row is due: 0 or less if one is due, LONGEST_WAIT if there is none."""
        due = await self._run(lambda ctx: outbox.next_due(ctx, queue.rows))
        return LONGEST_WAIT if due is None else (due - self._clock()).total_seconds()

    async def _claim(self, queue: WorkQueue) -> int:
        """Claim due rows for the free slots and start them; return their number."""
        free = AT_A_TIME - len(queue.running)
        rows = await self._run(lambda ctx: outbox.claim(ctx, queue.rows, free))
        for row in rows:
            queue.start(row)
        if queue is self._unresolved and len(rows) == free:
            await self._trim()
        return len(rows)

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
            _report(error, id=row.id, template=row.template)
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
        """Record an outcome, with retries: a row without one is processed again when its lease has expired."""
        for seconds in RECORD_PAUSES:
            try:
                return await self._run(job)
            except Exception as error:
                _report(error, seconds=seconds)
                await self._pause(seconds)
        return None


def _client_of(payload: Payload) -> Client:
    """Return the client that queued a request; an empty one for a request of an older version."""
    return Client(
        payload.get("address"),
        payload.get("user_agent"),
        payload.get("request_id") or "",
        payload.get("languages"),
    )


def _report(error: Exception, **details: str | float) -> None:
    """Log a failure of the worker; only defects have a traceback."""
    log.warning(
        "outbox.error", error=type(error).__name__, exc_info=not isinstance(error, Unavailable), **details
    )
