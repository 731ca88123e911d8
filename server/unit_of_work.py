"""One operation = one Context, one caller, one `now`, at most one transaction; the only place that commits."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import structlog
from sqlalchemy.exc import IntegrityError

from domain import errors
from domain.audit.record import EVENTS
from domain.authenticators import Authenticators
from domain.context import (
    AlreadyDone,
    Caller,
    Challenge,
    Client,
    Context,
    PageRequest,
    RequestCookies,
    Resources,
    StaleRead,
)
from domain.identity_provider import Provider
from domain.policy import Policy
from domain.ports import Cipher, Counters, Hasher, KeyUsage, Mailbox, SigningKeys
from domain.social.errors import RenewedTokensLost
from domain.two_factor.errors import UndecipherableSecret
from handlers.responses import cookies
from handlers.responses.reply import Redirect, Reply
from models import AuditRecord, Outcome
from models.statements import ADD_MAIL
from server.api.headers import RequestHeaders
from server.api.request import Operation, Request
from server.audit import writer
from server.clock import Clock
from server.database.database import Database
from server.database.errors import is_retryable, is_unavailable
from server.observability.metrics.registry import MetricsRegistry

Result = TypeVar("Result")
Job = Callable[[Context], Awaitable[Result]]

PAUSES = (0.0, 0.02, 0.1, 0.5)  # defence: R7 pauses
"""Seconds before each attempt: the first and three more after a serialization fault, a deadlock or a stale read. A
transaction that lost a deadlock and retried at once would get the lock before the winner.
"""

NOBODY = Client()
NO_COOKIES = RequestCookies()

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class UnitOfWork:
    """Runs handlers and background jobs, once it has been given an open database by `use`."""

    policy: Policy
    hasher: Hasher
    cipher: Cipher
    counters: Counters
    clock: Clock
    ready: Callable[[], Awaitable[bool]]
    on_mail_queued: Callable[[], None]
    """Called after a commit that queued mail."""
    providers: Mapping[str, Provider]
    audit_writer: writer.AuditWriter
    signing_keys: SigningKeys
    key_usage: KeyUsage
    authenticators: Authenticators
    metrics: MetricsRegistry | None = None
    """The counters of events; None without metrics."""
    mailbox: Mailbox | None = None
    """The emails that were sent; None unless `mail.mailbox` is true."""
    database: Database = field(init=False)
    _resources: Resources = field(init=False)
    _pending: bytes = field(init=False)
    _trusted: bytes = field(init=False)
    """The names of two cookies that a rule may want to know of."""

    def __post_init__(self) -> None:
        """Encode the names once."""
        self._pending = cookies.pending_name(self.policy.cookies).encode()
        self._trusted = cookies.trusted_name(self.policy.cookies).encode()

    def bind_database(self, database: Database) -> None:
        """Work with a database that is open, and from here on with what these fields and its `reads` are now."""
        self.database = database
        self._resources = Resources(
            policy=self.policy,
            reads=database.reads,
            hasher=self.hasher,
            cipher=self.cipher,
            counters=self.counters,
            begin=database.begin,
            search=database.search,
            ready=self.ready,
            run_isolated=self.run,
            providers=self.providers,
            signing_keys=self.signing_keys,
            key_usage=self.key_usage,
            authenticators=self.authenticators,
            mailbox=self.mailbox,
        )

    def __call__(self, operation: Operation, request: Request) -> Awaitable[Any]:
        """Run an operation's handler for a request; return what it returned, after the commit."""
        return self.run(
            partial(operation.handler, **request.arguments),
            client=request.client,
            caller=request.caller,
            challenge=request.challenge,
            request_cookies=self._request_cookies(request.head),
            verifier=request.verifier,
            is_navigation=request.head.is_navigation,
            page=request.page,
            now=request.now,
        )

    def _request_cookies(self, head: RequestHeaders) -> RequestCookies:
        return (
            RequestCookies(head.cookies, self._pending, self._trusted)
            if b"cookie" in head.fields
            else NO_COOKIES
        )

    async def run(  # noqa: PLR0913 - what a request brings along, each by its name
        self,
        job: Job[Result],
        *,
        client: Client = NOBODY,
        caller: Caller | None = None,
        challenge: Challenge | None = None,
        request_cookies: RequestCookies = NO_COOKIES,
        verifier: str | None = None,
        is_navigation: Callable[[], bool] = lambda: False,
        page: PageRequest | None = None,
        now: datetime | None = None,
    ) -> Result:
        """Run a job in a transaction of its own, again when the database asks for it; `now` is for who knows it.

        Raises the job's refusals, and Unavailable when the database is down or the conflict does not end.
        """
        conflict: Exception | None = None
        hashes: dict[str, str] = {}
        for pause in PAUSES:
            if pause and not isinstance(conflict, StaleRead):
                await asyncio.sleep(pause)
            ctx = Context(
                now or self.clock(),
                self._resources,
                client,
                caller,
                challenge,
                request_cookies,
                hashes=hashes,
                verifier=verifier,
                is_navigation=is_navigation,
                page=page,
            )
            now = None  # a retry uses the time at which it begins
            try:
                try:
                    result = await job(ctx)
                except BaseException as fault:
                    await self._abandon(ctx, fault)
                    raise
                # Asked before the call, too: most requests only read, and have nothing to end.
                if ctx.transaction is not None or ctx.outbox or ctx.records:
                    await self._finish(ctx, result)
                return result
            except Exception as fault:
                conflict = _retryable(fault, client)
        raise errors.Unavailable from conflict

    def context(self, client: Client = NOBODY, caller: Caller | None = None) -> Context:
        """Create a context outside `run`; the caller must end the transaction that it begins."""
        return Context(self.clock(), self._resources, client, caller)

    async def _abandon(self, ctx: Context, fault: BaseException) -> None:
        """End the transaction of a job that has raised something, and note a refusal."""
        if not isinstance(fault, errors.Refusal):
            await _roll_back(ctx)
            return
        await (self._commit(ctx, _successes(ctx)) if fault.keeps_writes else _roll_back(ctx))
        await self._note_refused(ctx)

    async def _finish(self, ctx: Context, result: object) -> None:
        """End the transaction of a job that has come to a result."""
        if isinstance(result, Redirect | Reply) and result.refused:
            await _roll_back(ctx)
            await self._note_refused(ctx)
        else:
            with contextlib.suppress(AlreadyDone):
                await self._commit(ctx, ctx.records)

    async def _commit(self, ctx: Context, done: Sequence[AuditRecord]) -> None:
        """Commit with the queued mail and the audit records in the same transaction."""
        if not (ctx.outbox or done or ctx.transaction):
            return
        try:
            for mail in ctx.outbox:
                ctx.db.defer(ADD_MAIL, **mail._asdict())
            for record in done:
                writer.defer_record(ctx.db, record)
            await ctx.db.commit()
        except IntegrityError as collision:
            # Another transaction was faster with a deferred statement.
            raise StaleRead from collision
        finally:
            await ctx.db.close()
        if ctx.outbox:
            self.on_mail_queued()  # defence: V71 mailed
        self.report(done)

    def report(self, events: Sequence[AuditRecord]) -> None:
        """Log events, and count them."""
        writer.log(events)
        if self.metrics is not None:
            self.metrics.audited(events)

    async def _note_refused(self, ctx: Context) -> None:
        """Audit what went wrong; when that fails, the refusal is the same.

        Events that anyone can cause without bound go to the background writer, whose queue is bounded.
        """
        refused = [record for record in ctx.records if record.outcome != Outcome.SUCCESS]
        self.report(refused)
        if unbounded := [record for record in refused if EVENTS[record.event].unbounded]:
            self.audit_writer.enqueue(unbounded)
        if kept := [record for record in refused if not EVENTS[record.event].unbounded]:
            await writer.write_in_new_transaction(self.database, kept)


async def _roll_back(ctx: Context) -> None:
    if ctx.transaction is not None:
        await ctx.transaction.close()


def _successes(ctx: Context) -> list[AuditRecord]:
    return [record for record in ctx.records if record.outcome == Outcome.SUCCESS]


def _retryable(fault: Exception, client: Client) -> Exception:
    """Return a fault after which the job is to be run again. Raises any other, and Unavailable in the place of some."""
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
