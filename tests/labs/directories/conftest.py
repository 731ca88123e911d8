"""A directory of an organization at a running service."""

import subprocess
from collections.abc import Iterator

import httpx
import pytest
from httpx2 import Client

from tests.live import PROGRAM, environment, serving
from tests.service import PASSWORD

SETTINGS: dict[str, str | None] = {
    "sso.enabled": "true",
    "scim.enabled": "true",
    "organizations.enabled": "true",
    "organizations.teams.enabled": "true",
    "limits.enabled": "false",
}
CONNECTION = """
[sso.connections.acme]
issuer = "https://login.example.com"
organization = "acme"
domains = ["example.com"]
oidc.client_id = "client"
oidc.discovery_url = "https://login.example.com/.well-known/openid-configuration"
oidc.client_secret = "secret"
"""


@pytest.fixture(scope="module")
def transport(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """An HTTP client with the token of the directory."""
    folder = tmp_path_factory.mktemp("directory")
    with serving(folder, SETTINGS) as live:
        owner = {"name": "Owner", "email": "owner@elsewhere.com", "password": PASSWORD}
        token = httpx.post(f"{live.url}/sign-up/email", json=owner).json()["token"]
        made = httpx.post(
            f"{live.url}/organization/create",
            json={"name": "Acme", "slug": "acme"},
            headers={"authorization": f"Bearer {token}"},
        )
        made.raise_for_status()
    with (folder / "gatewright.toml").open("a", encoding="utf-8") as file:
        file.write(CONNECTION)
    with serving(folder, SETTINGS) as live:
        words = [str(PROGRAM), "scim-tokens", "create", "acme", "test"]
        run = subprocess.run(
            words, check=True, cwd=folder, env=environment(SETTINGS), capture_output=True, text=True
        )
        headers = {"authorization": f"Bearer {run.stdout.strip()}"}
        with Client(base_url=f"{live.url}/scim/v2", headers=headers, timeout=60) as transport:
            yield transport
