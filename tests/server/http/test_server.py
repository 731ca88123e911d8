"""The addresses that the service listens on."""

import socket
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.live import PROGRAM, TIMEOUT, environment, serving
from tests.service import NO_TLS

LOCAL = {"server.host": "localhost"}
IP_ADDRESSES = ("127.0.0.1", "[::1]")


@pytest.mark.parametrize("workers", [1, 2])
def test_localhost_is_both_loopback_addresses(tmp_path: Path, workers: int) -> None:
    with serving(tmp_path, LOCAL, workers=workers) as live:
        port = httpx.URL(live.url).port
        responses = [
            httpx.get(f"http://{host}:{port}/ok", trust_env=False, verify=NO_TLS, timeout=TIMEOUT)
            for host in (*IP_ADDRESSES, "localhost")
        ]

    assert live.url == f"http://localhost:{port}"
    assert [response.status_code for response in responses] == [200, 200, 200]


@pytest.mark.parametrize("host", IP_ADDRESSES)
def test_localhost_is_not_shared_with_another_program(tmp_path: Path, host: str) -> None:
    """Browsers would reach that program at one of the two addresses."""
    family = socket.AF_INET6 if host == "[::1]" else socket.AF_INET
    with socket.create_server((host.strip("[]"), 0), family=family) as other:
        port = str(other.getsockname()[1])
        done = subprocess.run(
            [PROGRAM, "serve", "--port", port],
            cwd=tmp_path, env=environment(LOCAL), capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip

    assert done.returncode == 1
    assert f"gatewright: server.port: {host}:{port}: Address already in use" in done.stderr


def test_an_ipv6_address_is_logged_in_brackets(tmp_path: Path) -> None:
    """RFC 3986, 3.2.2."""
    with serving(tmp_path, {"server.host": "::1"}) as live:
        assert live.url.startswith("http://[::1]:")
        assert httpx.get(f"{live.url}/ok", timeout=TIMEOUT).status_code == 200


def test_the_sign_in_page_offers_all_ways_in_development(tmp_path: Path) -> None:
    """Except providers, which need credentials."""
    with serving(tmp_path, {**LOCAL, "passkey.rp_id": "", "passkey.origins": ""}) as live:
        sign_in, by_email = (
            httpx.get(f"{live.url}/account/{path}", trust_env=False, verify=NO_TLS, timeout=TIMEOUT).text
            for path in ("sign-in", "sign-in/email")
        )

    shown = ("Password", "Sign in with a passkey", "Email me a sign-in link")
    assert [way in sign_in for way in shown] == [True] * 3
    assert [way in by_email for way in ("Email me a code", "Email me a link")] == [True] * 2
