"""Fixtures of the whole suite: the two databases, the service under test, and callers by bearer and by cookie."""

import gc
import io
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.database import migrations
from server.database.database import open_database
from server.observability import logs
from tests.labs.provider.process import ProviderProcess, providing
from tests.labs.provider.settings import social_settings
from tests.name_server import NameServer, name_server
from tests.postgres import Cluster
from tests.redis_server import RedisServer
from tests.service import PASSWORD, START, Service, close_service, open_service

Headers = dict[str, str]
MakeService = Callable[..., Awaitable[Service]]
SignIn = Callable[..., Awaitable[Headers]]
Carry = Callable[[str], Headers]


def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than there are processors: tests wait for processes, browsers and time-outs."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage, which takes a fifth of the time, and never look through what was collected:
    half a million objects that stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


TESTS = Path(__file__).parent

LONG = (
    "deploy",
    "docs",
    "guides",
    "labs/directories",
    "labs/e2e",
    "labs/faults",
    "labs/keycloak",
    "labs/proxies",
    "labs/relying_parties",
    "labs/saml",
    "labs/sdk",
    "labs/upgrades",
    "labs/verifiers",
    "server/doctor",
    "server/importers",
)
"""Folders of `make test-long`: what takes minutes, needs more programs than PostgreSQL, or seldom changes."""

LONG_FILES = (
    "contract/test_schemathesis.py",
    "labs/provider/test_trying.py",
    "security/test_admin_export_threats.py",
    "security/test_device_races.py",
    "security/test_email_code_races.py",
    "security/test_magic_link_races.py",
    "security/test_matrix.py",
    "security/test_oauth_authorization_races.py",
    "security/test_oauth_instances.py",
    "security/test_oauth_token_races.py",
    "security/test_organizations_races.py",
    "security/test_secrecy.py",
    "security/test_sso_races.py",
    "security/test_sso_sign_in_threats.py",
    "security/test_two_factor_races.py",
    "server/api/test_differential.py",
    "server/cli/test_clients.py",
    "server/http/test_server.py",
    "server/http/test_workers.py",
    "server/observability/test_metrics_port.py",
    "server/webhooks/test_storms.py",
)
"""Files of `make test-long`: their tests start processes of the service, have many clients at once, or go through every
operation, every way in and every event."""

BOTH_DATABASES = (
    "models",
    "server/database",
    "server/components/test_cleanup.py",
    "server/components/test_key_rotation.py",
    "server/components/test_scheduler.py",
    "server/rate_limit",
)
"""Folders and files that `make test` runs on PostgreSQL too, as it does tests marked `both_databases`: what they show
is decided by SQL, locks or times. All other tests run there in `make test-long`."""

ONE_DATABASE = tuple(
    f"handlers/test_{name}"
    for name in (
        "inputs",
        "page",
        "account_",
        "organization_pages",
        "sso_pages",
        "console",
        "oauth_pages",
        "device_page",
    )
)
"""Files about the form of requests and about pages, which call the rules of operations: only those of their tests that
are about attacks, or marked `both_databases`, run on PostgreSQL as well."""

BOTH_CARRIERS = ("security", "handlers/test_authentication.py", "handlers/test_sessions.py")
"""Where a session token travels by bearer and by cookie, one after the other; elsewhere it travels by bearer."""

CARRIED_ON = {"sqlite": "bearer", "postgresql": "cookie"}
"""How tokens travel in a test that runs with both carriers and on both databases, which are not tried all four ways."""

LONGEST = (
    "test_schemathesis.py",
    "test_page_quality.py",
    "test_matrix.py",
    "test_other_tools.py",
    "test_sequences.py",
    "test_first_clients.py",
    "test_sdks.py",
)
"""Files of which one takes minutes: begun last, it would leave the other workers with nothing to do."""

