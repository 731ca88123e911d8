"""The guide "Service to service", typed as it is written."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.docs.typing_in import Shell, blocks, commands, guide, placed, write_files
from tests.guides.protected import running
from tests.guides.test_sign_in import AS_WRITTEN
from tests.live import environment, serving
from tests.ports import free_port

GUIDE = guide("service-to-service")
SETTINGS = {**AS_WRITTEN, "server.host": "localhost", "api_keys.verifiers": None}


class Place:
    """A running Gatewright in a folder with the files of the guide, and a terminal there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        own, stock, invoices = (free_port() for _ in range(3))
        self.ports = {"stock": stock, "invoices": invoices}
        self.places = {"localhost:8000": f"localhost:{own}", "3001": str(stock), "3002": str(invoices)}
        write_files(placed(GUIDE, self.places), folder)
        settings = folder / "gatewright.toml"
        head = f'profile = "development"\nbase_url = "http://localhost:{own}"\n'
        settings.write_text(head + settings.read_text("utf-8"), "utf-8")
        self.gatewright = ExitStack()
        self.gatewright.enter_context(serving(folder, SETTINGS, port=own))
        self.shell = Shell(folder, environment(SETTINGS))

    def type(self, title: str) -> str:
        """Type commands of the guide; return what they printed."""
        return self.shell.type(placed(commands(GUIDE, title), self.places))

    @contextmanager
    def serve(self, name: str, client_id: str = "") -> Iterator[None]:
        """Run one of the two services."""
        lines = placed(commands(GUIDE, f"serve {name}"), self.places).splitlines(keepends=True)
        # The packages are those of this environment.
        command = "".join(line for line in lines if not line.startswith("pip "))
        with running(
            command, self.folder, self.ports[name], self.folder / f"{name}.txt", CLIENT_ID=client_id
        ):
            yield

    def invoice(self) -> httpx.Response:
        """Call the service that calls the other one."""
        return httpx.get(f"http://127.0.0.1:{self.ports['invoices']}/invoices/7", timeout=60, trust_env=False)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Gatewright with the settings of the guide."""
    place = Place(tmp_path)
    with place.gatewright:
        yield place
        assert place.shell.leave() == 0


def test_one_service_calls_the_other(place: Place) -> None:
    place.type("register")
    client_id = place.shell.type("echo $CLIENT_ID").strip()
    first = (place.folder / "invoices.secret").read_text("utf-8")
    with place.serve("stock"):
        with place.serve("invoices", client_id):
            printed = place.type("try")
            by_curl = place.type("by curl")
            place.type("rotate")
            second = (place.folder / "invoices.secret").read_text("utf-8")
        with place.serve("invoices", client_id):
            with_the_new = place.invoice()
        (place.folder / "invoices.secret").write_text(first, "utf-8")
        with place.serve("invoices", client_id):
            with_the_previous = place.invoice()
            place.gatewright.close()
            during_the_outage = place.invoice()
        with place.serve("invoices", client_id):
            without_a_token = place.invoice()
    with place.serve("stock"):
        without_keys = httpx.get(
            f"http://127.0.0.1:{place.ports['stock']}/stock/7", timeout=60, trust_env=False,
            headers={"Authorization": f"Bearer {place.shell.type('echo $TOKEN').strip()}"},
        )  # fmt: skip

    assert [line for line in printed.splitlines() if line] == blocks(GUIDE, "text")[0].text.splitlines()
    assert f'"told":"{client_id}"' in by_curl
    assert second != first
    assert (place.folder / "invoices.secret").stat().st_mode & 0o077 == 0
    assert [each.status_code for each in (with_the_new, with_the_previous, during_the_outage)] == [200] * 3
    assert (without_a_token.status_code, without_a_token.headers["Retry-After"]) == (503, "5")
    assert (without_keys.status_code, without_keys.headers["Retry-After"]) == (503, "5")


def test_a_key_says_who_calls(place: Place) -> None:
    first, second = (line for line in place.type("api key").splitlines() if line)

    assert '"valid":true' in first
    assert "KEY_PERMISSIONS_INSUFFICIENT" in second
