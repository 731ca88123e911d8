"""`python -m tests.labs.bench.organizations`: how long operations of organizations take with few and many members."""

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer

from domain import tokens
from domain.sessions import sessions
from server.app import assemble
from server.observability import logs
from server.services import Services, load_settings
from tests.labs.bench import growth_rows as rows
from tests.labs.bench.timing import timed
from tests.postgres import Cluster
from tests.service import BASE_URL, environment

EACH = 10
"""Members of an organization, and organizations of a user."""
CALLERS = 500
"""Users with a session."""
PAGE = 100
ROUNDS = 5
"""How often as many requests as are measured go before them: until then, connections touch pages for the first time."""
MOST_TIMES = 1.5
"""The goal: the median with the most members, in medians with the fewest."""
MOST_WITH_FEATURE = 1.1
"""The goal of get-session with organizations, in processor time of one without. The rest is noise."""

_COLUMNS = {
    "user": (
        "id", "name", "email", "email_verified", "two_factor_enabled", "role", "banned", "created_at", "updated_at",
    ),
    "organization": ("id", "name", "slug", "created_at", "updated_at"),
    "member": ("id", "organization_id", "user_id", "role", "is_owner", "created_at", "updated_at"),
    "session": (
        "id", "user_id", "active_organization_id", "token_digest", "token_copy", "remembered", "method", "expires_at",
        "created_at", "updated_at",
    ),
}  # fmt: skip

Step = Callable[["Probe"], Awaitable[float]]

Members = Annotated[str, typer.Option(help="Numbers of members, ascending, separated by commas.")]
Asked = Annotated[int, typer.Option(min=20, help="Requests of each kind at each size.")]


def main(members: Members = "10000,1000000", asked: Asked = 500) -> None:
    """Fill private databases of PostgreSQL, and send requests to services in this process."""
    logs.configure("error", "json")
    sizes = [int(size) for size in members.split(",")]
    with ExitStack() as ends:
        directory = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-organizations-")))
        cluster = Cluster(None)
        cluster.start()
        ends.callback(cluster.stop)
        urls = [cluster.create(migrated=True) for _ in sizes]
        print(asyncio.run(_measure(urls, sizes, asked, directory)), flush=True)


@dataclass(frozen=True, slots=True)
class Probe:
    """A service without background beside a database of a size, in members."""

    client: httpx.AsyncClient
    size: int

    def user(self) -> int:
        """Return the number of a user with a session."""
        return random.choice(_callers(self.size))

    async def send(self, method: str, path: str, user: int, **options: Any) -> tuple[float, Any]:
        """Send a request as a user; return the seconds it took and the response's body."""
        headers = {"Authorization": f"Bearer {rows.token(user)}"}
        with timed() as taken:
            answer = await self.client.request(method, path, headers=headers, **options)
        assert answer.status_code == 200, answer.text
        return taken[0], answer.json()

    async def cost(self) -> float:
        """Return the seconds of processor time of reading a session."""
        headers = {"Authorization": f"Bearer {rows.token(self.user())}"}
        begun = time.process_time()
        answer = await self.client.get("/get-session", headers=headers)
        assert answer.json()["session"]["userId"], answer.text
        return time.process_time() - begun


async def list_own(probe: Probe) -> float:
    """List the organizations of a user; return the seconds it took, as all steps do."""
    taken, found = await probe.send("GET", "/organization/list", probe.user())
    assert len(found) == EACH
    return taken


async def get_full(probe: Probe) -> float:
    """Read a whole organization."""
    user = probe.user()
    query = {"organizationId": _organization_id(_organizations_of(user, probe.size)[0])}
    taken, found = await probe.send("GET", "/organization/get-full-organization", user, params=query)
    assert len(found["members"]) == EACH
    return taken


async def list_members(probe: Probe) -> float:
    """Read a page of members."""
    user = probe.user()
    query = {"organizationId": _organization_id(_organizations_of(user, probe.size)[-1]), "limit": str(PAGE)}
    taken, found = await probe.send("GET", "/organization/list-members", user, params=query)
    assert found["total"] == EACH
    return taken


async def get_active_member(probe: Probe) -> float:
    """Read the caller's membership in the active organization."""
    taken, _ = await probe.send("GET", "/organization/get-active-member", probe.user())
    return taken


async def set_active(probe: Probe) -> float:
    """Switch to an organization."""
    user = probe.user()
    body = {"organizationId": _organization_id(random.choice(_organizations_of(user, probe.size)))}
    taken, _ = await probe.send("POST", "/organization/set-active", user, json=body)
    return taken


async def get_session(probe: Probe) -> float:
    """Read a session with its active organization."""
    taken, _ = await probe.send("GET", "/get-session", probe.user())
    return taken


STEPS: Mapping[str, Step] = {
    "list": list_own,
    "get-full-organization": get_full,
    "list-members": list_members,
    "get-active-member": get_active_member,
    "set-active": set_active,
    "get-session": get_session,
}