WAITING = (
    *LONG,
    "contract",
    "server/cli",
    "server/database",
    "server/http",
    "server/observability",
    "server/outbound",
    "server/rate_limit",
    "server/webhooks",
)
"""Folders whose tests often wait: for processes, browsers, packages and time-outs."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Read nothing of what `make test` leaves out as a whole."""
    is_left_out = config.option.markexpr == "not long" and _is_long_place(collection_path)
    return True if is_left_out else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what `make test` leaves to `make test-long`; begin with the longest files, and spread the others of each
    folder that waits over the whole run.

    One after the other, as they lie in the tree, all workers would wait at the same time, and then all compute.
    """
    crossed = [*_crossed(items), *(item for item in items if _is_repeated(item))]
    config.hook.pytest_deselected(items=crossed)
    left_out = set(crossed)
    items[:] = [item for item in items if item not in left_out]
    for item in items:
        if _is_long(item):
            item.add_marker("long")
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    kinds: dict[str, list[Path]] = {}
    for path in files:
        if path.name not in LONGEST:
            folder = path.parent.relative_to(TESTS).as_posix()
            kinds.setdefault(folder if folder in WAITING else "", []).append(path)
    places = {path: number / len(kind) for kind in kinds.values() for number, path in enumerate(kind)}
    order = sorted(files, key=lambda path: places.get(path, -1.0))
    items[:] = [item for path in order for item in files[path]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Have tests that ask for `carry` run once with each carrier where carriers matter."""
    path = Path(metafunc.module.__file__ or "").relative_to(TESTS).as_posix()
    if "carry" in metafunc.fixturenames and path.startswith(BOTH_CARRIERS):
        metafunc.parametrize("carry", ["bearer", "cookie"], indirect=True)


def _params(item: pytest.Item) -> dict[str, object]:
    """Return the parameters of a test by name; none where it has no variants."""
    return item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}


