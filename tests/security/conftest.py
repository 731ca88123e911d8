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

PATIENT = {"database.timeout": "60s", "password.hash_wait": "60s"}
"""All of a crowd wait for one user's row, one after the other, and most of them for a connection before. On a busy
machine the last would be told after 5 s that there is none, which is right, and says nothing of their codes."""

_WITHOUT_LIMITS = {
    **UNLIMITED,
    **PATIENT,
    "secrets": "s" * 32,
    "limits.network_failures": "0",
    "limits.account_failures": "0",
    "limits.sign_in_mail_burst": "0",
    "limits.sign_in_mail_daily": "0",
    "magic_links.sign_up": "false",
}


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


@pytest.fixture(params=["sqlite", "postgresql"], scope="module")
async def _opened_without_limits(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[list[Service]]:
    """One instance on SQLite, two on one PostgreSQL database."""
    directory: Path = tmp_path_factory.mktemp("race")
    url, number = f"sqlite:///{directory / 'gatewright.db'}", 1
    if request.param == "postgresql":
        url, number = request.getfixturevalue("cluster").create(migrated=True), 2
    instances = [await open_service(url, directory, _WITHOUT_LIMITS) for _ in range(number)]
    yield instances
    for instance in instances:
        await close_service(instance)


@pytest.fixture
async def unlimited_instances(_opened_without_limits: list[Service]) -> list[Service]:
    """Instances without limits, with an empty database."""
    for instance in _opened_without_limits:
        await instance.reset()
    return _opened_without_limits
