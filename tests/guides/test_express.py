"""The guide "Protect an Express application", typed as it is written."""

from collections.abc import Iterator

import pytest

from tests.docs.typing_in import commands, guide, placed, typed, write_files
from tests.guides.protected import Application, ProtectedApplication, protecting
from tests.live import ROOT
from tests.sdk.test_sdks import generate

PLACE = ROOT / "build" / "guides" / "express"
"""The folder of the application, where the packages stay that were fetched once."""


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """The application of the guide."""
    sdk = generate("typescript")
    shown = guide("protect-express")
    # Its first line makes the SDK.
    install = placed(commands(shown, "install").partition("\n")[2], {"./build/sdk/typescript": str(sdk)})
    installed = PLACE / "installed.sh"
    PLACE.mkdir(parents=True, exist_ok=True)
    if not installed.exists() or installed.read_text("utf-8") != install:
        write_files(shown, PLACE)
        typed(install, PLACE)
        installed.write_text(install, "utf-8")
    wanted = (PLACE / "package.json").read_bytes()
    write_files(shown, PLACE)
    (PLACE / "package.json").write_bytes(wanted)
    typed(commands(shown, "compile"), PLACE)
    with protecting(shown, PLACE, tmp_path_factory.mktemp("express")) as application:
        yield application


class TestExpress(ProtectedApplication):
    """Its front door."""
