"""Instances of the service behind a balancer, on one database: what the tests of many instances stand on."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from tests.haproxy import INSTANCE, balancing, listening, names
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.live import TIMEOUT, LiveService, Output, promote, serving
from tests.postgres import _wait_for
from tests.security.everything import journey
from tests.security.witness import Answer, Witness
from tests.service import mails_in

VISITOR = "127.0.0.9"
"""Where clients come from, which is not where the balancer comes from."""

LONG = 60.0
"""Seconds within which everything that is to come has come."""

SLOWEST_START = 300.0
"""Seconds until the first answer, of many processes that begin at once."""

CHEAP_HASHES = {"password.argon2_memory_kib": "1024", "password.argon2_time": "1"}
UNLIMITED = {"limits.requests": "0", "limits.mail_burst": "0", "limits.mail_daily": "0"}
UNHURRIED = {"database.timeout": "60s", "password.hash_wait": "60s"}
"""On a slow machine nobody is told to come again later."""


@dataclass(frozen=True, slots=True)
class Way:
    """How instances reach their database: by the address `through`, if there is one, and with which settings."""

    database_url: str
    through: str | None = None
    workers: int = 1
    """Processes of each instance."""
    overrides: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Instances:
    """The running instances in the order of the balancer, and the address of all of them together."""

    url: str
    directory: Path
    database_url: str
    settings: Mapping[str, str]
    running: list[LiveService] = field(default_factory=list)

    @property
    def mail_file(self) -> Path:
        """Where all of them put their mails."""
        return self.directory / "mail.jsonl"

    @property
    def names(self) -> list[str]:
        """What the balancer calls them."""
        return names(len(self.running))

    def witness(self) -> Witness:
        """Return somebody who drives the balancer, and knows neither the instances nor the mails to others so far."""
        seen = len(self.mails())
        return Witness(LiveService(self.url, self.running[0].process, Output()), self.mail_file, read=seen)

    def client(self, number: int | None = None, **options: Any) -> httpx.Client:
        """Return a client of the balancer, or of one instance, that comes from the place of visitors."""
        url = self.url if number is None else self.running[number].url
        transport = httpx.HTTPTransport(local_address=VISITOR)
        return httpx.Client(base_url=url, transport=transport, timeout=TIMEOUT, trust_env=False, **options)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Read from the database directly."""

        async def read() -> list[tuple[Any, ...]]:
            connection = await asyncpg.connect(self.database_url)
            try:
                return [tuple(row.values()) for row in await connection.fetch(statement)]
            finally:
                await connection.close()

        return _wait_for(read())

    def wait_for_rows(self, statement: str, wanted: list[tuple[Any, ...]]) -> None:
        """Wait until a statement gives these rows."""
        deadline = time.monotonic() + LONG
        while (found := self.rows(statement)) != wanted:
            assert time.monotonic() < deadline, found
            time.sleep(0.1)

    def mails(self) -> list[dict[str, str]]:
        """Return the mails so far."""
        return mails_in(self.mail_file)

    def serve(self, number: int, *, port: int = 0, workers: int = 1) -> AbstractContextManager[LiveService]:
        """Start an instance in a folder of its own."""
        folder = self.directory / names(number + 1)[-1]
        folder.mkdir(exist_ok=True)
        return serving(folder, self.settings, port=port, workers=workers)


@contextmanager
def together(directory: Path, provider: ProviderProcess, way: Way) -> Iterator[Instances]:
    """Run two instances behind a balancer, on a database that they reach in some way."""
    with listening() as listener, ExitStack() as ends:
        settings = {
            **journey.settings(), **CHEAP_HASHES, **UNLIMITED, **UNHURRIED, **social_settings(provider),
            **way.overrides,
            "log.level": "info",
            "database_url": way.through or way.database_url,
            "base_url": listener.url,
            "trusted_proxies": "127.0.0.1/32",
            "mail.file_path": str(directory / "mail.jsonl"),
        }  # fmt: skip
        instances = Instances(listener.url, directory, way.database_url, settings)
        for number in range(2):
            instances.running.append(ends.enter_context(instances.serve(number, workers=way.workers)))
        ends.enter_context(balancing(directory, listener, [live.url for live in instances.running]))
        with instances.client() as client:
            client.get("/ready", timeout=SLOWEST_START).raise_for_status()
        yield instances


def all_steps(instances: Instances, provider: ProviderProcess) -> list[Answer]:
    """Take every step of the journey through the whole contract, by the balancer; give the answers."""
    provider.reset()
    witness = instances.witness()
    settings = {**instances.settings, "database_url": instances.database_url}
    administrators = partial(promote, directory=instances.directory, overrides=settings)
    for _ in journey.journey(witness, provider, administrators):
        pass
    return witness.answers


def served_by(answers: Sequence[Answer]) -> list[str]:
    """Return which instance has answered each time."""
    return [answer.response.headers[INSTANCE] for answer in answers]


def events(live: LiveService, name: str) -> list[str]:
    """Return the lines of an instance's log that tell of an event."""
    with live.output.grown:
        return [line for line in live.output.lines if f'"{name}"' in line]
