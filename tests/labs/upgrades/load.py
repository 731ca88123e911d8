"""Requests that go to all processes in turn while the service is upgraded."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from tests.labs.faults.asking import until
from tests.labs.upgrades.site import Site
from tests.live import LiveService
from tests.service import PASSWORD

PAUSE = 0.2
"""Seconds between two rounds of one user, which keep the load bounded."""


@dataclass
class Load:
    """Users who sign up, sign in, change their name and sign out, each step at another process.

    Every response must be as if there were one process: a session of one is found at the others, and is not found once
    it has ended.
    """

    site: Site
    processes: list[LiveService] = field(default_factory=list)
    """The processes that serve; the test changes the list."""
    rounds: list[int] = field(default_factory=list)
    """How often each user has done all of this."""
    sessions: list[str] = field(default_factory=list)
    """Tokens of sessions that have not ended."""
    emails: list[str] = field(default_factory=list)
    turn: int = 0

    @asynccontextmanager
    async def running(self, users: int = 3) -> AsyncIterator[None]:
        """Send the requests of so many users. A wrong response ends the block with an ExceptionGroup."""
        stop = asyncio.Event()
        self.rounds = [0] * users
        async with asyncio.TaskGroup() as group:
            for user in range(users):
                group.create_task(self._repeat(user, stop))
            yield
            stop.set()

    async def until(self, rounds: int) -> None:
        """Return once every user has completed so many further rounds."""
        wanted = max(self.rounds) + rounds

        async def are_completed() -> bool:
            return min(self.rounds) >= wanted

        await until(are_completed)

    async def _repeat(self, user: int, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self._round()
            self.rounds[user] += 1
            await asyncio.sleep(PAUSE)

    def _next(self) -> Site:
        """Return the clients of the next process."""
        self.turn += 1
        process = self.processes[self.turn % len(self.processes)]
        return replace(self.site, target=process.url)

    async def _round(self) -> None:
        email = self.site.email("load")
        first = await self._next().join(email)
        second = (await self._next().sign_in(email))["token"]
        name = f"Ada {self.turn}"
        await self._next().post("/update-user", first, name=name)
        assert (await self._next().user(second))["name"] == name
        await self._next().post("/sign-out", second)
        assert not await self._next().is_live(second)
        assert await self._next().is_live(first)
        assert not await self._next().opens(email, "another password")
        assert (await self._next().request("GET", "/ready")).status_code == 200
        self.sessions.append(first)
        self.emails.append(email)

    async def check(self) -> None:
        """Check that everything of these users is there."""
        for token, email in zip(self.sessions, self.emails, strict=True):
            assert (await self._next().user(token))["email"] == email
        assert await self._next().opens(self.emails[0], PASSWORD)
        assert await self._next().opens(self.emails[-1], PASSWORD)
