"""Who takes part: servers, started and filled alike, with their cases and with whom each is compared."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.labs.bench import better_auth, cases, crowd
from tests.labs.bench.cases import Case
from tests.labs.bench.servers import BY_MAIL, Server, bare, by_mail, gatewright
from tests.postgres import Cluster

STARTS = 3
"""How often a start is timed."""

_TITLES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


@dataclass
class Contest:
    """Servers that run at the same time on one processor; at any moment one of them works."""

    directory: Path
    core: int
    servers: list[Server] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    peers: dict[str, str] = field(default_factory=dict)
    """For the name of a server of ours the name of the one it is compared with."""

    def add_bare(self) -> None:
        """Add the bare ASGI application. Raises ServerFailed."""
        server = bare(self.directory)
        self._start(server)
        self.cases += cases.constant(server)

    def add_gatewright(self, database: str, cluster: Cluster | None) -> None:
        """Add the service on a kind of database. Raises ServerFailed."""
        url = self._new_database("gatewright", cluster)
        server = gatewright(f"Gatewright, {_TITLES[database]}", url, self.directory)
        self._start(server, partial(crowd.fill_gatewright, url))
        self.cases += cases.operations(server, partial(crowd.renew_gatewright, url))
        self.cases += cases.tokens(server)
        self.cases += cases.keys(server)
        self.cases += cases.pages(server)

    def add_better_auth(self, database: str, cluster: Cluster | None, installed: Path) -> None:
        """Add Better Auth, installed in a folder, on a kind of database. Raises ServerFailed."""
        url = self._new_database("better-auth", cluster)
        server = better_auth.server(f"Better Auth, {_TITLES[database]}", url, installed, self.directory)
        self._start(server, partial(crowd.fill_better_auth, url))
        self.cases += cases.operations(server, partial(crowd.renew_better_auth, url))
        self.cases += cases.links(server)
        self.cases += cases.codes(server, partial(crowd.renew_codes_in_better_auth, url))
        ours = f"Gatewright, {_TITLES[database]}"
        self.peers |= {
            ours: server.name,
            **{name: server.name for name, own in BY_MAIL.items() if own == ours},
        }

    def add_many_keys(self, database: str, cluster: Cluster | None) -> None:
        """Add the service with 1,000 retired keys beside those that sign. Raises ServerFailed."""
        url = self._new_database("many-keys", cluster)
        server = gatewright(f"Gatewright, {_TITLES[database]}, 1,000 retired keys", url, self.directory)
        self._start(server, partial(crowd.add_retired_keys, url))
        self.cases += cases.tokens(server)[:1]

    def add_by_mail(self, database: str, cluster: Cluster | None) -> None:
        """Add the service that signs in by mail. Raises ServerFailed."""
        url = self._new_database("by-mail", cluster)
        server = by_mail(f"Gatewright, {_TITLES[database]}, mail", url, self.directory)
        self._start(server, partial(crowd.fill_gatewright, url))
        self.cases += cases.links(server)
        self.cases += cases.codes(server, partial(crowd.renew_codes, url))

    def add_second_worker(self, database: str, cluster: Cluster | None, cores: tuple[int, ...]) -> None:
        """Add the service with two workers on two processors: for sign-ins, which leave the load so little
        to do that it can be on one of the two. Raises ServerFailed."""
        url = self._new_database("two-workers", cluster)
        name = f"Gatewright, {_TITLES[database]}, 2 workers"
        server = gatewright(name, url, self.directory, workers=2, cores=cores)
        self._start(server, partial(crowd.fill_gatewright, url))
        self.cases += cases.signing_in(server)

    def cases_in_turn(self, wanted: tuple[str, ...]) -> list[Case]:
        """Return the constant, then each case whose name begins as wanted, on one server after the other."""
        order = (cases.CONSTANT, *cases.NAMES)
        chosen = [case for case in self.cases if case.name.startswith((cases.CONSTANT, *wanted))]
        return sorted(chosen, key=lambda case: order.index(case.name))

    def stop(self) -> None:
        """Stop every server that was started."""
        for server in self.servers:
            server.stop()

    def _new_database(self, name: str, cluster: Cluster | None) -> str:
        return f"sqlite:///{self.directory / name}.db" if cluster is None else cluster.create()

    def _start(self, server: Server, fill: Callable[[], None] = lambda: None) -> None:
        """Time a start of a server on its empty database, fill that, time further starts, and leave it running."""
        self.servers.append(server)
        server.start(self.core)
        fill()
        server.first_start = server.start_times.pop()
        for _ in range(STARTS):
            server.stop()
            server.start(self.core)
