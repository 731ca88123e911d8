"""Fixtures of the whole suite: the two databases, the service under test, and callers by bearer and by cookie."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.live import serving
from tests.postgres import Cluster
from tests.redis_server import RedisServer
from tests.service import PASSWORD, Service, close_service, open_service

Headers = dict[str, str]
MakeService = Callable[..., Awaitable[Service]]
SignIn = Callable[..., Awaitable[Headers]]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A private PostgreSQL, started when the first test needs it."""
    cluster = Cluster()
    cluster.start()
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A private Redis, started when the first test needs it."""
    server = RedisServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def dialect(request: pytest.FixtureRequest) -> str:
    """The database a test runs on; every test that asks for a service runs on both."""
    return str(request.param)


@pytest.fixture(scope="session")
async def opened() -> AsyncIterator[dict[Any, Service]]:
    """The services that are open, by database and settings; assembling one costs more than a test."""
    services: dict[Any, Service] = {}
    yield services
    for service in services.values():
        await close_service(service)


@pytest.fixture
async def make_service(
    dialect: str,
    request: pytest.FixtureRequest,
    opened: dict[Any, Service],
    tmp_path_factory: pytest.TempPathFactory,
) -> MakeService:
    """Give a service with an empty database; settings are given as `make_service({"session.expires_in": "1h"})`."""

    async def make(overrides: dict[str, str] | None = None) -> Service:
        key = (dialect, *sorted((overrides or {}).items()))
        if key not in opened:
            directory: Path = tmp_path_factory.mktemp("service")
            url = f"sqlite:///{directory / 'gatewright.db'}"
            if dialect == "postgresql":
                url = request.getfixturevalue("cluster").create(migrated=True)
            opened[key] = await open_service(url, directory, overrides or {})
        await opened[key].reset()
        return opened[key]

    return make


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """The service with default settings."""
    return await make_service()


@pytest.fixture(scope="session")
def live_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The origin of a service in a process of its own, on SQLite, for who knocks in bulk from one address."""
    with serving(tmp_path_factory.mktemp("live"), {"limits.enabled": "false"}) as live:
        yield live.url


@pytest.fixture
def client(service: Service) -> httpx.AsyncClient:
    """The client of the default service; it checks every answer against the contract."""
    return service.client


@pytest.fixture(params=["bearer", "cookie"])
def carry(request: pytest.FixtureRequest) -> Callable[[str], Headers]:
    """How a session token travels: every test that signs in runs once each way (interface 5.1)."""
    if request.param == "bearer":
        return lambda token: {"Authorization": f"Bearer {token}"}
    return lambda token: {"Cookie": f"service.session-token={token}"}


@pytest.fixture
def sign_up(service: Service, carry: Callable[[str], Headers]) -> SignIn:
    """Make a user; give the headers of their session."""

    async def sign_up(email: str = "ada@example.com", *, on: Service = service, **more: Any) -> Headers:
        answer = await on.post(
            "/sign-up/email", {"name": "Ada", "email": email, "password": PASSWORD, **more}
        )
        on.client.cookies.clear()
        assert answer.status_code == 200, answer.text
        return carry(answer.json()["token"])

    return sign_up


@pytest.fixture
def sign_in(service: Service, sign_up: SignIn, carry: Callable[[str], Headers]) -> SignIn:
    """Sign a user in, making them first if need be; give the headers of the new session."""

    async def sign_in(
        email: str = "ada@example.com", password: str = PASSWORD, *, on: Service = service, **more: Any
    ) -> Headers:
        body = {"email": email, "password": password, **more}
        answer = await on.post("/sign-in/email", body)
        if answer.status_code == 401:
            await sign_up(email, on=on)
            answer = await on.post("/sign-in/email", body)
        on.client.cookies.clear()
        assert answer.status_code == 200, answer.text
        return carry(answer.json()["token"])

    return sign_in
