"""The client of the Model Context Protocol's SDK authorizes itself for the MCP server of the guide, unmodified."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from tests.certificates import Authority
from tests.docs.typing_in import blocks, commands, guide, placed
from tests.guides.protected import running
from tests.labs.relying_parties.applications import Site
from tests.labs.relying_parties.user import User
from tests.live import PROGRAM, environment, serving
from tests.packages import from_npm
from tests.ports import free_port

HERE = Path(__file__).parent / "mcp_client"
GUIDE = guide("mcp-clients")
CALLBACK = "http://127.0.0.1:41419/callback"
REGISTERED = "notes-editor"
PATH = "/client.json"


class Publisher(BaseHTTPRequestHandler):
    """Publishes one document."""

    def do_GET(self) -> None:
        if self.path != PATH:
            self.send_error(404)
            return
        document = {
            "client_id": f"https://{self.headers['host']}{PATH}",
            "client_name": "Editor",
            "redirect_uris": ["http://localhost/callback", "http://127.0.0.1/callback"],
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "none",
        }
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def publishing(directory: Path, authority: Authority) -> Iterator[str]:
    """Publish a document over https; yield its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Publisher)
    server.socket = authority.server(directory, "localhost").wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://localhost:{server.server_address[1]}{PATH}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def settings(service: str, resource: str) -> dict[str, str]:
    """Return the settings that the guide leaves out, and the client that is entered beforehand."""
    client = {
        "client_name": "Editor",
        "application_type": "native",
        "redirect_uris": [CALLBACK],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "none",
        "scope": "notes:read offline_access",
        "resources": [resource],
    }
    return {
        "base_url": service,
        "session.cookie_secure": "false",
        "oauth.registration": "open",
        "oauth.clients": json.dumps({REGISTERED: client}),
    }


def shown(name: str) -> str:
    """Return a file that the guide shows."""
    [text] = [block.text for block in blocks(GUIDE) if block.title == name]
    return text


@pytest.fixture(scope="module")
def installed() -> Path:
    """Return a folder with the MCP server of the guide and the client."""
    wanted = HERE / "package.json"
    assert json.loads(wanted.read_text("utf-8")) == json.loads(shown("package.json"))
    folder = from_npm("mcp-client", wanted)
    shutil.copy(HERE / "client.mjs", folder)
    return folder


@dataclass(frozen=True)
class Notes:
    """The running MCP server, and what it needs."""

    site: Site
    resource: str
    """Its URL."""
    document: str
    """The URL of the client's document."""
    type_in: Callable[[str], str]
    """Types commands as the operator of the service, and returns what they print."""


@pytest.fixture(scope="module")
def notes(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notes]:
    """Run the service and the MCP server of the guide."""
    directory, authority = tmp_path_factory.mktemp("service"), Authority()
    trusted = directory / "authority.pem"
    trusted.write_text(authority.pem)
    port, own_port = free_port(), free_port()
    service, resource = f"http://localhost:{port}", f"http://localhost:{own_port}/mcp"
    places = {
        "http://localhost:8000": service,
        "http://localhost:3000/mcp": resource,
        "(3000": f"({own_port}",
    }
    for folder, name in ((installed, "server.mjs"), (directory, "gatewright.toml")):
        (folder / name).write_text(placed(shown(name), places), "utf-8")
    serve = commands(GUIDE, "serve").partition("\n")[2]
    chosen = settings(service, resource)

    def type_in(script: str) -> str:
        words = ["bash", "-euc", script.replace("gatewright ", f"{PROGRAM} ")]
        return subprocess.run(
            words, check=True, cwd=directory, env=environment(chosen), capture_output=True, text=True
        ).stdout

    with (
        publishing(directory, authority) as document,
        serving(directory, chosen, port=port, variables={"SSL_CERT_FILE": str(trusted)}) as live,
        running(serve, installed, own_port, directory / "printed.txt"),
        closing(User(service)) as user,
    ):
        site = Site(service, user, user.sign_up(), {"": {}}, {})
        yield Notes(site, resource, document, type_in)
    assert live.output.faults() == []


@pytest.mark.parametrize("way", ["document", "registered", "registration"])
def test_a_client_authorizes_itself(installed: Path, notes: Notes, way: str) -> None:
    site, pages = notes.site, len(notes.site.user.pages)
    told: dict[str, Any] = {
        "document": {"document": notes.document},
        "registered": {"registered": {"client_id": REGISTERED}},
        "registration": {},
    }
    program: list[str | Path] = ["node", installed / "client.mjs"]

    seen = site.run(program, "", server=notes.resource, redirect_uri=CALLBACK, **told[way])

    assert seen["users"] == [site.user_id, site.user_id]
    assert seen["scope"] == "notes:read"
    assert seen["rotated"]
    assert seen["returned"].startswith(f"{CALLBACK}?code=")
    assert [page for page in site.user.pages[pages:] if page != "sign-in"] == ["consent"]
    expected = {"document": notes.document, "registered": REGISTERED}.get(way)
    assert seen["client_id"] == expected if expected else seen["client_id"].startswith("app_")


def test_the_reason_of_a_refusal_is_recorded_as_the_guide_says(notes: Notes) -> None:
    query = {"client_id": f"{notes.document}/other", "redirect_uri": CALLBACK}

    refused = httpx.get(f"{notes.site.issuer}/oauth2/authorize", params=query, trust_env=False)

    assert "error=invalid_client" in refused.headers["location"]
    assert query["client_id"] in notes.type_in(commands(GUIDE, "refusals"))
