"""The guide "Protect a Django application", typed as it is written."""

from collections.abc import Iterator

import pytest

from tests.guides import guide
from tests.guides.guide import typed
from tests.guides.protected import Application, ProtectedApplication, protecting
from tests.sdk.test_sdks import generate


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """The application of the guide."""
    place, gatewright = tmp_path_factory.mktemp("django"), tmp_path_factory.mktemp("gatewright")
    shown = guide.read("protect-django")
    typed(shown.commands("start"), place)
    shown.write(place)
    with protecting(shown, place, gatewright, PYTHONPATH=str(generate("python"))) as application:
        yield application


class TestDjango(ProtectedApplication):
    """Its front door."""
