"""Two instances of the service behind HAProxy, on the address that leads to the primary."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.haproxy import balancing, listening, names
from tests.labs.ha.processes import free_ports
from tests.live import LiveService, serving

POOL = 10
"""Connections of an instance: the default."""

_SETTINGS = {
    "secrets": "s" * 32,
    # All clients are in one network.
    "limits.requests": "2000",
    "limits.network_failures": "0",
    "session.max_per_user": "0",
    "audit.retention": "0",
    "trusted_proxies": "127.0.0.1/32",
    "database.pool_size": str(POOL),
    # The balancer looks twice a second, and believes what it sees twice.
    "server.shutdown_delay": "2s",
}


@dataclass
class Instances:
    """The running instances, and the address of both together."""

    url: str
    directory: Path
    settings: Mapping[str, str]
    ports: list[int]
    log: list[str] = field(default_factory=list)
    """The lines that both have printed; those of one that runs come at its end."""
    _running: list[tuple[ExitStack, LiveService]] = field(default_factory=list)

    @property
    def urls(self) -> list[str]:
        """The address of each."""
        return [f"http://127.0.0.1:{port}" for port in self.ports]

    @property
    def mail_file(self) -> Path:
        """Where both put their mails."""
        return self.directory / "mail.jsonl"

    def start(self, number: int) -> None:
        """Start an instance, and return once it serves."""
        folder = self.directory / names(number + 1)[-1]
        folder.mkdir(exist_ok=True)
        ends = ExitStack()
        live = ends.enter_context(serving(folder, self.settings, port=self.ports[number]))
        self._running.insert(number, (ends, live))

    def stop(self, number: int) -> None:
        """Stop an instance in order."""
        ends, live = self._running.pop(number)
        ends.close()
        self.log += live.output.lines

    async def restart(self, number: int) -> None:
        """Restart an instance as a new release would be rolled out: it ends in order, then starts."""
        await asyncio.to_thread(self.stop, number)
        await asyncio.to_thread(self.start, number)


@contextmanager
def together(directory: Path, database_url: str, overrides: Mapping[str, str]) -> Iterator[Instances]:
    """Run two instances behind a balancer until the end of the block."""
    directory.mkdir()
    with listening() as listener:
        settings = {
            **_SETTINGS,
            "log.level": "info",
            "log.requests": "false",
            "database_url": database_url,
            "base_url": listener.url,
            "mail.file_path": str(directory / "mail.jsonl"),
            **overrides,
        }
        instances = Instances(listener.url, directory, settings, free_ports(2))
        try:
            for number in range(2):
                instances.start(number)
            with balancing(directory, listener, instances.urls):
                yield instances
        finally:
            for _ in range(len(instances._running)):
                instances.stop(0)
