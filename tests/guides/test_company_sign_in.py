"""The guide "Let a company sign in with its own accounts", typed as it is written, at a running service."""

from pathlib import Path

import httpx

from tests.docs.typing_in import BASE, Shell, commands, guide, placed, write_files
from tests.live import TIMEOUT, serving
from tests.server.saml.test_metadata import metadata
from tests.service import PASSWORD

GUIDE = guide("company-sign-in")


def test_a_company_is_connected_signs_in_and_is_required(tmp_path: Path) -> None:
    write_files(GUIDE, tmp_path)
    (tmp_path / "metadata.xml").write_bytes(metadata())

    with serving(tmp_path, {}) as live:
        ada = {"name": "Ada", "email": "ada@acme.example", "password": PASSWORD}
        token = (
            httpx.post(f"{live.url}/sign-up/email", json=ada, timeout=TIMEOUT)
            .raise_for_status()
            .json()["token"]
        )
        bearer = {"authorization": f"Bearer {token}"}
        company = {"name": "Acme", "slug": "acme"}
        httpx.post(
            f"{live.url}/organization/create", json=company, headers=bearer, timeout=TIMEOUT
        ).raise_for_status()
        shell = Shell(tmp_path, {"GATEWRIGHT_PROFILE": "development"})
        connected = shell.type(placed(commands(GUIDE, "connect"), {}))
        tried = shell.type(placed(commands(GUIDE, "try"), {BASE: live.url}))
        shell.type(placed(commands(GUIDE, "require"), {}))
        assert shell.leave() == 0, connected + tried
        refused = httpx.post(f"{live.url}/sign-in/email", json=ada, timeout=TIMEOUT).json()
        before = httpx.get(f"{live.url}/get-session", headers=bearer, timeout=TIMEOUT).status_code

    assert "/sso/saml2/sp/metadata?providerId=acme" in connected
    assert "SAMLRequest=" in tried
    assert (refused["code"], before) == ("SSO_REQUIRED", 401)
