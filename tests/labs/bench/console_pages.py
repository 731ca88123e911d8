"""The pages of the console with many users and audit records: how soon each begins to arrive, and what it costs.

The service is a process on one processor. Every page that a link leads to is opened over HTTP, one of each kind, and
lists also with their filters.
"""

import http.client
import re
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import uvloop

from tests.labs.bench import console_rows, machine, turns
from tests.labs.bench.console_rows import BUSY
from tests.labs.bench.oauth import postmaster
from tests.labs.bench.servers import Server, bare, gatewright, settle
from tests.labs.bench.turns import Asked
from tests.labs.e2e.console_walk import template_of
from tests.postgres import Cluster
from tests.service import PASSWORD, declared_settings, variables

MOST_MS = 300.0
"""The goal: milliseconds to the first byte of every page, at the median."""
LIST, PER_SECOND = "/console/users", 300.0
"""The list of users, and its goal: pages per second of a processor."""
TURN, TURNS = 64, 5
"""Requests for a page in a turn, and turns."""
ROOT = {"name": "Root", "email": "root@example.com", "password": PASSWORD}
SETTINGS = {
    **declared_settings("SETTINGS"),
    "passkey.rp_id": "localhost",
    "passkey.origins": "http://localhost:8000",
    "session.cookie_secure": "false",
    "api_keys.enabled": "true",
    "limits.requests": "1000000000",
    "limits.failures": "0",
    "audit.retention": "0",
}
USERS = (
    "search=somebody.123@", "search=.123@", "search=Somebody+123", "banned=true", "verified=false", "twoFactor=true",
    "role=support", "provider=github", "sort=name", "sort=email", "role=support&banned=true",
)  # fmt: skip
AUDIT = (
    "event=sign_in.succeeded", "event=user.banned", "group=sign_in", f"subject={BUSY}", f"actor={BUSY}",
    "subject=somebody.123@example.com", "network=10.20.113.30", "network=10.0.0.0/8", "outcome=success",
    "outcome=failure", f"subject={BUSY}&event=user.banned",
)  # fmt: skip
"""Filters of the lists of users and of audit records."""
OTHERS = (
    "/console/search?search=somebody.123",
    "/console/mail?state=failed",
    "/console/api-keys?search=gwk_a1",
)
_LINK = re.compile(r'<a\b[^>]*?\bhref="(/console[^"#]*)"')


@dataclass
class Opened:
    """A page of one kind, and what its requests took."""

    path: str
    milliseconds: list[float] = field(default_factory=list)
    service: list[float] = field(default_factory=list)
    """Milliseconds of processor time of the service."""
    database: list[float] = field(default_factory=list)
    """Milliseconds of processor time of PostgreSQL."""
    size: int = 0
    """Bytes of the page, not compressed."""
    status: int = 0

    @property
    def median(self) -> float:
        """Return the milliseconds to the first byte at the median."""
        return statistics.median(self.milliseconds)


@dataclass
class Administrator:
    """An administrator's browser, which keeps its connection open."""

    server: Server
    database: int
    """The process id of PostgreSQL."""
    cookie: str

    def __post_init__(self) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)

    def open(self, page: Opened) -> str:
        """Open a page, note what it took, and return it."""
        before = self._spent()
        begun = time.perf_counter()
        self._connection.request("GET", page.path, headers={"Cookie": self.cookie, "Accept": "text/html"})
        response = self._connection.getresponse()
        page.milliseconds.append((time.perf_counter() - begun) * 1000)
        content = response.read()
        service, database = (after - since for after, since in zip(self._spent(), before, strict=True))
        page.service.append(service / 1_000_000)
        page.database.append(database / 1_000_000)
        page.size, page.status = len(content), response.status
        return content.decode()

    def _spent(self) -> tuple[int, int]:
        return machine.spent_nanoseconds(self.server.pid), machine.spent_nanoseconds(self.database)


def run(users: int, audit: int, asked: int) -> None:
    """Fill a private PostgreSQL, run the service on it, and print the tables."""
    cores = machine.choose_cores()
    with ExitStack() as ends:
        directory = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-console-")))
        cluster = Cluster(None, shared_buffers="2GB", max_wal_size="16GB")
        cluster.start()
        ends.callback(cluster.stop)
        url = cluster.create(migrated=True)
        uvloop.run(console_rows.fill(url, users, audit))
        lone, server = bare(directory), gatewright("console", url, directory, settings=variables(SETTINGS))
        for each in (lone, server):
            each.start(cores.server)
            ends.callback(each.stop)
        measure(server, lone, uvloop.run(postmaster(url)), asked)


