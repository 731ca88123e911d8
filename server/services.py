"""The objects that outlive a request: created from the settings, opened at startup, closed at shutdown."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from domain import tokens
from domain.errors import Unavailable
from domain.mail import messages
from domain.ports import Cipher, Counters, Hasher, Mailbox, Ports, Readiness
from server import rate_limit
from server.api.interfaces import RequestHook
from server.api.sessions import ChallengeStore, KeyStore, SessionStore
from server.audit import events as audit_events
from server.audit.refusals import RefusalAuditor
from server.audit.writer import COUNT_EVERY, AuditWriter
from server.clock import Clock, system_clock
from server.components.component import Core, PeriodicJob, component_classes
from server.components.rate_limits import request_limiter
from server.components.scheduler import run_periodically
from server.config import profiles
from server.config.base import Settings
from server.config.groups.api_keys import ApiKeySettings
from server.config.groups.database import DatabaseSettings
from server.config.groups.mail import MailSettings
from server.config.groups.observability import MetricsSettings
from server.config.groups.password import PasswordSettings
from server.config.policy import policy_of
from server.config.validation import Check
from server.crypto.keyring import Keyring
from server.crypto.password_hasher import HashingRules, PasswordHasher
from server.database import address, schema
from server.database.database import Database, create_database
from server.database.errors import reason
from server.database.schema import Mode
from server.mail import backends
from server.mail.delivery import MailDelivery
from server.mail.mailbox import RecentMails
from server.observability import tracing as observability_tracing
from server.observability.metrics.registry import MetricsRegistry
from server.observability.tracing import Span
from server.outbox.worker import OutboxWorker
from server.unit_of_work import UnitOfWork

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from server.observability.opentelemetry import OpenTelemetryTracing

CHECKS: tuple[Check, ...] = (
    address.check,
    backends.check,
    rate_limit.check,
    observability_tracing.check,
)
"""The checks of settings that belong to no component. They run before any connection is opened."""

READY_WITHIN = 1.0
"""Timeout in seconds of the database query of /ready."""

_log = structlog.get_logger(__name__)


def load_settings(environ: Mapping[str, str], directory: Path) -> Settings:
    """Return the settings the service starts with: read, completed by the profile, and checked by all components.

    In development, missing secrets are generated and stored in files in `directory`. Raises ConfigurationError with one
    line per problem, each naming the key.
    """
    checks = (component.check for component in component_classes())
    return profiles.load(environ, directory, (*CHECKS, *checks))


class Services:
    """The objects of one running service. The constructor creates them; `open` connects to the database."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock = system_clock,
        registry: "CollectorRegistry | None" = None,
        tracing: "OpenTelemetryTracing | None" = None,
    ) -> None:
        """Create the objects. Metrics, if enabled, are created in `registry`, by default in a new one.

        Nothing is traced if `tracing` is None.
        Raises ValueError for a database address that cannot be used.
        """
        self.settings = settings
        self.clock = clock
        self.tracing = tracing
        self.metrics = MetricsRegistry(registry) if settings[MetricsSettings].port is not None else None
        classes = component_classes()
        self.policy = policy_of(settings, *(part for one in classes for part in one.policies(settings)))
        self.cipher = Keyring([secret.get_secret_value() for secret in settings.secrets])
        span: Span = contextlib.nullcontext if tracing is None else tracing.span
        self.hasher = PasswordHasher(HashingRules.of(settings[PasswordSettings]), span)
        self.database = _database(settings, tracing)
        self.counters = rate_limit.store(settings, self.database)
        self.audit_writer = AuditWriter(self.database)
        self.port = Ports()
        self.unit_of_work = UnitOfWork(
            self.policy, self.database, self.port, clock, self.audit_writer, self.metrics
        )
        run, audit = self.unit_of_work.run, self.unit_of_work.audit
        mailbox = RecentMails(clock) if settings[MailSettings].mailbox else None
        self._register(mailbox)
        core = Core(
            settings, self.policy, clock, self.database, self.port, run, audit,
            self.cipher, self.hasher, self.counters, span, self.metrics,
        )  # fmt: skip
        self.components = [one(core) for one in classes]
        self.sessions = SessionStore(self.policy, self.database, run)
        self.challenges = ChallengeStore(self.database)
        keys = settings[ApiKeySettings]
        self.api_keys = KeyStore(
            run,
            are_sessions=keys.enabled and keys.sessions,
            verifiers=[(name, tokens.digest(token)) for name, token in keys.verifier_tokens()],
        )
        self.limiter = request_limiter(core)
        self.refusals = RefusalAuditor(audit, clock, self.metrics)
        ways = backends.senders(settings, mailbox)
        mails = MailDelivery(
            run=run,
            clock=clock,
            renderer=backends.renderer(settings) if ways else None,
            senders=ways,
            resolvers=messages.resolvers(),
            metrics=self.metrics,
        )
        queues = [queue for component in self.components for queue in component.queues()]
        self.worker = OutboxWorker([*mails.queues, *queues], clock)
        # Set afterwards, because the worker itself needs the unit of work.
        self.unit_of_work.on_queued = self.worker.wake
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[object]] = []

    def _register(self, mailbox: RecentMails | None) -> None:
        """Register the adapters that every service has; those of capabilities are registered by their components."""
        self.port.add(Hasher, self.hasher)
        self.port.add(Cipher, self.cipher)
        self.port.add(Counters, self.counters)
        self.port.add(Readiness, self.is_ready)
        if mailbox is not None:
            self.port.add(Mailbox, mailbox)

    @property
    def request_hooks(self) -> list[RequestHook]:
        """Return the hooks to call for every response: those of metrics and tracing, if enabled."""
        return [one for one in (self.metrics, self.tracing) if one is not None]

    async def open(self, mode: Mode | None = None) -> None:
        """Connect to the database, and migrate or check its schema; `mode` None is the setting `database.migrate`.

        Raises DatabaseAbsent if the database cannot be reached, and SchemaRefused if its schema cannot be used.
        """
        await self.database.reach()
        try:
            await schema.prepare(self.database, mode or self.settings[DatabaseSettings].migrate)
        except BaseException:
            await self.database.close()
            raise

    async def start(self) -> None:
        """Start all components, the outbox worker (which sends mail), and the periodic jobs of all components."""
        for component in self.components:
            await component.start()
        self.worker.start()
        self.unit_of_work.audit(lambda ctx: audit_events.service_started(ctx, os.getpid()), is_logged=True)
        jobs = [job for component in self.components for job in component.jobs()]
        jobs.append(PeriodicJob("audit", self.audit_writer.flush, COUNT_EVERY))
        self._tasks = [
            asyncio.create_task(run_periodically(job.name, job.run, every=job.every, stop=self._stopping))
            for job in jobs
        ]

    def refuse_new_work(self) -> None:
        """Make /ready respond with 503, because the service is shutting down."""
        self._stopping.set()

    async def close(self) -> None:
        """Stop the background tasks and close every connection; queued mail stays in the outbox."""
        self.refuse_new_work()
        # The worker first: it uses the components, the counters and the database.
        await self.worker.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for component in self.components:
            await component.close()
        await self.audit_writer.close()
        self.hasher.close()
        await self.counters.close()
        await self.database.close()
        if self.tracing is not None:
            await self.tracing.close()

    async def is_ready(self) -> bool:
        """Return whether the service is ready: database and schema are usable, and it is not shutting down."""
        if self._stopping.is_set():
            return False
        try:
            async with asyncio.timeout(READY_WITHIN):
                if await schema.is_usable(self.database):
                    return True
            _log.warning("service.not_ready", reason="old or incomplete schema, or a standby")
        except (Unavailable, TimeoutError) as fault:
            _log.warning("service.not_ready", reason=reason(fault.__cause__ or fault))
        return False


@contextlib.asynccontextmanager
async def opened(settings: Settings, clock: Clock = system_clock) -> AsyncIterator[Services]:
    """Yield open services without background tasks, for a command.

    An empty database gets the schema. An existing schema is never migrated, because a service may be using it; raises
    SchemaRefused if the schema is older or newer than this program.
    """
    services = Services(settings, clock=clock)
    await services.open("empty")
    try:
        yield services
    finally:
        await services.close()


def _database(settings: Settings, tracing: "OpenTelemetryTracing | None") -> Database:
    chosen = settings[DatabaseSettings]
    database = create_database(
        settings.database_url.get_secret_value(),
        pool_size=chosen.pool_size,
        timeout=chosen.timeout.total_seconds(),
        pooled=chosen.pooler == "transaction",
    )
    if tracing is not None:
        database.reads = tracing.reads(database.reads)
        database.hook = tracing.statement
    return database