async def _measure(urls: Sequence[str], sizes: Sequence[int], asked: int, directory: Path) -> str:
    async with AsyncExitStack() as ends:

        async def probe(url: str, size: int, is_on: str) -> Probe:
            return Probe(await ends.enter_async_context(_serving(url, directory, is_on)), size)

        for url, size in zip(urls, sizes, strict=True):
            await _fill(url, directory, size)
        probes = [await probe(url, size, "true") for url, size in zip(urls, sizes, strict=True)]
        found = {name: await _medians(step, probes, asked) for name, step in STEPS.items()}
        without = await probe(urls[-1], sizes[-1], "false")
        on, off = await _medians(Probe.cost, [probes[-1], without], asked * 4)
    heads = " | ".join(f"{size:,} members" for size in sizes)
    lines = [f"| ms at p50 | {heads} | times | goal met |", "|---" * (len(sizes) + 3) + "|"]
    lines += [
        f"| {name} | {_cells(medians)} | {_verdict(medians[-1] / medians[0], MOST_TIMES)} |"
        for name, medians in found.items()
    ]
    compared = f"| {_cells([off, on])} | {_verdict(on / off, MOST_WITH_FEATURE)} |"
    lines += [
        "",
        "| ms of processor at p50 | without | with | times | goal met |",
        "|---" * 5 + "|",
        f"| get-session {compared}",
    ]
    return "\n".join(lines) + "\n"


def _cells(medians: Iterable[float]) -> str:
    return " | ".join(f"{median:.2f}" for median in medians)


def _verdict(times: float, most: float) -> str:
    return f"{times:.2f} | {'yes' if times <= most else '**no**'}"


async def _medians(step: Step, probes: Sequence[Probe], asked: int) -> list[float]:
    """Return the median of each probe in ms. They take turns, so that whatever slows the machine slows all alike."""
    taken: list[list[float]] = [[] for _ in probes]
    for number in range((ROUNDS + 1) * asked):
        for probe, seconds in zip(probes, taken, strict=True):
            second = await step(probe)
            if number >= ROUNDS * asked:
                seconds.append(second)
    return [statistics.median(seconds) * 1000 for seconds in taken]


@asynccontextmanager
async def _serving(url: str, directory: Path, is_on: str) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of a service in this process."""
    settings = {
        "organizations.enabled": is_on, "organizations.teams.enabled": "false", "limits.enabled": "false"
    }  # fmt: skip
    services = Services(load_settings(environment(url, directory / "mail.jsonl", settings), directory))
    app = assemble(services)
    await services.open()
    try:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE_URL) as client:
            yield client
    finally:
        await services.close()


def _organization_id(number: int) -> str:
    return f"organization{number:020}"


def _users(size: int) -> int:
    return size // EACH


def _organizations_of(user: int, size: int) -> list[int]:
    """Return the organizations of a user: member `m` is the user `m % users` in the organization `m // EACH`."""
    return [(user + turn * _users(size)) // EACH for turn in range(EACH)]


def _callers(size: int) -> range:
    """Return the users with a session, spread over all; one of ten owns the first of their organizations."""
    return range(0, _users(size), _users(size) // CALLERS | 1)


async def _fill(url: str, directory: Path, size: int) -> None:
    """Put users, organizations, members and sessions into a database."""
    settings = load_settings(environment(url, directory / "mail.jsonl", {}), directory)
    services = Services(settings)
    await services.open()
    now = datetime.now(UTC)
    copy = services.cipher.encrypt(sessions.COPY_PURPOSE, rows.token(0))
    await services.close()
    connection = await rows.connect(url)
    people = range(_users(size))
    records: dict[str, Iterable[tuple[Any, ...]]] = {
        "user": (
            (rows.user_id(number), "Somebody", rows.email(number), True, False, "user", False, now, now)
            for number in people
        ),
        "organization": (
            (_organization_id(number), "Acme", f"acme-{number}", now, now) for number in range(size // EACH)
        ),
        "member": (_member(number, size, now) for number in range(size)),
        "session": (_session(number, size, now, copy) for number in _callers(size)),
    }
    for table, made in records.items():
        await connection.copy_records_to_table(table, columns=_COLUMNS[table], records=made)
        await connection.execute(f'VACUUM (ANALYZE) "{table}"')
    await connection.close()


def _member(number: int, size: int, now: datetime) -> tuple[Any, ...]:
    is_owner = number % EACH == 0
    organization, user = _organization_id(number // EACH), rows.user_id(number % _users(size))
    return f"member{number:026}", organization, user, "owner" if is_owner else "member", is_owner, now, now


def _session(number: int, size: int, now: datetime, copy: bytes) -> tuple[Any, ...]:
    active, digest = _organization_id(_organizations_of(number, size)[0]), tokens.digest(rows.token(number))
    ids = f"session{number:025}", rows.user_id(number), active
    return *ids, digest, copy, True, "password", now + timedelta(days=7), now, now


if __name__ == "__main__":
    typer.run(main)
