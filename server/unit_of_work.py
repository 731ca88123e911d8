"""The unit of work of an operation: one Context with one caller and one `now`, and at most one transaction.

Only this module commits transactions of operations.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import structlog
from sqlalchemy.exc import IntegrityError

from domain import errors
from domain.audit.record import EVENTS
from domain.context import (
    AlreadyDone,
    Client,
    Completion,
    Context,
    Job,
    RequestFacts,
    Resources,
    Rollback,
    StaleRead,
)
from domain.mail.outbox import MAIL
from domain.policy import Policy
from domain.ports import Ports
from domain.social.errors import RenewedTokensLost
from domain.two_factor.errors import UndecipherableSecret
from models import AuditRecord, Outcome
from models.outbox import ADD_MAIL
from server.audit import writer
from server.clock import Clock
from server.database.database import Database
from server.database.errors import is_retryable, is_unavailable
from server.observability.metrics.registry import MetricsRegistry

Result = TypeVar("Result")

PAUSES = (0.0, 0.02, 0.1, 0.5)  # defence: R7 pauses
"""Seconds before each attempt: the first and three more after a serialization fault, a deadlock or a stale read. A
transaction that lost a deadlock and retried at once would get the lock before the winner.
"""

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class UnitOfWork:
    """Runs handlers and background jobs, and commits their changes. `run` implements `domain.context.Runner`."""

    policy: Policy
    database: Database
    port: Ports
    clock: Clock
    audit_writer: writer.AuditWriter
    metrics: MetricsRegistry | None = None
    """The metrics that count audit events; None if metrics are disabled."""
    on_queued: Callable[[Set[str]], None] = lambda _: None
    """Called with the kinds of rows that a commit has queued for the outbox worker."""
    _resources: Resources = field(init=False)

    def __post_init__(self) -> None:
        """Collect the objects that all contexts share."""
        self._resources = Resources(self.policy, self.database, self.port, self.clock, self.run)

    async def run(self, job: Job[Result], facts: RequestFacts | None = None) -> Result:
        """Run a job in a transaction of its own, commit, and return the job's result; retry it after a conflict.

        If the job returns a `Rollback`, its writes are rolled back and the result in it is returned. Without `facts`,
        it is a job of the service itself. Raises the job's refusals, and Unavailable if the database is down or all
        retries fail.
        """
        conflict: Exception | None = None
        facts = facts or RequestFacts(self.clock())
        # Shared by all attempts, so that a retry does not hash the same password again.
        hashes: dict[str, str] = {}
        for pause in PAUSES:
            if pause and not isinstance(conflict, StaleRead):
                await asyncio.sleep(pause)
            if conflict is not None:
                # The conflict may have taken half a second, and rows of the other transaction may be newer than the
                # first `now`.
                facts = facts._replace(now=self.clock())
            ctx = Context(self._resources, facts, hashes)
            try:
                try:
                    result = await job(ctx)
                except BaseException as fault:
                    await self._abandon(ctx, fault)
                    raise
                # Checked before the call as well, because most requests only read and have no transaction to end.
                if ctx.transaction is not None or ctx.outbox or ctx.records or ctx.before_commit:
                    await self._finish(ctx, result)
                return result.result if isinstance(result, Rollback) else result
            except Exception as fault:
                conflict = _retryable(fault, facts.client)
        raise errors.Unavailable from conflict

    def audit(
        self,
        describe: Callable[[Context], None],
        facts: RequestFacts | None = None,
        *,
        is_logged: bool = False,
    ) -> None:
        """Record the audit events that `describe` adds to a context, in the background and outside any transaction.

        If `is_logged`, the events are already in the log and are not logged again.
        """
        ctx = Context(self._resources, facts or RequestFacts(self.clock()))
        describe(ctx)
        if is_logged:
            self.audit_writer.count(ctx.records)
        else:
            self.report(ctx.records)
        self.audit_writer.enqueue(ctx.records)

    async def _abandon(self, ctx: Context, fault: BaseException) -> None:
        """End the transaction of a job that has raised an exception, and audit a refusal."""
        if not isinstance(fault, errors.Refusal):
            await _roll_back(ctx)
            return
        # A failed attempt must be counted although its response is an error; otherwise a burst of guesses would cost
        # nothing.
        await (self._commit(ctx, _successes(ctx)) if fault.keeps_writes else _roll_back(ctx))
        await self._note_refused(ctx)

    async def _finish(self, ctx: Context, result: object) -> None:
        """End the transaction of a job that has returned a result."""
        if isinstance(result, Rollback):
            await _roll_back(ctx)
            await self._note_refused(ctx)
        else:
            # A guard of the transaction found that a concurrent request has done the same; the result is the same,
            # too.
            with contextlib.suppress(AlreadyDone):
                await self._commit(ctx, ctx.records)
            # Some refusals are results, such as the redirects of a flow at a provider.
            await self._complete_refusals(ctx)

    async def _commit(self, ctx: Context, done: Sequence[AuditRecord]) -> None:
        """Commit with the queued mail and the audit records in the same transaction."""
        if not (ctx.outbox or done or ctx.transaction or ctx.before_commit):
            return
        try:
            for completion, collected in ctx.before_commit.items():
                await completion(ctx, collected)
            for mail in ctx.outbox:
                ctx.db.defer(ADD_MAIL, **mail._asdict())
            for record in done:
                writer.defer_record(ctx.db, record)
            await ctx.db.commit()
        except IntegrityError as collision:
            # A concurrent transaction has changed what a deferred statement relies on.
            raise StaleRead from collision
        finally:
            await ctx.db.close()
        if ctx.outbox:
            ctx.queued.add(MAIL)  # defence: V71 mailed
        if ctx.queued:
            self.on_queued(ctx.queued)
        self.report(done)

    def report(self, events: Sequence[AuditRecord]) -> None:
        """Log audit events, and count them in the database and in the metrics."""
        writer.log(events)
        self.audit_writer.count(events)
        if self.metrics is not None:
            self.metrics.audited(events)

    async def _note_refused(self, ctx: Context) -> None:
        """Audit a refusal; if that fails, the response is the same.

        Events that anyone can cause without bound go to the background writer, whose queue is bounded.
        """
        refused = [record for record in ctx.records if record.outcome != Outcome.SUCCESS]
        self.report(refused)
        if unbounded := [record for record in refused if EVENTS[record.event].unbounded]:
            self.audit_writer.enqueue(unbounded)
        if kept := [record for record in refused if not EVENTS[record.event].unbounded]:
            # After the first transaction has ended: no request holds two connections, which could exhaust the pool.
            await writer.write_in_new_transaction(self.database, kept)
        await self._complete_refusals(ctx)

    async def _complete_refusals(self, ctx: Context) -> None:
        """Write what was collected for refusals; if that fails, the response is the same."""
        for completion, collected in ctx.after_refusal.items():
            with contextlib.suppress(errors.Unavailable):
                await self.run(partial(_complete, completion, collected), ctx.facts)


async def _complete(completion: Completion, collected: Sequence[Any], ctx: Context) -> None:
    await completion(ctx, collected)


async def _roll_back(ctx: Context) -> None:
    if ctx.transaction is not None:
        await ctx.transaction.close()


def _successes(ctx: Context) -> list[AuditRecord]:
    return [record for record in ctx.records if record.outcome == Outcome.SUCCESS]


def _retryable(fault: Exception, client: Client) -> Exception:
    """Return an error after which the job is retried. Raises all other errors, some of them as Unavailable."""
    if isinstance(fault, UndecipherableSecret):
        _log.error("two_factor.secret_undecipherable", request_id=client.request_id)
    elif isinstance(fault, RenewedTokensLost):
        _log.error("provider.tokens_lost", request_id=client.request_id)
    if isinstance(fault, errors.Refusal):
        raise fault
    if isinstance(fault, StaleRead) or is_retryable(fault):
        return fault
    if is_unavailable(fault):
        raise errors.Unavailable from fault
    raise fault
