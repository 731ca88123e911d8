"""The service under test as a state machine sees it: without `await`, one operation at a time."""

import asyncio
import tempfile
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import httpx
import sqlalchemy as sa
from sqlmodel import col

from models import Session, User
from server.components import cleanup
from tests.conftest import Headers
from tests.postgres import Cluster
from tests.service import Service, close_service, open_service

Result = TypeVar("Result")

SETTINGS = {"limits.enabled": "false"}
"""Failure budgets would end most sequences after ten wrong passwords; the limits have tests of their own."""


@dataclass
class World:
    """A service on a database of its own, in an event loop of its own."""

    runner: asyncio.Runner
    service: Service

    @property
    def now(self) -> datetime:
        """The moment of the test's clock."""
        return self.service.clock.now

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Wait for something."""
        return self.runner.run(work)

    def post(self, path: str, body: Any, headers: Headers) -> httpx.Response:
        """POST, as a client that keeps no cookies."""
        return self._sent(self.service.post(path, body, headers=headers))

    def get(self, path: str, headers: Headers | None = None, **query: str) -> httpx.Response:
        """GET, likewise."""
        return self._sent(self.service.get(path, headers=headers or {}, params=query))

    def _sent(self, request: Coroutine[Any, Any, httpx.Response]) -> httpx.Response:
        answer = self.run(request)
        self.service.client.cookies.clear()
        return answer

    def mails(self) -> list[dict[str, Any]]:
        """Deliver what is due, and give every mail so far."""
        return self.run(self.service.inbox())

    def clean_up(self) -> None:
        """Clean up, as happens every five minutes."""
        self.run(cleanup.delete_expired(self.service.services.database, self.now))

    def stored(self) -> tuple[set[tuple[str, str, bool, bool, str]], list[tuple[bytes, datetime]]]:
        """Return what is stored, seen or not: of users the id, address, whether verified, whether two-factor is on,
        and the name; of sessions the digest of the token and the end.
        """
        users = sa.select(
            col(User.id),
            col(User.email),
            col(User.email_verified),
            col(User.two_factor_enabled),
            col(User.name),
        )
        sessions = sa.select(col(Session.token_digest), col(Session.expires_at))

        async def read(*statements: Any) -> list[list[Any]]:
            async with self.service.services.database.begin() as db:
                return [[tuple(row) for row in await db.execute(statement)] for statement in statements]

        found_users, found_sessions = self.run(read(users, sessions))
        return set(found_users), found_sessions


@contextmanager
def world(dialect: str, cluster: Cluster | None) -> Iterator[World]:
    """Open a service on `sqlite`, or on a new database of the cluster, for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="gatewright-fuzz-") as directory, asyncio.Runner() as runner:
        url = f"sqlite:///{directory}/gatewright.db" if cluster is None else cluster.create(migrated=True)
        assert dialect in url
        service = runner.run(open_service(url, Path(directory), SETTINGS))
        try:
            yield World(runner, service)
        finally:
            runner.run(close_service(service))
