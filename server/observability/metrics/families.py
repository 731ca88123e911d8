"""Every metric there is, once: its name, what it means, and how the processes' values become one.

No label ever holds anything a client has sent: operations, codes, events and templates are words of this program,
providers are the operator's.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets of the times of answers, in seconds; the last bucket has none."""


class Sample(NamedTuple):
    """One value of one process; that of a histogram is the number in each bucket, and last the sum."""

    family: str
    labels: tuple[str, ...]
    value: float | list[float]


@dataclass(frozen=True, slots=True)
class Family:
    """One metric. Of several processes values are added, unless all of them tell the same (`shared`)."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    meaning: str
    labels: tuple[str, ...] = ()
    shared: bool = False

    @property
    def exposed(self) -> tuple[str, ...]:
        """The names under which it is scraped."""
        if self.kind == "histogram":
            return tuple(f"{self.name}_{part}" for part in ("bucket", "sum", "count"))
        return (self.name,)


REQUESTS = Family(
    "gatewright_requests_total",
    "counter",
    "Requests answered, by operation of the contract (none: no operation was found) and status.",
    ("operation", "status"),
)
REQUEST_SECONDS = Family(
    "gatewright_request_seconds",
    "histogram",
    "Time from the head of a request to the end of its answer.",
    ("operation",),
)
REFUSALS = Family("gatewright_refusals_total", "counter", "Refusals, by code.", ("code",))
LIMITED = Family(
    "gatewright_limit_refusals_total",
    "counter",
    "Answers 429, by what was spent: requests, or failures (wrong passwords and codes).",
    ("kind",),
)
AUDIT_EVENTS = Family(
    "gatewright_audit_events_total", "counter", "Audit events, by name and outcome.", ("event", "outcome")
)
PROVIDER_CALLS = Family(
    "gatewright_provider_calls_total",
    "counter",
    "Questions to identity providers, by result: answered, refused, unavailable.",
    ("provider", "result"),
)
MAILS = Family(
    "gatewright_outbox_mails_total",
    "counter",
    "Mails by what became of them: sent, postponed, failed for good.",
    ("template", "result"),
)
OUTBOX_WAITING = Family(
    "gatewright_outbox_waiting",
    "gauge",
    "Rows of the outbox that are not done: unresolved requests, queued mails; the same in every instance.",
    ("state",),
    shared=True,
)
OUTBOX_OLDEST = Family(
    "gatewright_outbox_oldest_seconds",
    "gauge",
    "Age of the oldest row that waits in the outbox; 0 when none does; the same in every instance.",
    shared=True,
)
HASH_SIZE = Family("gatewright_hash_pool_size", "gauge", "Threads that hash passwords.")
HASH_BUSY = Family("gatewright_hash_pool_busy", "gauge", "Threads that are hashing now.")
HASH_WAITING = Family("gatewright_hash_pool_waiting", "gauge", "Hashes that wait for a thread.")
HASH_REFUSED = Family(
    "gatewright_hash_pool_refused_total", "counter", "Hashes refused because too many waited, or too long."
)
POOL_SIZE = Family("gatewright_database_pool_size", "gauge", "Most connections for transactions.")
POOL_USED = Family("gatewright_database_pool_in_use", "gauge", "Connections in use by a transaction.")
POOL_WAITING = Family("gatewright_database_pool_waiting", "gauge", "Transactions that wait for a connection.")
POOL_TIMEOUTS = Family(
    "gatewright_database_pool_timeouts_total", "counter", "Transactions that got no connection in time."
)
DATABASE_UP = Family("gatewright_database_up", "gauge", "Processes for which the database answered just now.")
WORKERS = Family("gatewright_workers", "gauge", "Processes that serve, and answered just now.")
BUILD = Family(
    "gatewright_build_info", "gauge", "1, with the version of the program.", ("version",), shared=True
)
MEMORY = Family("gatewright_process_memory_bytes", "gauge", "Memory of the serving processes that is in RAM.")
CPU = Family("gatewright_process_cpu_seconds_total", "counter", "CPU time of the serving processes.")

FAMILIES = {
    family.name: family
    for family in (
        REQUESTS,
        REQUEST_SECONDS,
        REFUSALS,
        LIMITED,
        AUDIT_EVENTS,
        PROVIDER_CALLS,
        MAILS,
        OUTBOX_WAITING,
        OUTBOX_OLDEST,
        HASH_SIZE,
        HASH_BUSY,
        HASH_WAITING,
        HASH_REFUSED,
        POOL_SIZE,
        POOL_USED,
        POOL_WAITING,
        POOL_TIMEOUTS,
        DATABASE_UP,
        WORKERS,
        BUILD,
        MEMORY,
        CPU,
    )
}
"""All of them, by name, in the order in which they are scraped."""