def _crossed(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the variants that CARRIED_ON leaves out: by cookie on SQLite, by bearer on PostgreSQL."""
    ways: dict[str, list[tuple[str, set[str], pytest.Item]]] = {}
    for item in items:
        params = _params(item)
        carriers = {str(params[name]) for name in ("carry", "carry_pending") if name in params}
        if carriers and "dialect" in params:
            name = item.nodeid.partition("[")[0]
            ways.setdefault(name, []).append((str(params["dialect"]), carriers, item))
    return [
        item
        for way in ways.values()
        if {dialect for dialect, _, _ in way} == set(CARRIED_ON)
        for dialect, carriers, item in way
        if CARRIED_ON[dialect] not in carriers
    ]


def _is_repeated(item: pytest.Item) -> bool:
    """Return whether a test shows on PostgreSQL what it shows on SQLite."""
    place = item.path.relative_to(TESTS).as_posix()
    if not place.startswith(ONE_DATABASE) or _params(item).get("dialect") != "postgresql":
        return False
    return not any(map(item.get_closest_marker, ("threat", "both_databases")))


def _is_long_place(path: Path) -> bool:
    place = path.relative_to(TESTS).as_posix()
    return place in LONG_FILES or f"{place}/".startswith(tuple(f"{folder}/" for folder in LONG))


def _is_long(item: pytest.Item) -> bool:
    path = item.path.relative_to(TESTS).as_posix()
    variants = _params(item).values()
    if _is_long_place(item.path) or "redis" in variants:
        return True
    is_on_both = path.startswith(BOTH_DATABASES) or item.get_closest_marker("both_databases")
    return "postgresql" in variants and not is_on_both


@pytest.fixture
def log_stream() -> Iterator[io.BytesIO]:
    """What is logged."""
    stream = io.BytesIO()
    logs.configure("info", "json", stream)
    yield stream
    logs.reset()


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
    """The database a test runs on; every test that asks for a service can run on both."""
    return str(request.param)


@pytest.fixture(scope="session")
async def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a SQLite file with the schema in it, to be copied: to migrate takes half the time of opening a service."""
    path = tmp_path_factory.mktemp("schema") / "gatewright.db"
    database = await open_database(f"sqlite:///{path}", pool_size=1, timeout=60.0)
    await migrations.prepare(database, "auto")
    await database.close()
    return path


OPEN_AT_MOST = 16
"""Services that stay open for tests to come. Each holds megabytes, and most settings are those of a single test."""


@pytest.fixture(scope="session")
async def opened() -> AsyncIterator[dict[Any, Service]]:
    """The services that are open, by database and settings, the last used last; opening one costs more than a test."""
    services: dict[Any, Service] = {}
    yield services
    for service in services.values():
        await close_service(service)


@pytest.fixture(scope="session")
def left() -> list[str]:
    """Return the PostgreSQL databases whose services are closed: a new one takes a tenth of a second of a processor."""
    return []


@pytest.fixture
async def make_service(
    dialect: str,
    request: pytest.FixtureRequest,
    opened: dict[Any, Service],
    left: list[str],
    migrated_file: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[MakeService]:
    """Yield a service with an empty database; settings are given as `make_service({"session.expires_in": "1h"})`."""

    async def make(overrides: dict[str, str] | None = None) -> Service:
        key = (dialect, *sorted((overrides or {}).items()))
        service = opened.pop(key, None)
        if service is None:
            directory: Path = tmp_path_factory.mktemp("service")
            is_left = dialect == "postgresql" and left
            url = left.pop() if is_left else create_database(request, dialect, directory, migrated_file)
            service = await open_service(url, directory, overrides or {})
        opened[key] = service
        await service.reset()
        return service

    yield make
    for key in list(opened)[:-OPEN_AT_MOST]:
        service = opened.pop(key)
        if service.services.database.dialect == "postgresql":
            # A service with other secrets would wait for the owner of a lease, and for keys that it cannot decrypt.
            await service.reset()
        await close_service(service)
        if service.services.database.dialect == "postgresql":
            left.append(service.services.settings.database_url.get_secret_value())


def create_database(
    request: pytest.FixtureRequest, dialect: str, directory: Path, migrated_file: Path
) -> str:
    """Return the address of a database with the current schema and no rows."""
    if dialect == "postgresql":
        return str(request.getfixturevalue("cluster").create(migrated=True))
    shutil.copy(migrated_file, directory)
    return f"sqlite:///{directory / 'gatewright.db'}"


@pytest.fixture
def migrated_url(dialect: str, request: pytest.FixtureRequest, tmp_path: Path, migrated_file: Path) -> str:
    """The address of a database with the current schema and no rows."""
    return create_database(request, dialect, tmp_path, migrated_file)


@pytest.fixture
async def make_cold_service(
    dialect: str, request: pytest.FixtureRequest, migrated_file: Path, tmp_path: Path
) -> AsyncIterator[MakeService]:
    """As `make_service`, but with a service that was started just now, and has not asked a provider anything yet."""
    async with AsyncExitStack() as ends:

        async def make(overrides: dict[str, str] | None = None) -> Service:
            directory = tmp_path / f"cold-{secrets.token_hex(4)}"
            directory.mkdir()
            url = create_database(request, dialect, directory, migrated_file)
            service = await open_service(url, directory, overrides or {})
            ends.push_async_callback(close_service, service)
            return service

        yield make


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """The service with default settings."""
    return await make_service()


@pytest.fixture(scope="session")
def provider_process() -> Iterator[ProviderProcess]:
    """A real OpenID provider in a process of its own; its address stays the same for the whole session."""
    with providing(name="one") as process:
        yield process


@pytest.fixture(scope="session")
def other_provider_process() -> Iterator[ProviderProcess]:
    """A second provider, with an issuer and keys of its own."""
    with providing(name="two") as process:
        yield process


@pytest.fixture(scope="session")
async def one_name_server() -> AsyncIterator[NameServer]:
    """A name server whose address stays the same for the whole session, so that services stay open for other tests."""
    async with name_server() as server:
        yield server


@pytest.fixture
def names(one_name_server: NameServer) -> NameServer:
    """The name server, without records."""
    one_name_server.reset()
    return one_name_server


@pytest.fixture
def provider(provider_process: ProviderProcess) -> ProviderProcess:
    """The provider as if just started, at the time at which every service under test begins."""
    provider_process.reset(now=START.timestamp())
    return provider_process


@pytest.fixture
def other_provider(other_provider_process: ProviderProcess) -> ProviderProcess:
    """The second provider as if just started, at the time at which every service under test begins."""
    other_provider_process.reset(now=START.timestamp())
    return other_provider_process


@pytest.fixture
async def social(
    make_service: MakeService, provider: ProviderProcess, other_provider: ProviderProcess
) -> Service:
    """The service with the providers `test`, `plain` (OAuth 2.0 at the same place) and `other`."""
    return await make_service(social_settings(provider, other_provider))


@pytest.fixture
def client(service: Service) -> httpx.AsyncClient:
    """The client of the default service; it checks every answer against the contract."""
    return service.client


@pytest.fixture
def carry(request: pytest.FixtureRequest) -> Carry:
    """How a session token travels: by bearer, and in `BOTH_CARRIERS` by cookie too."""
    if getattr(request, "param", "bearer") == "bearer":
        return lambda token: {"Authorization": f"Bearer {token}"}
    return lambda token: {"Cookie": f"service.session-token={token}"}


@pytest.fixture(params=["bearer", "cookie"])
def carry_pending(request: pytest.FixtureRequest) -> Carry:
    """How a pending token travels; every test that asks for it runs once each way."""
    if request.param == "bearer":
        return lambda token: {"Authorization": f"Bearer {token}"}
    return lambda token: {"Cookie": f"service.two-factor={token}"}


@pytest.fixture
def sign_up(service: Service, carry: Carry) -> SignIn:
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
def sign_in(service: Service, sign_up: SignIn, carry: Carry) -> SignIn:
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
