"""Clients who remember what they were told, probes that write without end, and a look at the connections."""

import asyncio
import itertools
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import asyncpg
import httpx

from tests.labs.ha.cluster import DRIVER_FAULTS, PatroniCluster
from tests.labs.ha.guesses import Guesses
from tests.labs.ha.ledger import Ledger
from tests.labs.ha.limit_store import LimitStore
from tests.service import PASSWORD

CLIENTS = 12
PROBES = 3
"""Of each instance."""
WATCHERS = 8
PAUSE = 0.1
"""Seconds between two requests of a client who was refused, and between two probes."""


@dataclass
class Writes:
    """When (monotonic seconds) writes in one place were acknowledged."""

    times: list[float] = field(default_factory=list)
    latest: float = 0.0
    """When the latest of them began: one that began before a fault may be acknowledged after it."""

    def add(self, began: float) -> None:
        """Note that a write was acknowledged now."""
        self.times.append(time.monotonic())
        self.latest = max(self.latest, began)

    def longest_gap(self, since: float) -> tuple[float, float]:
        """Return beginning and end of the longest time without a write since then; the end is now if there is none."""
        times = [since, *(when for when in sorted(self.times) if when > since), time.monotonic()]
        return max(itertools.pairwise(times), key=lambda gap: gap[1] - gap[0])

    def first_since(self, moment: float) -> float:
        """Return the first write since then; now if there is none."""
        return min((when for when in self.times if when >= moment), default=time.monotonic())


@dataclass
class Load:
    """Everything that runs against the instances and the cluster during one scenario."""

    cluster: PatroniCluster
    balancer: str
    instances: list[str]
    store: LimitStore | None = None
    """The store of the limits, if it is what breaks: then probes sign in."""
    ledger: Ledger = field(default_factory=Ledger)
    at_instances: list[Writes] = field(default_factory=list)
    at_source: Writes = field(default_factory=Writes)
    """Past the service: at the cluster, or at the store of the limits."""
    _is_over: bool = False
    excess: int = 0
    """Wrong passwords that were compared beyond the limit, some of them before the fault."""
    connections: int = 0
    """The most of all instances that were seen at one host."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run it until the end of the block. Raises what a task has met that is no answer."""
        # An instance closes what is idle for 5 s, possibly as the next request is sent.
        limits = httpx.Limits(max_connections=None, keepalive_expiry=2)
        async with httpx.AsyncClient(timeout=60, limits=limits, trust_env=False) as http:
            client = Client(http, self.ledger)
            self.at_instances = [Writes() for _ in self.instances]
            users = await asyncio.gather(*(client.join(self.balancer) for _ in range(CLIENTS)))
            probes = [
                (url, writes, await client.join(self.balancer))
                for url, writes in zip(self.instances, self.at_instances, strict=True)
                for _ in range(PROBES)
            ]
            guesses = Guesses((await client.join(self.balancer))[0])
            await guesses.begin(http, self.balancer)
            probe = client.probe if self.store is None else client.probe_sign_in
            watch = self._watch if self.store is None else partial(self._watch_store, self.store)
            work = [
                *(client.use(self.balancer, *user) for user in users),
                *(probe(url, writes, *user) for url, writes, user in probes),
                *(client.look(url) for url in self.instances),
                *(watch() for _ in range(WATCHERS)),
                self._count(),
            ]
            tasks = [asyncio.create_task(each) for each in work]
            try:
                yield
                ended = [task.exception() for task in tasks if task.done()]
                if ended:
                    raise RuntimeError(f"the load has stopped: {ended[0]!r}")
            finally:
                self._is_over = True
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            self.excess = await guesses.excess(http, self.balancer)

    async def writes_everywhere(self, since: float) -> None:
        """Return once a write that began after then (monotonic seconds) was acknowledged everywhere.

        Raises TimeoutError.
        """
        async with asyncio.timeout(90):
            while not all(each.latest > since for each in (*self.at_instances, self.at_source)):
                await asyncio.sleep(0.05)
                continue

    async def _watch(self) -> None:
        """Write past the service, by the address that leads to the primary: what the cluster allows by itself."""
        address = self.cluster.url.rpartition("/")[0] + "/postgres"
        while True:
            await asyncio.sleep(PAUSE)
            began = time.monotonic()
            try:
                connection = await asyncpg.connect(address, timeout=5)
            except DRIVER_FAULTS:
                continue
            try:
                # Nothing is waited for less long than for ever: a commit must not be cancelled.
                await connection.execute("CREATE TABLE IF NOT EXISTS watch (at timestamptz)")
                await connection.execute("INSERT INTO watch VALUES (now())")
                self.at_source.add(began)
            except DRIVER_FAULTS:
                continue
            finally:
                connection.terminate()

    async def _watch_store(self, store: LimitStore) -> None:
        # The client library may swallow the cancellation of what connects.
        while not self._is_over:
            began = time.monotonic()
            if await store.write():
                self.at_source.add(began)
            await asyncio.sleep(PAUSE)

    async def _count(self) -> None:
        while True:
            self.connections = max(self.connections, await self.cluster.connections())
            await asyncio.sleep(0.5)


