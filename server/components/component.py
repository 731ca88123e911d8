"""The base class of components.

A component has the parts of a capability that a running service needs: adapters, jobs, queues and checks of settings.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from domain.context import Runner
from domain.policy import Policy
from domain.ports import Ports
from models.discovery import import_modules
from server import components
from server.audit.refusals import Audit
from server.clock import Clock
from server.config.base import Settings
from server.crypto.keyring import Keyring
from server.crypto.password_hasher import PasswordHasher
from server.database.database import Database
from server.observability.metrics.registry import MetricsRegistry
from server.observability.tracing import Span
from server.outbox.queue import Queue
from server.rate_limit import Store


@dataclass(frozen=True, slots=True)
class Core:
    """The objects of a service that every component is created with."""

    settings: Settings
    policy: Policy
    clock: Clock
    database: Database
    port: Ports
    """The registry in which components register their adapters."""
    run: Runner
    audit: Audit
    cipher: Keyring
    hasher: PasswordHasher
    counters: Store
    span: Span
    metrics: MetricsRegistry | None = None


class PeriodicJob(NamedTuple):
    """A background job that runs at startup, and again `every` seconds after the end of each run."""

    name: str
    run: Callable[[], Awaitable[object]]
    every: float


class Component:
    """The base class of components. Every subclass in this package is instantiated once, before the first request."""

    def __init__(self, core: Core) -> None:
        """Register the adapters of the capability's ports in `core.port`."""

    @classmethod
    def check(cls, settings: Settings) -> Iterator[str]:
        """Yield one line for each reason not to start with these settings; it begins with the key of the setting."""
        yield from ()

    @classmethod
    def policies(cls, settings: Settings) -> Iterable[object]:
        """Return the policies of the capability that a group of settings does not create by itself."""
        return ()

    def jobs(self) -> Iterable[PeriodicJob]:
        """Return the jobs that run in the background."""
        return ()

    def queues(self) -> Iterable[Queue]:
        """Return the queues of rows that the outbox worker processes."""
        return ()

    async def start(self) -> None:
        """Do what must be done at startup before the first request. The database is available."""

    async def close(self) -> None:
        """Stop running work and close the connections of the component. The database is still available."""


def component_classes() -> Sequence[type[Component]]:
    """Return the components of all capabilities, in the order of their modules."""
    import_modules(components)
    return sorted(Component.__subclasses__(), key=lambda component: component.__module__)
