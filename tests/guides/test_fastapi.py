"""The guide "Protect a FastAPI application", typed as it is written."""

from collections.abc import Iterator

import pytest

from tests.guides.protected import Application, ProtectedApplication, in_python


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """The application of the guide."""
    with in_python("fastapi", tmp_path_factory) as application:
        yield application


class TestFastAPI(ProtectedApplication):
    """Its front door."""
