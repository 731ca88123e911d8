"""Everything that outlives a request: made from the settings, opened when the service starts, closed when it stops."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from domain import tokens
from domain.context import Client, Context
from domain.errors import Unavailable
from domain.jwt.policy import JwtPolicy
from domain.mail import messages
from domain.passkeys import passkeys
from domain.passkeys.policy import PasskeyPolicy
from domain.passwords.policy import Blocklist
from domain.ports import Reads
from domain.rate_limits import events as rate_limit_events
from domain.rate_limits.policy import RateLimitPolicy
from domain.sessions.policy import SessionLimitThreshold
from server import rate_limit
from server.api import pages
from server.api.interfaces import RequestHook
from server.api.sessions import ChallengeStore, KeyStore, SessionStore
from server.audit import events as audit_events
from server.audit.refusals import RefusalAuditor
from server.audit.writer import AuditWriter
from server.clock import Clock, system_clock
from server.config import profiles
from server.config.policy import policy_of
from server.config.settings import Settings
from server.config.sources import setting
from server.config.validation import Check
from server.crypto import blocklist
from server.crypto.authenticators import Authenticators
from server.crypto.hash_pool import MAX_PREPARING
from server.crypto.keyring import Keyring
from server.crypto.password_hasher import HashingRules, PasswordHasher
from server.database import address, migrations
from server.database.database import Database, open_database
from server.database.errors import reason
from server.database.schema import Mode, current_is_head, suffices
from server.identity_providers import validation as provider_validation
from server.identity_providers.instrumentation import Instrumentation
from server.identity_providers.registry import providers_of
from server.jobs import api_key_usage, cleanup, jwt, key_rotation, metrics
from server.jobs.api_key_usage import ApiKeyUsage
from server.jobs.jwt import SigningKeyStore
from server.jobs.key_rotation import RotationResult
from server.jobs.scheduler import run_periodically
from server.mail import backends
from server.mail.mailbox import RecentMails
from server.mail.worker import OutboxWorker
from server.observability import tracing as observability_tracing
from server.observability.metrics.registry import MetricsRegistry
from server.observability.tracing import Span
from server.rate_limit.requests import RequestLimiter
from server.unit_of_work import UnitOfWork

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from server.observability.opentelemetry import OpenTelemetryTracing

CHECKS: tuple[Check, ...] = (
    address.check,
    blocklist.check,
    backends.check,
    pages.check,
    rate_limit.check,
    observability_tracing.check,
    provider_validation.check,
)
"""The checks of the settings by the packages, before anything is opened."""

READY_WITHIN = 1.0
"""Seconds the database has to answer /ready."""

_log = structlog.get_logger(__name__)


def load_settings(environ: Mapping[str, str], directory: Path) -> Settings:
    """Return the settings the service starts with: read, completed by the profile, and found safe by every package.

    In development a file with a secret is placed in `directory`. Raises ConfigurationError with one line per problem,
    each naming the key.
    """
    return profiles.load(environ, directory, CHECKS)


class Services:
    """The container of one running service. `policy` and `unit_of_work` exist at once, the rest when it is open."""

    database: Database

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock = system_clock,
        registry: "CollectorRegistry | None" = None,
        tracing: "OpenTelemetryTracing | None" = None,
    ) -> None:
        """Wire the parts. `registry` is where metrics are scraped, `tracing` the tracer, if any."""
        self.settings = settings
        self.clock = clock
        self.tracing = tracing
        self.metrics = MetricsRegistry(registry) if settings.metrics.port is not None else None
        self.policy = policy_of(settings, _blocklist(settings), _session_limit_threshold(settings))
        self.cipher = Keyring([secret.get_secret_value() for secret in settings.secrets])
        span: Span = contextlib.nullcontext if tracing is None else tracing.span
        self.hasher = PasswordHasher(HashingRules.of(settings.password), span)
        self.counters = rate_limit.store(settings, lambda: self.database)
        self.providers = providers_of(settings, clock, Instrumentation(self.metrics, span))
        self.audit_writer = AuditWriter(lambda: self.database)
        self.signing_keys = SigningKeyStore(
            self.policy[JwtPolicy], self.cipher, clock, self._run, lambda: self.database, self.metrics
        )
        self.key_usage = ApiKeyUsage(
            settings.api_keys.last_request_interval, lambda: self.database, self.metrics
        )
        mailbox = RecentMails(clock) if settings.mail.mailbox else None
        self.unit_of_work = UnitOfWork(
            policy=self.policy,
            hasher=self.hasher,
            cipher=self.cipher,
            counters=self.counters,
            clock=clock,
            ready=self.is_ready,
            on_mail_queued=self._wake_worker,
            providers=self.providers.clients,
            audit_writer=self.audit_writer,
            signing_keys=self.signing_keys,
            key_usage=self.key_usage,
            authenticators=Authenticators(),
            metrics=self.metrics,
            mailbox=mailbox,
        )
        self.sessions = SessionStore(self.policy, self._reads, self.unit_of_work.run)
        self.challenges = ChallengeStore(self._reads)
        self.api_keys = KeyStore(
            self.unit_of_work.run,
            are_sessions=settings.api_keys.enabled and settings.api_keys.sessions,
            verifiers=[(name, tokens.digest(token)) for name, token in settings.api_keys.verifier_tokens()],
        )
        self.limiter = self._limiter()
        self.refusals = RefusalAuditor(
            self.unit_of_work.context, self.unit_of_work.report, self.audit_writer, self.metrics
        )
        ways = backends.senders(settings, mailbox)
        self.worker = OutboxWorker(
            run=self.unit_of_work.run,
            clock=clock,
            renderer=backends.renderer(settings) if ways else None,
            senders=ways,
            resolvers=messages.resolvers(),
            metrics=self.metrics,
        )
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[object]] = []

    @property
    def request_hooks(self) -> list[RequestHook]:
        """Return the hooks that are called for every response: metrics and tracing, if they are enabled."""
        return [one for one in (self.metrics, self.tracing) if one is not None]

    async def open(self, schema: Mode | None = None) -> None:
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
            self.database.hook = self.tracing.statement
        self.unit_of_work.bind_database(self.database)
        try:
            if not await current_is_head(self.database):
                await migrations.prepare(self.database, schema or settings.database.migrate)
        except BaseException:
            await self.database.close()
            raise

    async def start(self) -> None:
        """Begin what runs in the background: mail, clean-up, rewriting under the newest secret, keys, gauges."""
        if self.settings.jwt.enabled:
            await self.signing_keys.prepare()
        if self.settings.passkey.enabled:
            await self._warn_of_foreign_passkeys()
        self.worker.start()
        self._audit(lambda ctx: audit_events.service_started(ctx, os.getpid()))
        self._tasks = [
            asyncio.create_task(run_periodically(name, job, every=every, stop=self._stopping))
            for name, job, every in self._jobs()
        ]

    def _jobs(self) -> Iterator[tuple[str, Callable[[], Awaitable[None]], float]]:
        yield "cleanup", self._cleanup(), cleanup.EVERY
        yield "rewriting", self._rewrite, key_rotation.EVERY
        if self.settings.jwt.enabled:
            yield "signing_keys", self.signing_keys.maintain, jwt.EVERY
        if self.settings.api_keys.enabled:
            yield "api_key_usage", self.key_usage.write, api_key_usage.EVERY
        if self.settings.limits.store.get_secret_value() != rate_limit.DATABASE:
            lost = self.metrics.counts_lost if self.metrics is not None else _nothing
            yield "limit_store", partial(rate_limit.report_lost_counts, self.counters, lost), rate_limit.EVERY
        if self.metrics is not None:
            sampler = metrics.Sampler(self.metrics, self.hasher, self.database, self.clock)
            yield "metrics", sampler.sample, metrics.EVERY

    def _cleanup(self) -> Callable[[], Awaitable[None]]:
        period = partial(setting, self.settings)
        return partial(cleanup.run, self.database, self.clock, tokens.token(), period)

    async def _rewrite(self) -> None:
        await key_rotation.reencrypt(self.database.transaction, self.cipher, report=self._audit_rotation)

    def _audit_rotation(self, results: Mapping[str, RotationResult]) -> None:
        rewritten = {column: result.rewritten for column, result in results.items()}
        remaining = sum(result.remaining for result in results.values())
        self._audit(lambda ctx: audit_events.secrets_rewritten(ctx, rewritten, remaining))

    def _audit(self, describe: Callable[[Context], None]) -> None:
        """Audit an event of the service itself; the log has it already."""
        ctx = self.unit_of_work.context()
        describe(ctx)
        self.audit_writer.enqueue(ctx.records)

    def _limiter(self) -> RequestLimiter | None:
        """Return what limits requests; None where nothing does."""
        quota = self.policy[RateLimitPolicy].requests
        if not quota.number:
            return None
        return RequestLimiter(
            quota,
            shared=self.counters,
            cipher=self.cipher,
            clock=self.clock,
            reached=self._audit_limit_reached,
        )

    def _audit_limit_reached(self, client: Client, operation_id: str) -> None:
        ctx = self.unit_of_work.context(client)
        rate_limit_events.limit_reached(ctx, "requests", operation=operation_id)
        self.unit_of_work.report(ctx.records)
        self.audit_writer.enqueue(ctx.records)

    def refuse_new_work(self) -> None:
        """Turn /ready to 503: the service is shutting down."""
        self._stopping.set()

    async def close(self) -> None:
        """Stop the background tasks and close every connection; queued mail stays in the outbox."""
        self.refuse_new_work()
        await self.worker.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.audit_writer.close()
        self.hasher.close()
        await self.counters.close()
        await self.providers.close()
        await self.database.close()
        if self.tracing is not None:
            await self.tracing.close()

    async def is_ready(self) -> bool:
        """Return whether requests can be served: database and schema are ready, and no shutdown is under way."""
        if self._stopping.is_set():
            return False
        try:
            async with asyncio.timeout(READY_WITHIN):
                if await suffices(self.database):
                    return True
            _log.warning("service.not_ready", reason="old or incomplete schema, or a standby")
        except (Unavailable, TimeoutError) as fault:
            _log.warning("service.not_ready", reason=reason(fault.__cause__ or fault))
        return False

    async def _warn_of_foreign_passkeys(self) -> None:
        """Log how many passkeys were made for another domain: browsers never offer them here."""
        rp_id = self.policy[PasskeyPolicy].rp_id
        number = await self.unit_of_work.run(passkeys.count_foreign)
        if number:
            _log.warning("passkeys.unusable", number=number, rp_id=rp_id)

    async def _run(self, job: Callable[[Context], Awaitable[None]]) -> None:
        await self.unit_of_work.run(job)

    def _reads(self) -> Reads:
        return self.database.reads

    def _wake_worker(self) -> None:
        self.worker.wake()


@contextlib.asynccontextmanager
async def opened(settings: Settings, clock: Clock = system_clock) -> AsyncIterator[Services]:
    """Yield open services without background tasks, for a command; it never changes the schema under a service.

    An empty database gets its schema. Raises SchemaRefused when there is an older or a newer one.
    """
    services = Services(settings, clock=clock)
    await services.open("empty")
    try:
        yield services
    finally:
        await services.close()


def _nothing() -> None:
    """Count nowhere."""


def _blocklist(settings: Settings) -> Blocklist:
    password = settings.password
    return Blocklist(blocklist.blocklist(password.blocklist, password.blocklist_file))


def _session_limit_threshold(settings: Settings) -> SessionLimitThreshold:
    """Return how many sessions are few: other sign-ins may end between the look at a user and their session."""
    most, password = settings.session.max_per_user, settings.password
    under_way = MAX_PREPARING + password.hash_queue + password.hash_workers
    return SessionLimitThreshold(max(0, most - under_way) if most else None)
