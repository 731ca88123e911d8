"""The outbox worker: delivers queued mail in the background, woken when some is queued."""

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
from server.mail.message import FinalError, Rendering, Sender, TemporaryError
from server.mail.work_queue import WorkQueue, end
from server.observability.metrics.registry import MetricsRegistry

Result = TypeVar("Result")

AT_A_TIME = 4
LONGEST_WAIT = 60.0
"""Seconds until rows are found for which this instance is not woken: those that another instance queued and left."""
SHORT_WAIT = 0.1
"""Seconds to the next look when another instance was faster."""
DELIVERY_LIMIT = 50.0
"""Seconds for one whole delivery; the rest of the lease is for noting it."""
LONGEST_PAUSE = 30.0
"""Seconds between two looks while the database is away; the first are one second apart."""
RECORD_PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds to wait after each failed attempt to record an outcome."""
TRIM_INTERVAL = timedelta(seconds=1)

log = structlog.get_logger(__name__)


class OutboxWorker:
    """Takes due rows, resolves or delivers them, notes the outcome; no transaction is open during delivery.

    `senders` by kind (`smtp`, `console`, `file`), `resolvers` by template. `pause` waits for so many seconds; a
    delivery ends after `delivery_limit` seconds, before its lease does. Without senders no `renderer` is needed.
    """

    def __init__(
        self,
        *,
        run: Runner,
        clock: Clock,
        renderer: Rendering | None,
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
        self._mails = [WorkQueue(outbox.mails_for(kind), self._deliver) for kind in senders]
        self._queues = [self._unresolved, *self._mails, self._unroutable]
        self._loops: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to deliver; what was left by an earlier run goes out first."""
        self._stopping = False
        self._loops = [asyncio.create_task(self._serve(queue)) for queue in self._queues]

    def wake(self) -> None:
        """Wake the worker after a commit that queued mail. Mails without a configured sender are only polled."""
        for queue in (self._unresolved, *self._mails):
            queue.woken.set()

    async def stop(self, grace: float = 5.0) -> None:
        """Take no more rows. Deliveries under way get `grace` seconds; what is cut off is repeated later."""
        self._stopping = True
        for queue in self._queues:
            queue.woken.set()
        await end(self._loops, grace)
        await end([task for queue in self._queues for task in queue.running], grace)
        self._loops = []

    async def drain(self) -> None:
        """Work on everything that is due now, and on what comes of it; for a worker that is not started."""
        while any(await asyncio.gather(*(self._drain(queue) for queue in self._queues))):
            pass

    async def _drain(self, queue: WorkQueue) -> bool:
        worked = False
        # This query costs a tenth of a claim, and most queues are empty most of the time.
        while await self._until_due(queue) <= 0 and await self._fill(queue):
            worked = True
            await asyncio.gather(*queue.running)
        return worked

    async def _serve(self, queue: WorkQueue) -> None:
        faults = 0
        while not self._stopping:
            queue.woken.clear()
            try:
                seconds = await self._look(queue)
                faults = 0
            except Exception as fault:
                seconds = min(2.0**faults, LONGEST_PAUSE)
                faults = min(faults + 1, 10)
                _report(fault, seconds=seconds)
            await queue.wait(seconds)

    async def _look(self, queue: WorkQueue) -> float:
        """Start what is due; return in how many seconds to look again unless the queue is woken before."""
        if len(queue.running) == AT_A_TIME:
            return LONGEST_WAIT
        seconds = await self._until_due(queue)
        if seconds > 0:
            return min(seconds, LONGEST_WAIT)
        return 0.0 if await self._fill(queue) else SHORT_WAIT

    async def _until_due(self, queue: WorkQueue) -> float:
        """Return in how many seconds the first row is due: none or fewer when one is, LONGEST_WAIT without any."""
        due = await self._run(lambda ctx: outbox.next_due(ctx, queue.kind))
        return LONGEST_WAIT if due is None else (due - self._clock()).total_seconds()

    async def _fill(self, queue: WorkQueue) -> int:
        """Claim due rows for the free places and begin with them; give how many there were."""
        free = AT_A_TIME - len(queue.running)
        rows = await self._run(lambda ctx: outbox.claim(ctx, queue.kind, free))
        for row in rows:
            queue.begin(row)
        if queue is self._unresolved and len(rows) == free:
            await self._trim()
        return len(rows)

    async def _trim(self) -> None:
        """Drop the requests beyond the limit, but look for them once a second at most: it means counting."""
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
            # It is deleted, because anyone can have any number of them queued.
            await self._record_outcome(lambda ctx: outbox.take(ctx, row))
        else:
            await self._record_outcome(lambda ctx: outbox.mark_sent(ctx, row))
            self._count(row, "sent")
            log.info("mail.sent", id=row.id, template=row.template)

    async def _resolve(self, row: LeasedMail) -> None:
        await self._attempt(row, self._find_user)

    async def _attempt(self, row: LeasedMail, act: Callable[[LeasedMail], Awaitable[None]]) -> bool:
        """Return whether it worked; if not, the row is postponed or given up."""
        try:
            if row.expires_at <= self._clock():  # defence: M20 expired
                raise FinalError("expired")
            await act(row)
        except FinalError as failure:
            await self._give_up(row, str(failure))
        except TemporaryError as failure:
            await self._postpone(row, str(failure))
        except Exception as fault:
            _report(fault, id=row.id, template=row.template)
            await self._postpone(row, type(fault).__name__)
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
        """Replace the request by a mail, or by nothing if there is no such user, in one transaction."""
        if row.payload is None:
            raise TemporaryError("no key fits the payload")  # defence: R44 no-key
        email, target = str(row.payload["email"]), row.payload["target"]

        async def job(ctx: Context) -> None:
            if await outbox.take(ctx, row):
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
            except Exception as fault:
                _report(fault, seconds=seconds)
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


def _report(fault: Exception, **facts: str | float) -> None:
    """Log what kept the worker from its work; only a defect is worth a traceback."""
    log.warning(
        "outbox.error", error=type(fault).__name__, exc_info=not isinstance(fault, Unavailable), **facts
    )
