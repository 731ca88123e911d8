"""The guide "Provision users from a directory", typed as it is written, at a running service."""

from pathlib import Path

import httpx

from tests.docs.typing_in import BASE, Shell, commands, guide, placed, write_files
from tests.live import TIMEOUT, serving
from tests.service import PASSWORD

GUIDE = guide("provision-users-from-a-directory")


def test_a_user_comes_from_the_directory(tmp_path: Path) -> None:
    settings = {"organizations.enabled": "true"}
    with serving(tmp_path, settings) as live:
        owner = {"name": "Owner", "email": "owner@example.com", "password": PASSWORD}
        token = httpx.post(f"{live.url}/sign-up/email", json=owner, timeout=TIMEOUT).json()["token"]
        made = {"name": "Acme", "slug": "acme"}
        headers = {"authorization": f"Bearer {token}"}
        httpx.post(
            f"{live.url}/organization/create", json=made, headers=headers, timeout=TIMEOUT
        ).raise_for_status()
    secret = (
        (tmp_path / "gatewright.toml").read_text("utf-8") if (tmp_path / "gatewright.toml").exists() else ""
    )
    write_files(GUIDE, tmp_path)
    written = (tmp_path / "gatewright.toml").read_text("utf-8")
    (tmp_path / "gatewright.toml").write_text(f"{secret}\n{written}", "utf-8")

    with serving(tmp_path, {}) as live:
        shell = Shell(tmp_path, {"GATEWRIGHT_PROFILE": "development"})
        shell.type(placed(commands(GUIDE, "token"), {}))
        printed = shell.type(placed(commands(GUIDE, "try"), {BASE: live.url}))
        assert shell.leave() == 0, printed

    assert printed.count('"userName":"ada@acme.example"') == 2
    assert '"totalResults":1' in printed
