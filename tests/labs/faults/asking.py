"""Who asks a running service while something is broken: every answer is looked at, and none may be a crash."""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.conftest import Headers
from tests.handlers.steps import bearer, code
from tests.live import LiveService
from tests.service import PASSWORD, Service

TIMEOUT = 60.0
"""Seconds that are waited for what must come; no test waits so long where all is well."""

UNAVAILABLE = "503 SERVICE_UNAVAILABLE"
OVERLOADED = "503 OVERLOADED"
RETRY_AFTER = {UNAVAILABLE: "5", OVERLOADED: "1"}

PLAIN = {"limits.enabled": "false", "session.max_per_user": "0", "secrets": "s" * 32}
"""Nobody is refused for asking often, nor signed out for signing in often, and several processes read what each of
them writes."""


def told(answers: Iterable[httpx.Response]) -> Counter[str]:
    """Return how often each status and code was answered."""
    return Counter(code(answer) for answer in answers)


def measured(what: str, seconds: float) -> None:
    """Show a duration; no test depends on it, as machines differ."""
    print(f"{what}: {seconds:.2f} s")


async def until(holds: Callable[[], Awaitable[object]], seconds: float = TIMEOUT) -> float:
    """Ask again and again until the answer is true; give how many seconds that took. Raises TimeoutError."""
    began = time.monotonic()
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110 (what is waited for happens elsewhere, and wakes nobody)
            await asyncio.sleep(0.02)
    return time.monotonic() - began


async def until_ready(service: Service) -> float:
    """Return once a service in this process is ready; give how many seconds that took."""

    async def is_ready() -> bool:
        return (await service.get("/ready")).status_code == 200

    return await until(is_ready)


def descriptors(service: LiveService) -> int:
    """Return how many files and sockets the process has open."""
    return len(list(Path(f"/proc/{service.process.pid}/fd").iterdir()))


@dataclass(frozen=True)
class Asker:
    """A client of a running service."""

    client: httpx.AsyncClient

    async def ask(
        self, method: str, path: str, headers: Headers | None = None, body: Any = None
    ) -> httpx.Response:
        """Ask, and see that a 5xx is a 503 of the right form that says when to come again."""
        answer = await self.client.request(method, path, headers=headers, json=body)
        self.client.cookies.clear()
        if answer.status_code >= 500:
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["retry-after"] == RETRY_AFTER[code(answer)]
        return answer

    async def get(self, path: str, headers: Headers | None = None) -> httpx.Response:
        """GET."""
        return await self.ask("GET", path, headers)

    async def post(self, path: str, body: Any = None, headers: Headers | None = None) -> httpx.Response:
        """POST a JSON body."""
        return await self.ask("POST", path, headers, {} if body is None else body)

    async def sign_up(self, email: str) -> httpx.Response:
        """Ask for an account."""
        return await self.post("/sign-up/email", {"name": "Ada", "email": email, "password": PASSWORD})

    async def sign_in(self, email: str) -> httpx.Response:
        """Sign in by password."""
        return await self.post("/sign-in/email", {"email": email, "password": PASSWORD})

    async def join(self) -> tuple[str, Headers]:
        """Make a user, however often that takes; give the address, and the headers of their session."""
        made: list[tuple[str, Headers]] = []

        async def joins() -> bool:
            email = self.address()
            answer = await self.sign_up(email)
            if answer.status_code == 200:
                made.append((email, bearer(answer.json()["token"])))
            return bool(made)

        await until(joins)
        return made[0]

    def address(self) -> str:
        """Return an address that nobody has."""
        return f"{secrets.token_hex(8)}@example.com"

    async def answers(self, status: int, path: str, headers: Headers | None = None) -> bool:
        """Return whether a GET is answered with a status."""
        return (await self.get(path, headers)).status_code == status

    async def writes(self) -> bool:
        """Return whether somebody can sign up."""
        return (await self.sign_up(self.address())).status_code == 200


@asynccontextmanager
async def asking(service: LiveService) -> AsyncIterator[Asker]:
    """Yield a client of a running service."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    async with httpx.AsyncClient(base_url=service.url, timeout=TIMEOUT * 2, limits=limits) as client:
        yield Asker(client)


@dataclass
class Load:
    """People who sign up, sign in and look at their session without end; `kept` are the addresses of those told that
    they have an account."""

    asker: Asker
    headers: Headers
    told: Counter[str] = field(default_factory=Counter)
    kept: list[str] = field(default_factory=list)
    slowest: float = 0.0

    @asynccontextmanager
    async def running(self, people: int = 6) -> AsyncIterator[None]:
        """Send the requests of so many people at once. Raises AssertionError for an answer that no service may give."""
        crowd = asyncio.gather(*(self._go_on() for _ in range(people)))
        try:
            yield
            assert not crowd.done(), crowd.exception()
        finally:
            crowd.cancel()
            await asyncio.gather(crowd, return_exceptions=True)

    async def until(self, answer: str, more: int = 10) -> float:
        """Return once so many further requests have been answered so; give how many seconds that took."""
        wanted = self.told[answer] + more

        async def holds() -> bool:
            return self.told[answer] >= wanted

        return await until(holds)

    async def _go_on(self) -> None:
        while True:
            await self._timed(self.asker.get("/get-session", self.headers))
            email = self.asker.address()
            if await self._timed(self.asker.sign_up(email)):
                self.kept.append(email)
                await self._timed(self.asker.sign_in(email))
            await asyncio.sleep(0.05)

    async def _timed(self, asked: Awaitable[httpx.Response]) -> bool:
        """Return whether a request was granted."""
        began = time.monotonic()
        answer = await asked
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.told[code(answer)] += 1
        return answer.status_code == 200
