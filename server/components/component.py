"""What a capability brings to a running service: adapters of its ports, periodic jobs, checks of settings."""

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
from server.config.settings import Settings
from server.crypto.keyring import Keyring
from server.crypto.password_hasher import PasswordHasher
from server.database.database import Database
from server.observability.metrics.registry import MetricsRegistry
from server.observability.tracing import Span
from server.rate_limit import Store


@dataclass(frozen=True, slots=True)
class Core:
    """What every service has, and its components are made from."""

    settings: Settings
    policy: Policy
    clock: Clock
    database: Database
    port: Ports
    """Where components register their adapters."""
    run: Runner
    audit: Audit
    cipher: Keyring
    hasher: PasswordHasher
    counters: Store
    span: Span
    metrics: MetricsRegistry | None = None


class PeriodicJob(NamedTuple):
    """Work that is repeated in the background, every so many seconds."""

    name: str
    run: Callable[[], Awaitable[object]]
    every: float


class Component:
    """The part of one capability. Every subclass in this package is made once, before the first request."""

    def __init__(self, core: Core) -> None:
        """Register the adapters of the capability's ports in `core.port`."""

    @classmethod
    def check(cls, settings: Settings) -> Iterator[str]:
        """Yield one line per reason not to start with these settings, each beginning with the key."""
        yield from ()

    @classmethod
    def policies(cls, settings: Settings) -> Iterable[object]:
        """Return the policies that no group of settings can fill."""
        return ()

    def jobs(self) -> Iterable[PeriodicJob]:
        """Return what runs in the background while the service does."""
        return ()

    async def start(self) -> None:
        """Do what must be done before the first request; the database answers."""

    async def close(self) -> None:
        """End what is under way; the database still answers."""


def component_classes() -> Sequence[type[Component]]:
    """Return the components of all capabilities, in the order of their modules."""
    import_modules(components)
    return sorted(Component.__subclasses__(), key=lambda component: component.__module__)
