"""For the tests of the server's parts: databases of either kind and what opens them, and commands."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path

import pytest

from server.database.database import Database, open_database
from server.observability import logs
from tests.server.terminal import Run, typing_in
from tests.service import CHEAP

OpenDatabase = Callable[..., Awaitable[Database]]


@pytest.fixture
def empty_url(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without any table."""
    if dialect == "sqlite":
        return f"sqlite:///{tmp_path / 'gatewright.db'}"
    return str(request.getfixturevalue("cluster").create())


@pytest.fixture
async def opening() -> AsyncIterator[OpenDatabase]:
    """What opens databases, and closes them after the test."""
    opened: list[Database] = []

    async def open_(url: str, *, pool_size: int = 5, timeout: float = 5) -> Database:  # noqa: ASYNC109
        opened.append(await open_database(url, pool_size=pool_size, timeout=timeout, patience=0))
        return opened[-1]

    yield open_
    for database in opened:
        await database.close()


@pytest.fixture
async def migrated(migrated_url: str, opening: OpenDatabase) -> Database:
    """An open database with the current schema."""
    return await opening(migrated_url)


@pytest.fixture
def restored() -> Iterator[None]:
    """Leave logging as it was found: every command sets it up for its process."""
    handlers = logging.getLogger().handlers[:]
    yield
    logging.getLogger().handlers[:] = handlers
    logs.reset()


@pytest.fixture
def command_settings() -> Mapping[str, str]:
    """What `run` is given beside what a test says."""
    return CHEAP


@pytest.fixture
def run(tmp_path: Path, command_settings: Mapping[str, str], restored: None) -> Run:
    """Run a command in an empty folder; settings are given by their variables."""
    return typing_in(tmp_path, command_settings)
