"""Fixtures of the attacks: a user with a second factor, and instances that share a database."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.security import second_factor
from tests.security.second_factor import Owner
from tests.service import Service, close_service, open_service

OpenInstance = Callable[..., Awaitable[Service]]

UNLIMITED = {"limits.requests": "0", "limits.failures": "0"}
"""For attacks that other rows stop by counting: the clock of a test stands still, and its windows never end."""


@pytest.fixture
async def ada(service: Service) -> Owner:
    """A user with an authenticator, and signed in by it."""
    return await second_factor.enrol(service)


@pytest.fixture
async def open_instance(
    dialect: str, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[OpenInstance]:
    """Yield one more instance on the database of this test: `await open_instance({"session.list_tokens": "false"})`."""
    url = f"sqlite:///{tmp_path / 'gatewright.db'}"
    if dialect == "postgresql":
        url = request.getfixturevalue("cluster").create(migrated=True)
    opened: list[Service] = []

    async def make(overrides: dict[str, str] | None = None) -> Service:
        opened.append(await open_service(url, tmp_path, {**UNLIMITED, **(overrides or {})}))
        return opened[-1]

    yield make
    for service in opened:
        await close_service(service)
