"""The page about reverse proxies is true: nginx, HAProxy and Caddy run with the configurations that it shows."""

import itertools
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import httpx
import pytest

from tests.docs.typing_in import Shell, commands, surroundings
from tests.labs.faults.instances import CHEAP_HASHES
from tests.labs.proxies.reverse_proxies import FILES, NGINX, PAGE, PROGRAMS, Program, Proxy, proxying
from tests.live import LiveService, serving
from tests.ports import free_port
from tests.postgres import Cluster
from tests.service import PASSWORD

PAUSE = 0.03
"""Seconds between two look-ups during a restart."""

TIME_LIMIT = 60.0
"""Seconds within which responses have to come."""

CALLBACK = f"https://shop.example/{'x' * 1500}"
CLIENT = f"""
[oauth.clients.shop]
client_name = "Shop"
redirect_uris = ["{CALLBACK}"]
token_endpoint_auth_method = "none"
"""

REQUESTS = 150
"""Requests of one client to an operation before it is limited."""


class Instances:
    """Two instances of the service on one database, the second of which can be restarted."""

    def __init__(self, directory: Path, settings: dict[str, str]) -> None:
        self._directory = directory
        self._settings = settings
        self._ports = free_port(), free_port()
        self._ends = ExitStack()
        self._second = ExitStack()

    @property
    def places(self) -> dict[str, str]:
        """What stands for their addresses on the page."""
        return {f"127.0.0.1:{8000 + number}": f"127.0.0.1:{port}" for number, port in enumerate(self._ports)}

    def __enter__(self) -> "Instances":
        self._ends.enter_context(self._serve(0))
        self._ends.push(self._second)
        self.start_second()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def start_second(self) -> None:
        """Start the second instance, and wait until it serves."""
        self._second.enter_context(self._serve(1))

    def stop_second(self) -> None:
        """Stop the second instance, and wait for its end."""
        self._second.close()

    def _serve(self, number: int) -> AbstractContextManager[LiveService]:
        return serving(self._directory, self._settings, port=self._ports[number])


@pytest.fixture(scope="module")
def instances(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instances]:
    """Two instances with the settings of the page."""
    directory = tmp_path_factory.mktemp("instances")
    (directory / "gatewright.toml").write_text(FILES["gatewright.toml"] + CLIENT, "utf-8")
    settings = {
        **CHEAP_HASHES,
        "database_url": cluster.create(migrated=True),
        "limits.requests": str(REQUESTS),
    }
    with Instances(directory, settings) as running:
        yield running


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda program: program.name)
def program(request: pytest.FixtureRequest) -> Program:
    """One of the three proxies."""
    chosen: Program = request.param
    return chosen


