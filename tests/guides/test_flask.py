"""The guide "Protect a Flask application", typed as it is written."""

from collections.abc import Iterator

import pytest

from tests.guides.protected import Application, ProtectedApplication, in_python


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """The application of the guide."""
    with in_python("flask", tmp_path_factory) as application:
        yield application


class TestFlask(ProtectedApplication):
    """Its front door."""
