"""Fixtures of the journeys: Keycloak, a realm for each test, the service, and a browser."""

import itertools
from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Browser

from tests.labs.e2e.browser import browsing, started
from tests.labs.keycloak.server import Keycloak, Realm, running
from tests.labs.keycloak.site import Site, Visitor, serving_site
from tests.postgres import Cluster

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def keycloak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keycloak]:
    """Keycloak, which takes a minute to start."""
    with running(tmp_path_factory.mktemp("keycloak")) as keycloak:
        yield keycloak


@pytest.fixture
def realm(keycloak: Keycloak) -> Iterator[Realm]:
    """A new realm."""
    with keycloak.realm(f"company-{next(_NUMBERS)}") as realm:
        yield realm


@pytest.fixture(scope="module")
def site(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The service on PostgreSQL."""
    with serving_site(tmp_path_factory.mktemp("site"), cluster.create(migrated=True)) as site:
        yield site


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    """The browser; every test has a profile of its own in it."""
    async with started() as browser:
        yield browser


@pytest.fixture
async def visitor(browser: Browser, site: Site, realm: Realm) -> AsyncIterator[Visitor]:
    """Ada in front of a browser."""
    async with browsing(browser) as page:
        page.set_default_timeout(120_000)
        yield Visitor(page, site, realm)
