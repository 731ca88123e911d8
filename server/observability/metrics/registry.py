"""The metrics of the service, in prometheus_client. Each process makes one `MetricsRegistry`.

No label contains text from a client: operations, codes, events and templates are names of this program, providers and
verifiers are names of the operator.
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from domain.errors import Limited, Refusal
from models import AuditRecord

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets of response times, in seconds."""

NO_OPERATION = "none"
"""The label of requests for which no operation was found; their paths are arbitrary."""

NO_VERIFIER = "none"
"""The label of verifications without a verifier: requests that were made with an API key."""


class MetricsRegistry:
    """The counters of one process, and the gauges that `server.components.metrics` sets.

    With several processes, each process writes to its own files (`PROMETHEUS_MULTIPROC_DIR`).
    """

    def __init__(self, registry: "CollectorRegistry | None" = None) -> None:
        """Create all metrics in `registry`, by default a new one."""
        # prometheus_client costs 30 ms to import, and reads PROMETHEUS_MULTIPROC_DIR then.
        from prometheus_client import (  # noqa: PLC0415 - see above
            CollectorRegistry,
            Counter,
            Gauge,
            Histogram,
            disable_created_metrics,
        )

        # The `_created` series would double the number of series of counters.
        disable_created_metrics()
        self.registry = CollectorRegistry() if registry is None else registry
        counter = partial(Counter, registry=self.registry)
        total = partial(Gauge, registry=self.registry, multiprocess_mode="livesum")
        latest = partial(Gauge, registry=self.registry, multiprocess_mode="livemostrecent")

        self._requests = counter(
            "gatewright_requests_total",
            "Responses, by operation of the contract (none: no operation was found) and status.",
            ("operation", "status"),
        )
        self._request_seconds = Histogram(
            "gatewright_request_seconds",
            "Time from the head of a request to the end of its response.",
            ("operation",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._bound: dict[tuple[str | None, int], tuple[Callable[[], None], Callable[[float], None]]] = {}
        self._refusals = counter("gatewright_refusals_total", "Refusals, by code.", ("code",))
        self._limited = counter(
            "gatewright_limit_refusals_total",
            "Responses 429, by the limit that was reached: requests, or failures (wrong passwords and codes).",
            ("kind",),
        )
        self._counts_lost = counter(
            "gatewright_limit_store_losses_total",
            "Times that the store of the limits was found to have lost its counts.",
        )
        self._audit_events = counter(
            "gatewright_audit_events_total", "Audit events, by name and outcome.", ("event", "outcome")
        )
        self._provider_calls = counter(
            "gatewright_provider_calls_total",
            "Calls to identity providers, by result: answered, refused, unavailable.",
            ("provider", "result"),
        )
        self._mails = counter(
            "gatewright_outbox_mails_total",
            "Mails by result: sent, postponed, failed for good.",
            ("template", "result"),
        )
        self._webhook_attempts = counter(
            "gatewright_webhook_attempts_total",
            "Attempts to deliver an event to a webhook endpoint by result: delivered, postponed, failed for good.",
            ("result",),
        )
        self._webhooks_dropped = counter(
            "gatewright_webhook_dropped_total",
            "Deliveries that were dropped because too many waited for their endpoint.",
        )
        self.webhook_pending = latest(
            "gatewright_webhook_pending",
            "Deliveries that wait for an active endpoint; the same in every instance.",
        )
        self.webhook_oldest = latest(
            "gatewright_webhook_oldest_seconds",
            "Age of the oldest waiting delivery; 0 without one; the same in every instance.",
        )
        self.webhook_overdue = latest(
            "gatewright_webhook_overdue_seconds",
            "Time for which a delivery to an endpoint that is not failing has been due; the same in every instance.",
        )
        self.webhook_endpoints = latest(
            "gatewright_webhook_endpoints",
            "Webhook endpoints by state: active, failing, paused, disabled; the same in every instance.",
            ("state",),
        )
        self.ending_certificates = latest(
            "gatewright_sso_ending_certificates",
            "Active SAML connections whose last certificate ends within 30 days, or has ended; "
            "the same in every instance.",
        )
        self._logout_attempts = counter(
            "gatewright_logout_attempts_total",
            "Attempts to tell OAuth clients of ended sessions by result: delivered, postponed, failed for good.",
            ("result",),
        )
        self._key_verifications = counter(
            "gatewright_api_key_verifications_total",
            "Verifications of API keys, by service (none: the key itself was sent) and result: valid, or the code.",
            ("verifier", "result"),
        )
        self._tokens_issued = counter(
            "gatewright_tokens_issued_total",
            "Signed tokens for other services, by algorithm.",
            ("algorithm",),
        )
        self.signing_keys_undecipherable = latest(
            "gatewright_signing_keys_undecipherable",
            "Signing keys under a secret that was removed too early; the same in every instance.",
        )
        self.outbox_waiting = latest(
            "gatewright_outbox_waiting",
            "Rows of the outbox that are not done: unresolved requests, queued mails; the same in every instance.",
            ("state",),
        )
        self.outbox_oldest = latest(
            "gatewright_outbox_oldest_seconds",
            "Age of the oldest waiting row of the outbox; 0 without one; the same in every instance.",
        )
        self.hash_pool = (
            total("gatewright_hash_pool_size", "Threads that hash passwords."),
            total("gatewright_hash_pool_busy", "Threads that are hashing."),
            total("gatewright_hash_pool_waiting", "Hashes that wait for a thread."),
        )
        self.hash_pool_refused = counter(
            "gatewright_hash_pool_refused_total", "Hashes refused because too many waited, or too long."
        )
        self.database_pool = (
            total("gatewright_database_pool_size", "Maximum of connections for transactions."),
            total("gatewright_database_pool_in_use", "Connections in use by a transaction."),
            total("gatewright_database_pool_waiting", "Transactions that wait for a connection."),
        )
        self.database_pool_timeouts = counter(
            "gatewright_database_pool_timeouts_total", "Transactions that got no connection in time."
        )
        self.database_commits_unanswered = total(
            "gatewright_database_commits_unanswered",
            "Commits not answered in time, as without a synchronous standby; each keeps its connection.",
        )
        self.database_read_only = counter(
            "gatewright_database_read_only_total",
            "Connections for transactions closed because their server is read-only (25006): a standby.",
        )
        self.database_away_seconds = counter(
            "gatewright_database_away_seconds_total",
            "Seconds without a primary: from a connection for transactions that failed to the next that was opened.",
        )
        self.database_up = total("gatewright_database_up", "Processes that reach the database.")
        self.workers = total("gatewright_workers", "Processes that serve.")
        latest("gatewright_build_info", "1, with the version of the program.", ("version",)).labels(
            version("gatewright")
        ).set(1)
        self.memory = total("gatewright_process_memory_bytes", "Resident memory of the serving processes.")
        self.cpu_seconds = counter(
            "gatewright_process_cpu_seconds_total", "CPU time of the serving processes."
        )
        self._totals: dict[Counter, float] = {}

    def request(self, operation: str | None, status: int, seconds: float) -> None:
        """Count a response by operationId and status. `operation` is None if no operation was found."""
        # `labels` builds its key from the texts at each call; every request calls this, so the result is kept.
        bound = self._bound.get((operation, status))
        if bound is None:
            name = operation or NO_OPERATION
            bound = (self._requests.labels(name, str(status)).inc, self._request_seconds.labels(name).observe)
            self._bound[operation, status] = bound
        count, observe = bound
        count()
        observe(seconds)

    def refusal(self, refusal: Refusal) -> None:
        """Count a refusal by its code; a request above a limit also by the kind of the limit."""
        self._refusals.labels(refusal.code).inc()
        if isinstance(refusal, Limited):
            self._limited.labels(refusal.kind).inc()

    def counts_lost(self) -> None:
        """Count that the store of the rate limits has lost its counters."""
        self._counts_lost.inc()

    def audited(self, records: Sequence[AuditRecord]) -> None:
        """Count audit records by event and outcome."""
        for record in records:
            self._audit_events.labels(record.event, record.outcome).inc()

    def provider_call(self, provider_id: str, result: str) -> None:
        """Count a call to a provider by its result: `answered`, `refused` or `unavailable`."""
        self._provider_calls.labels(provider_id, result).inc()

    def webhook_attempt(self, result: str) -> None:
        """Count an attempt to deliver a webhook event, by its result."""
        self._webhook_attempts.labels(result).inc()

    def webhooks_dropped(self, number: int) -> None:
        """Count webhook deliveries that were dropped."""
        self._webhooks_dropped.inc(number)

    def logout_attempt(self, result: str) -> None:
        """Count an attempt to send a logout token to an OAuth client, by its result."""
        self._logout_attempts.labels(result).inc()

    def mail(self, template: str, result: str) -> None:
        """Count an attempt to send an email by its template and its result: `sent`, `postponed` or `failed`."""
        self._mails.labels(template, result).inc()

    def key_verified(self, verifier: str | None, result: str) -> None:
        """Count a verification of an API key by its result: `valid`, or the code of the refusal."""
        self._key_verifications.labels(verifier or NO_VERIFIER, result).inc()

    def token_issued(self, algorithm: str) -> None:
        """Count a signed token by the algorithm of its signature."""
        self._tokens_issued.labels(algorithm).inc()

    def advance(self, counter: "Counter", total: float) -> None:
        """Set a counter to a total that was counted elsewhere in this process; the total must never decrease."""
        # A counter of prometheus_client can only be incremented.
        counter.inc(total - self._totals.get(counter, 0))
        self._totals[counter] = total