@pytest.fixture(scope="module")
def proxy(
    program: Program, instances: Instances, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    """A proxy with the configuration of the page."""
    with proxying(tmp_path_factory.mktemp(program.name), program, instances.places) as running:
        yield running


def sign_up(client: httpx.Client, name: str, base_path: str = "") -> httpx.Response:
    """Create a user."""
    body = {"name": name, "email": f"{name}@example.com", "password": PASSWORD}
    return client.post(f"{base_path}/sign-up/email", json=body).raise_for_status()


def test_its_commands_print_what_it_says(proxy: Proxy, tmp_path: Path) -> None:
    proxy.curl_settings(tmp_path)
    shell = Shell(tmp_path, surroundings({"CURL_HOME": str(tmp_path), "HOME": str(tmp_path)}))
    email = f"{proxy.program.name}-ada@example.com"

    printed = shell.type(commands(PAGE, "check").replace("ada@example.com", email))

    assert shell.leave() == 0
    ready, redirected, cookie, *_, address = printed.strip().splitlines()
    code = "308" if proxy.program.name == "caddy" else "301"
    assert ready == "200 by HTTP/2"
    assert redirected == f"{code} to https://auth.example.com/ready"
    assert re.fullmatch(
        r"set-cookie: __Host-session=\w+; Path=/; SameSite=Lax; Max-Age=604800; HttpOnly; Secure",
        cookie.strip(),
        re.IGNORECASE,
    )
    assert address == '"ipAddress":"127.0.0.9"'


def test_redirects_lead_to_the_public_url_whatever_the_host_says(proxy: Proxy) -> None:
    with proxy.client() as client:
        there = client.get("/account", headers={"X-Forwarded-Host": "evil.example"})
        document = client.get("/.well-known/openid-configuration").json()

    assert there.is_redirect
    assert there.headers["location"].startswith(("/account/", "https://auth.example.com/account/"))
    assert document["issuer"] == "https://auth.example.com"


def test_rate_limits_count_each_client_by_its_address(proxy: Proxy) -> None:
    with proxy.client("127.0.0.10") as busy, proxy.client("127.0.0.11") as other:
        statuses = [
            busy.get("/get-session", headers={"X-Forwarded-For": f"203.0.113.{number}"}).status_code
            for number in range(2 * REQUESTS)
        ]
        spared = other.get("/get-session").status_code

    assert 429 in statuses
    assert spared == 401


def test_what_is_too_large_gets_the_errors_of_the_service(proxy: Proxy) -> None:
    with proxy.client("127.0.0.12") as client:
        body = client.post("/sign-in/email", json={"email": "ada@example.com", "password": "x" * 70_000})
        head = client.get("/get-session", headers={"X-Filler": "x" * 16_500})
        target = client.get("/get-session", params={"filler": "x" * 8_500})
        accepted = client.get("/ok", headers={"X-Filler": "x" * 15_000})

    refused = [(each.status_code, "code" in each.json()) for each in (body, head, target)]
    assert refused == [(413, True), (431, True), (414, True)]
    assert accepted.status_code == 200


def test_a_long_redirect_passes(proxy: Proxy) -> None:
    request = {
        "response_type": "code", "client_id": "shop", "redirect_uri": CALLBACK, "scope": "openid",
        "state": "\"" * 1_000, "nonce": "n" * 256,
        "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method": "S256",
    }  # fmt: skip
    with proxy.client("127.0.0.13") as client:
        response = client.get("/oauth2/authorize", params=request)

    assert response.is_redirect
    assert len(response.headers["location"]) > 4_096


@pytest.mark.parametrize(
    "start", [b"GET / HTTP/1.1\r\nHost: auth.example.com\r\nX-Slow: ", b""], ids=["head", "nothing"]
)
def test_slow_clients_are_disconnected(
    program: Program, instances: Instances, tmp_path: Path, start: bytes
) -> None:
    files = {
        program.file: FILES[program.file]
        .replace("30s", "1s")
        .replace("timeout client 60s", "timeout client 2s")
    }
    with proxying(tmp_path, program, instances.places, files) as running:
        context = ssl.create_default_context(cadata=running.authority.pem)
        plain = socket.create_connection(("127.0.0.1", running.https), timeout=60)
        with context.wrap_socket(plain, server_hostname="auth.example.com") as slow:
            slow.sendall(start)
            received = b"".join(iter(lambda: slow.recv(4096), b""))

    assert (
        received == b""
        or b" 408 " in received.partition(b"\r\n")[0]
        or b" 400 " in received.partition(b"\r\n")[0]
    )


def test_a_service_that_does_not_answer_is_given_up(program: Program, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        places = {"127.0.0.1:8000": address, "127.0.0.1:8001": address}
        text = FILES[program.file]
        for setting in ("proxy_read_timeout 60s", "timeout server 60s", "response_header_timeout 60s"):
            text = text.replace(setting, setting.replace("60s", "1s"))
        with proxying(tmp_path, program, places, {program.file: text}) as running, running.client() as client:
            status = client.post("/sign-in/email", json={}).status_code

    assert status == 504


def test_no_instance_is_reported(program: Program, tmp_path: Path) -> None:
    places = {f"127.0.0.1:800{number}": f"127.0.0.1:{free_port()}" for number in range(2)}
    text = FILES[program.file].replace("lb_try_duration 5s", "lb_try_duration 1s")
    with proxying(tmp_path, program, places, {program.file: text}) as running, running.client() as client:
        status = client.get("/get-session").status_code

    assert status == (502 if program is NGINX else 503)


def test_no_request_fails_while_an_instance_is_restarted(proxy: Proxy, instances: Instances) -> None:
    with ExitStack() as ends:
        clients = [ends.enter_context(proxy.client(f"127.0.0.{number}")) for number in range(20, 24)]
        token = sign_up(clients[0], f"{proxy.program.name}-restart").json()["token"]
        with Looking(clients, token) as looking:
            looking.wait_for_more(20)
            instances.stop_second()
            looking.wait_for_more(20)
            instances.start_second()
            looking.wait_for_more(20)

    assert looking.failures == []


@pytest.fixture(scope="module")
def under_a_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """The service with the settings for a path."""
    directory = tmp_path_factory.mktemp("prefixed")
    (directory / "gatewright.toml").write_text(FILES["prefix.toml"], "utf-8")
    with serving(directory, CHEAP_HASHES) as live:
        yield live


def test_a_path_of_a_host_is_enough(program: Program, under_a_path: LiveService, tmp_path: Path) -> None:
    address = under_a_path.url.removeprefix("http://")
    places = {
        "127.0.0.1:8000": address, "127.0.0.1:8001": address, "auth.example.com": "example.com",
        "GET /ready": "GET /auth/ready", "health_uri /ready": "health_uri /auth/ready",
    }  # fmt: skip
    with (
        proxying(tmp_path, program, places, program.prefixed()) as running,
        running.client(host="example.com") as client,
    ):
        joined = sign_up(client, f"{program.name}-prefix", "/auth")
        session = client.get("/auth/get-session").json()["session"]
        found = [
            client.get(path).json()["issuer"]
            for path in (
                "/auth/.well-known/openid-configuration",
                "/.well-known/oauth-authorization-server/auth",
            )
        ]
        outside = client.get("/get-session")

    assert "Path=/" in joined.headers["set-cookie"]
    assert session["ipAddress"] == "127.0.0.9"
    assert found == ["https://example.com/auth"] * 2
    assert f"{program.name}-prefix" not in outside.text


class Looking(threading.Thread):
    """Clients that look up a session in turn, seldom enough for the limit of requests."""

    def __init__(self, clients: Sequence[httpx.Client], token: str) -> None:
        super().__init__()
        self._clients = itertools.cycle(clients)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._stopping = threading.Event()
        self._more = threading.Condition()
        self._count = 0
        self.failures: list[str] = []

    def __enter__(self) -> "Looking":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self.join()

    def run(self) -> None:
        """Request until stopped."""
        while not self._stopping.wait(PAUSE):
            try:
                response = next(self._clients).get("/get-session", headers=self._headers)
                if response.status_code != 200:
                    self.failures.append(f"{response.status_code} {response.text}")
            except httpx.HTTPError as error:
                self.failures.append(repr(error))
            with self._more:
                self._count += 1
                self._more.notify_all()

    def wait_for_more(self, count: int) -> int:
        """Wait for so many further responses; return how many there were in all."""
        with self._more:
            wanted = self._count + count
            assert self._more.wait_for(lambda: self._count >= wanted, TIME_LIMIT), self.failures
            return self._count
