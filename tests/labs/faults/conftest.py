"""Fixtures of the faults."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.labs.faults.engines import OwnCluster
from tests.labs.faults.instances import Instances, Way, together
from tests.labs.faults.places import Place, place_of
from tests.labs.provider.process import ProviderProcess


@pytest.fixture(scope="module")
def server() -> Iterator[OwnCluster]:
    """A PostgreSQL that the tests of one module may break, each of which leaves it running."""
    cluster = OwnCluster()
    cluster.start()
    yield cluster
    cluster.stop()


@pytest.fixture
def place(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A place with an empty database; a test that asks for it runs on both kinds."""
    return place_of(request, dialect, tmp_path)


@pytest.fixture(scope="module")
def instances(
    way: Way, provider_process: ProviderProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Instances]:
    """Two instances behind a balancer; the module says in which way they reach the database."""
    with together(tmp_path_factory.mktemp("instances"), provider_process, way) as instances:
        yield instances
