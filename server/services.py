"""Everything that outlives a request: made from the settings, opened when the service starts, closed when it stops."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path

import structlog

from domain import audit, emails, passwords, secrets
from domain.context import Client, Context
from domain.errors import Unavailable
from server import cleanup, migrations, rewriting
from server.background import repeat
from server.blocklist import blocklist
from server.cipher import Keyring
from server.clock import Clock, system_clock
from server.counters import store
from server.database import Database, open_database
from server.database_faults import reason
from server.hashing import HashingRules, PasswordPool
from server.mailing import renderer, senders
from server.metrics.reporting import Reporter
from server.metrics.tallies import Tallies
from server.outbox import OutboxWorker
from server.pipeline.limiter import RequestLimiter
from server.pipeline.ports import Observer, Observers
from server.policy import policy_of
from server.providers.serving import providers_of
from server.providers.watching import Watch
from server.records import Desk
from server.refusals import KeptRefusals
from server.requests import Requests
from server.rewriting import Tally
from server.settings import Settings
from server.tracing import Tracing

READY_WITHIN = 1.0
"""Seconds the database has to answer /ready (behaviour 5.8)."""

_log = structlog.get_logger(__name__)


class Services:
    """The parts of one running service, wired together. `policy` and `requests` exist at once, the rest when open."""

    database: Database

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock = system_clock,
        reports: Path | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        """Take the folder in which this process is to tell its numbers, if it is, and what traces, if anything."""
        self.settings = settings
        self.clock = clock
        self.tracing = tracing
        self.tallies = Tallies() if settings.metrics.port is not None else None
        self.policy = policy_of(
            settings, blocklist(settings.password.blocklist, settings.password.blocklist_file)
        )
        self.cipher = Keyring([secret.get_secret_value() for secret in settings.secrets])
        self.hasher = PasswordPool(_hashing_rules(settings))
        self.counters = store(settings, lambda: self.database)
        self.providers = providers_of(
            settings, clock, Watch(self.tallies, None if tracing is None else tracing.span)
        )
        self.desk = Desk(lambda: self.database)
        self.requests = Requests(
            policy=self.policy,
            hasher=self.hasher if tracing is None else tracing.hasher(self.hasher),
            cipher=self.cipher,
            counters=self.counters,
            clock=clock,
            ready=self.is_ready,
            mailed=self._wake_worker,
            providers=self.providers.clients,
            desk=self.desk,
            tallies=self.tallies,
        )
        self.limiter = self._limiter()
        self.refusals = KeptRefusals(self.requests, self.desk)
        ways = senders(settings)
        self.worker = OutboxWorker(
            run=self.requests.run,
            clock=clock,
            renderer=renderer(settings, self.policy) if ways else None,
            senders=ways,
            resolvers={
                "reset-password": passwords.resolve_reset,
                "verify-email": emails.resolve_verification,
            },
            tallies=self.tallies,
        )
        self.reporter = self._reporter(reports)
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[object]] = []

    @property
    def observer(self) -> Observer | None:
        """Who is told of every answer; None where nobody wants to know."""
        wanting = [one for one in (self.tallies, self.tracing) if one is not None]
        return Observers(wanting) if len(wanting) > 1 else next(iter(wanting), None)

    async def open(self, schema: migrations.Mode | None = None) -> None:
        """Open the database and see to its schema, by `database.migrate` unless told otherwise.

        Raises DatabaseAbsent, SchemaRefused, and ValueError for a database address that cannot be used.
        """
        settings = self.settings
        self.database = await open_database(
            settings.database_url.get_secret_value(),
            pool_size=settings.database.pool_size,
            timeout=settings.database.timeout.total_seconds(),
            pooled=settings.database.pooler == "transaction",
        )
        if self.tracing is not None:
            self.database.reads = self.tracing.reads(self.database.reads)
            self.tracing.watch(self.database.engine)
        self.requests.use(self.database)
        try:
            if not await migrations.current_is_head(self.database):
                await migrations.prepare(self.database, schema or settings.database.migrate)
        except BaseException:
            await self.database.close()
            raise

    def _reporter(self, folder: Path | None) -> Reporter | None:
        """Give what tells the numbers of this process; None where nobody asks for them."""
        if self.tallies is None or folder is None:
            return None
        # To tell the version of this program, it reads a text that only the parser of mails understands.
        sampler = import_module("server.metrics.sampling").Sampler
        return Reporter(folder, sampler(self.tallies, self.hasher, lambda: self.database, self.clock))

    async def start(self) -> None:
        """Begin what runs in the background: mail, clean-up, rewriting under the newest secret, telling numbers."""
        if self.reporter is not None:
            await self.reporter.start()
        self.worker.start()
        self._keep(lambda ctx: audit.service_started(ctx, os.getpid()))
        self._tasks = [
            asyncio.create_task(repeat(name, job, every=every, stop=self._stopping))
            for name, job, every in (
                ("cleanup", self._cleanup(), cleanup.EVERY),
                ("rewriting", self._rewrite, rewriting.EVERY),
            )
        ]

    def _cleanup(self) -> Callable[[], Awaitable[None]]:
        retention = self.settings.audit.retention
        return partial(cleanup.turn, self.database, self.clock, secrets.token(), retention)

    async def _rewrite(self) -> None:
        await rewriting.rewrite(self.database.begin, self.cipher, report=self._keep_rewritten)

    def _keep_rewritten(self, tallies: Mapping[str, Tally]) -> None:
        rewritten = {column: tally.rewritten for column, tally in tallies.items()}
        remaining = sum(tally.remaining for tally in tallies.values())
        self._keep(lambda ctx: audit.secrets_rewritten(ctx, rewritten, remaining))

    def _keep(self, describe: Callable[[Context], None]) -> None:
        """Put on record what the service itself does; the log has it already."""
        ctx = self.requests.context()
        describe(ctx)
        self.desk.file(ctx.records)

    def _limiter(self) -> RequestLimiter | None:
        """Give what limits requests; None where nothing does."""
        quota = self.policy.limits.requests
        if not quota.number:
            return None
        return RequestLimiter(
            quota, shared=self.counters, cipher=self.cipher, clock=self.clock, reached=self._keep_reached
        )

    def _keep_reached(self, client: Client, operation_id: str) -> None:
        ctx = self.requests.context(client)
        audit.limit_reached(ctx, "requests", operation=operation_id)
        self.requests.tell(ctx.records)
        self.desk.file(ctx.records)

    def refuse_new_work(self) -> None:
        """Turn /ready to 503: the service is shutting down."""
        self._stopping.set()

    async def close(self) -> None:
        """Stop the background tasks and close every connection; queued mail stays filed."""
        self.refuse_new_work()
        if self.reporter is not None:
            await self.reporter.stop()
        await self.worker.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.desk.close()
        self.hasher.close()
        await self.counters.close()
        await self.providers.close()
        await self.database.close()
        if self.tracing is not None:
            await self.tracing.close()

    async def is_ready(self) -> bool:
        """Whether requests can be served: the database answers in time, its schema suffices, no stop is under way."""
        if self._stopping.is_set():
            return False
        try:
            async with asyncio.timeout(READY_WITHIN):
                return await migrations.suffices(self.database)
        except (Unavailable, TimeoutError) as fault:
            _log.warning("service.not_ready", reason=reason(fault.__cause__ or fault))
            return False

    def _wake_worker(self) -> None:
        self.worker.wake()


@contextlib.asynccontextmanager
async def opened(settings: Settings, clock: Clock = system_clock) -> AsyncIterator[Services]:
    """Give open services without their background tasks, for a command, which never changes the schema under a service.

    An empty database gets its schema. Raises SchemaRefused when there is an older or a newer one.
    """
    services = Services(settings, clock=clock)
    await services.open("empty")
    try:
        yield services
    finally:
        await services.close()


def _hashing_rules(settings: Settings) -> HashingRules:
    password = settings.password
    return HashingRules(
        memory_kib=password.argon2_memory_kib,
        time=password.argon2_time,
        parallelism=password.argon2_parallelism,
        workers=password.hash_workers,
        queue=password.hash_queue,
        wait=password.hash_wait,
        nice=password.hash_nice,
    )
