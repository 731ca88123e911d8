"""One operation = one Context, one caller, one `now`, at most one transaction; the only place that commits."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from sqlalchemy.exc import IntegrityError

from domain import audit, errors, sessions
from domain.context import Caller, Challenge, Client, Context, Means, Needless, Outdated, Presented
from domain.policy import Policy
from domain.ports import Cipher, Counters, Hasher
from domain.providers import Provider
from handlers import cookies
from handlers.reply import Redirect
from models import AuditRecord, Outcome
from server import records
from server.clock import Clock
from server.conflicts import conflict_in
from server.database import Database
from server.metrics.tallies import Tallies
from server.pipeline.head import Head
from server.pipeline.request import Operation, Request

Result = TypeVar("Result")
Job = Callable[[Context], Awaitable[Result]]

PAUSES = (0.0, 0.02, 0.1, 0.5)
"""Seconds before each attempt: the first and three more after a serialization fault, a deadlock or an outdated read
(behaviour 9.1). Who lost a deadlock and came back at once would take the winner's lock before it has woken up."""

NOBODY = Client()
NOTHING = Presented()


@dataclass(slots=True)
class Requests:
    """Runs handlers and background jobs, once it has been given an open database by `use`."""

    policy: Policy
    hasher: Hasher
    cipher: Cipher
    counters: Counters
    clock: Clock
    ready: Callable[[], Awaitable[bool]]
    mailed: Callable[[], None]
    """Called after a commit that filed mail."""
    providers: Mapping[str, Provider]
    desk: records.Desk
    tallies: Tallies | None = None
    """Where events are counted; None when nobody wants to know."""
    database: Database = field(init=False)
    _means: Means = field(init=False)
    _pending: bytes = field(init=False)
    _trusted: bytes = field(init=False)
    """The names of two cookies that a rule may want to know of."""

    def __post_init__(self) -> None:
        """Encode the names once."""
        self._pending = cookies.pending_name(self.policy.cookies).encode()
        self._trusted = cookies.trusted_name(self.policy.cookies).encode()

    def use(self, database: Database) -> None:
        """Work with a database that is open, and from here on with what these fields and its `reads` are now."""
        self.database = database
        self._means = Means(
            policy=self.policy,
            reads=database.reads,
            hasher=self.hasher,
            cipher=self.cipher,
            counters=self.counters,
            begin=database.begin,
            ready=self.ready,
            run_apart=self.run,
            providers=self.providers,
        )

    async def find(self, token: str, now: datetime, *, by_cookie: bool) -> Caller | None:
        """Give the session behind a token if it is live at `now`, or None; a dead one that is presented is deleted
        (behaviour 3.2)."""
        found = await sessions.stored(self._means.reads, token)
        if found is None:
            return None
        session, user = found
        if session.is_active(now) and not user.is_banned(now):
            return Caller(token, session, user, by_cookie)
        with contextlib.suppress(errors.Unavailable):
            await self.run(partial(sessions.discard, session_id=session.id))
        return None

    def __call__(self, operation: Operation, request: Request) -> Awaitable[Any]:
        """Run an operation's handler for a request; give what it returned, after the commit."""
        if request.caller is not None and not request.disable_refresh:
            expires_at = sessions.extended(self.policy.session, request.caller.session, request.now)
            if expires_at is not None:
                return self._run_extended(operation, request, request.caller, expires_at)
        return self._run(operation, request)

    def _run(self, operation: Operation, request: Request) -> Awaitable[Any]:
        return self.run(
            partial(operation.handler, **request.arguments),
            client=request.client,
            caller=request.caller,
            challenge=request.challenge,
            presented=self._presented(request.head),
            now=request.now,
        )

    async def _run_extended(
        self, operation: Operation, request: Request, caller: Caller, expires_at: datetime
    ) -> Any:
        request.caller = await self._extend(caller, request, expires_at)
        request.now = self.clock()
        return await self._run(operation, request)

    def _presented(self, head: Head) -> Presented:
        return Presented(head.cookie, self._pending, self._trusted) if b"cookie" in head.fields else NOTHING

    async def run(
        self,
        job: Job[Result],
        *,
        client: Client = NOBODY,
        caller: Caller | None = None,
        challenge: Challenge | None = None,
        presented: Presented = NOTHING,
        now: datetime | None = None,
    ) -> Result:
        """Run a job in a transaction of its own, again when the database asks for it; `now` is for who knows it.

        Raises the job's refusals, and Unavailable when the database is down or the conflict does not end.
        """
        conflict: Exception | None = None
        for pause in PAUSES:
            if pause and not isinstance(conflict, Outdated):
                await asyncio.sleep(pause)
            ctx = Context(now or self.clock(), self._means, client, caller, challenge, presented)
            now = None
            try:
                try:
                    result = await job(ctx)
                except BaseException as fault:
                    await self._abandon(ctx, fault)
                    raise
                # Asked before the call, too: most requests only read, and have nothing to end.
                if ctx.opened is not None or ctx.outbox or ctx.records:
                    await self._finish(ctx, result)
                return result
            except Exception as fault:
                conflict = conflict_in(fault, client)
        raise errors.Unavailable from conflict

    def context(self, client: Client = NOBODY, caller: Caller | None = None) -> Context:
        """Give what a rule works with, once; whoever lets it begin a transaction must end that, too."""
        return Context(self.clock(), self._means, client, caller)

    async def _abandon(self, ctx: Context, fault: BaseException) -> None:
        """End the transaction of a job that has raised something, and note a refusal."""
        if not isinstance(fault, errors.Refusal):
            await _roll_back(ctx)
            return
        await (self._commit(ctx, _successes(ctx)) if fault.keeps_writes else _roll_back(ctx))
        await self._note_refused(ctx)

    async def _finish(self, ctx: Context, result: object) -> None:
        """End the transaction of a job that has come to a result."""
        if isinstance(result, Redirect) and result.refused:
            await _roll_back(ctx)
            await self._note_refused(ctx)
        else:
            with contextlib.suppress(Needless):
                await self._commit(ctx, ctx.records)

    async def _commit(self, ctx: Context, done: Sequence[AuditRecord]) -> None:
        """Write what is filed, and with it what was done: without the record it was not."""
        if not (ctx.outbox or done or ctx.opened):
            return
        try:
            if ctx.outbox:
                ctx.db.add_all(ctx.outbox)
            for record in done:
                records.file(ctx.db, record)
            await ctx.db.commit()
        except IntegrityError as collision:
            # Somebody else was faster with what was filed.
            raise Outdated from collision
        finally:
            await ctx.db.close()
        if ctx.outbox:
            self.mailed()
        self.tell(done)

    def tell(self, events: Sequence[AuditRecord]) -> None:
        """Log events, and count them."""
        records.log(events)
        if self.tallies is not None:
            self.tallies.audited(events)

    async def _note_refused(self, ctx: Context) -> None:
        """Write down what went wrong; when that fails, the refusal is the same (behaviour 11).

        What anybody can bring about goes to the desk: it is bounded, and the answer does not wait for it.
        """
        refused = [record for record in ctx.records if record.outcome != Outcome.SUCCESS]
        self.tell(refused)
        if anybodys := [record for record in refused if record.event in audit.ANYBODYS]:
            self.desk.file(anybodys)
        if kept := [record for record in refused if record.event not in audit.ANYBODYS]:
            await records.write_apart(self.database, kept)

    async def _extend(self, caller: Caller, request: Request, expires_at: datetime) -> Caller:
        """Move the end of a session that is due, and of its cookie, whatever becomes of the request (behaviour 3.5).

        When the database cannot write, a GET goes on with the session as it was; any other request would wait a second
        time for nothing. Raises Unavailable.
        """
        try:
            await self.run(
                partial(sessions.extend, session=caller.session, expires_at=expires_at), now=request.now
            )
        except errors.Unavailable:
            if request.scope["method"] != "GET":
                raise
            return caller
        if caller.by_cookie:
            max_age = int((expires_at - request.now).total_seconds())
            request.cookies.append(cookies.set_session(self.policy.cookies, caller.token, max_age=max_age))
        return replace(caller, session=caller.session._replace(expires_at=expires_at, updated_at=request.now))


async def _roll_back(ctx: Context) -> None:
    if ctx.opened is not None:
        await ctx.opened.close()


def _successes(ctx: Context) -> list[AuditRecord]:
    return [record for record in ctx.records if record.outcome == Outcome.SUCCESS]