def measure(server: Server, lone: Server, database: int, asked: int) -> None:
    """Open every page, and print how soon each begins to arrive and how many a processor serves in a second."""
    cookie = sign_in(server)
    administrator = Administrator(server, database, cookie)
    pages = [*_linked(administrator), *map(Opened, _filtered())]
    settle([server])
    for _ in range(asked):
        for page in pages:
            administrator.open(page)
    print(_table(pages), flush=True)
    print(_rates(server, lone, cookie), flush=True)


def sign_in(server: Server) -> str:
    """Return the cookie of a new administrator, who has one of everything that pages show."""
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        token = _post(client, "/sign-up/email", ROOT)["token"]
        server.promote(ROOT["email"])
        client.headers["Authorization"] = f"Bearer {token}"
        _post(client, "/api-key/create", {"name": "deployment"})
        _post(client, "/organization/create", {"name": "Engines", "slug": "engines"})
        _post(
            client,
            "/oauth2/create-client",
            {"client_name": "Shop", "redirect_uris": ["https://shop.example.com/"]},
        )
        hook = {"name": "crm", "url": "http://127.0.0.1:9/hooks", "events": ["user.*"]}
        endpoint = _post(client, "/webhooks/create-endpoint", hook)["endpoint"]
        _post(client, "/webhooks/send-test", {"id": endpoint["id"]})
        signed_in = client.post("/sign-in/email", json={"email": ROOT["email"], "password": PASSWORD})
        return signed_in.headers["set-cookie"].partition(";")[0]


def _post(client: httpx.Client, path: str, body: Mapping[str, object]) -> dict[str, Any]:
    response = client.post(path, json=body)
    assert response.is_success, (path, response.text)
    answer: dict[str, Any] = response.json()
    return answer


def _linked(administrator: Administrator) -> Iterator[Opened]:
    """Yield the pages that links lead to, one of each kind: the first that is found."""
    left, seen = deque([f"/console/users/{BUSY}", "/console"]), set[str | None]([None])
    while left:
        page = Opened(left.popleft())
        template = template_of(urlsplit(page.path).path)
        if template in seen:
            continue
        seen.add(template)
        left += [
            unescape(link) for link in _LINK.findall(administrator.open(page)) if "ui_locales" not in link
        ]
        yield Opened(page.path)


def _filtered() -> Iterator[str]:
    """Yield lists with filters."""
    today = datetime.now(UTC).date()
    days = f"from={today - timedelta(days=90)}&to={today - timedelta(days=60)}"
    yield from (f"/console/users?{query}" for query in (*USERS, days, f"{days}&verified=false"))
    audit = (*AUDIT, days, f"outcome=failure&{days}", f"group=sign_in&{days}")
    yield from (f"/console/audit?{query}" for query in audit)
    yield from OTHERS


def _table(pages: Sequence[Opened]) -> str:
    lines = [
        "| Page | ms to the first byte, p50 | most | CPU ms, service | CPU ms, PostgreSQL | kB | below 300 ms |",
        "|---" * 7 + "|",
    ]
    for page in sorted(pages, key=lambda page: -page.median):
        service, database = statistics.median(page.service), statistics.median(page.database)
        # On a busy machine a page waits for processors, which it would not do on a quiet one.
        met = page.status == 200 and min(page.median, service + database) < MOST_MS
        lines.append(
            f"| `{page.path}` | {page.median:.0f} | {max(page.milliseconds):.0f} | {service:.1f} | {database:.1f}"
            f" | {page.size / 1000:.0f} | {'yes' if met else f'**no** ({page.status})'} |"
        )
    return "\n".join(lines) + "\n"


def _rates(server: Server, lone: Server, cookie: str) -> str:
    """Return how many pages a processor serves in a second, by the processor time of the service."""
    requests = {
        "bare ASGI": Asked(lone, [turns.get("/")]),
        **{
            path: Asked(server, [turns.get(path, f"Cookie: {cookie}\r\nAccept: text/html\r\n")], turn=TURN)
            for path in (LIST, "/console", "/console/audit")
        },
    }
    settle([server, lone])
    taken = uvloop.run(turns.take(requests, TURNS))
    lines = ["| Page | CPU µs | per second of a processor | of bare ASGI | goal: 300 |", "|---" * 5 + "|"]
    for name, microseconds in taken.items():
        median = statistics.median(microseconds)
        rate, share = 1_000_000 / median, turns.share(taken["bare ASGI"], microseconds)
        lines.append(
            f"| {name} | {median:.0f} | {rate:,.0f} | {share:.1%} | {_met(rate) if name == LIST else ''} |"
        )
    return "\n".join(lines) + "\n"


def _met(rate: float) -> str:
    return "yes" if rate >= PER_SECOND else "**no**"