@dataclass(frozen=True)
class Client:
    """Sends requests, and enters into the ledger what was acknowledged."""

    http: httpx.AsyncClient
    ledger: Ledger

    async def ask(self, method: str, url: str, token: str = "", **body: object) -> httpx.Response | None:
        """Return the response; None if there was none, or the request was refused."""
        began = time.monotonic()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            answer = await self.http.request(
                method, url, headers=headers, json=body if method == "POST" else None
            )
        except httpx.TransportError as fault:
            self.ledger.count(type(fault).__name__, url, began)
            await asyncio.sleep(PAUSE)
            return None
        finally:
            self.http.cookies.clear()
        self.ledger.count(str(answer.status_code), url, began)
        if answer.status_code == 200:
            return answer
        await asyncio.sleep(PAUSE)
        return None

    async def join(self, url: str) -> tuple[str, str]:
        """Return address and session token of a new user. Raises RuntimeError."""
        email = _address()
        answer = await self.sign_up(url, email)
        if answer is None:
            raise RuntimeError("no sign-up before the fault")
        return email, answer.json()["token"]

    async def sign_up(self, url: str, email: str) -> httpx.Response | None:
        """Sign up, and remember that."""
        answer = await self.ask("POST", f"{url}/sign-up/email", name="Ada 0", email=email, password=PASSWORD)
        if answer is not None:
            self.ledger.users[email] = time.monotonic()
        return answer

    async def use(self, url: str, email: str, token: str) -> None:
        """Do what users do, without end."""
        for number in itertools.count(1):
            if await self.ask("POST", f"{url}/update-user", token, name=f"Ada {number}"):
                self.ledger.names.setdefault(email, []).append((number, time.monotonic()))
            await self.sign_up(url, _address())
            signed_in = await self.ask("POST", f"{url}/sign-in/email", email=email, password=PASSWORD)
            if signed_in is not None:
                opened = signed_in.json()["token"]
                if number % 2:
                    self.ledger.sessions[opened] = time.monotonic()
                elif await self.ask("POST", f"{url}/sign-out", opened):
                    self.ledger.ended[opened] = time.monotonic()
            for _ in range(2):
                await self.ask("GET", f"{url}/get-session", token)
            await asyncio.sleep(PAUSE)

    async def probe(self, url: str, writes: Writes, email: str, token: str) -> None:
        """Write at one instance without end."""
        for number in itertools.count(1):
            began = time.monotonic()
            if await self.ask("POST", f"{url}/update-user", token, name=f"Ada {number}"):
                writes.add(began)
                self.ledger.names.setdefault(email, []).append((number, time.monotonic()))
            await asyncio.sleep(PAUSE)

    async def probe_sign_in(self, url: str, writes: Writes, email: str, token: str) -> None:
        """Sign in at one instance without end."""
        while True:
            began = time.monotonic()
            if await self.ask("POST", f"{url}/sign-in/email", email=email, password=PASSWORD):
                writes.add(began)
            await asyncio.sleep(PAUSE)

    async def look(self, url: str) -> None:
        """Ask an instance whether it is ready, without end."""
        while True:
            await self.ask("GET", f"{url}/ready")
            await asyncio.sleep(5 * PAUSE)


def _address() -> str:
    return f"{secrets.token_hex(8)}@example.com"
