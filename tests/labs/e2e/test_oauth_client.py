"""The plugin oauth-provider of Better Auth's published JavaScript client drives a running service, unmodified."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests import packages
from tests.live import serving
from tests.ports import free_port

HERE = Path(__file__).parent / "official_client"
TIME_LIMIT = 120.0
SETTINGS = {
    "oauth.enabled": "true",
    "jwt.enabled": "true",
    "oauth.clients": json.dumps(
        {
            "shop": {
                "client_name": "Shop",
                "redirect_uris": ["https://shop.example/callback"],
                "secret": "s" * 40,
            }
        }
    ),
}


@pytest.fixture(scope="module")
def installed() -> Path:
    """A folder with the suite, which finds the packages it names."""
    return packages.better_auth(HERE)


@pytest.mark.parametrize(("base_path", "carried_by"), [("", "bearer"), ("/api/auth", "cookie")])
def test_pages_of_ones_own_work(installed: Path, tmp_path: Path, base_path: str, carried_by: str) -> None:
    port = free_port()
    place = {"base_url": f"http://127.0.0.1:{port}", "base_path": base_path}
    with serving(tmp_path, {**SETTINGS, **place}, port=port) as live:
        environment = {
            **os.environ,
            "SERVICE_ROOT": live.url,
            "SERVICE_BASE_PATH": base_path or "/",
            "CARRIED_BY": carried_by,
            "MAIL_FILE": str(tmp_path / "mail.jsonl"),
        }
        run = subprocess.run(
            ["node", "--test", "--test-reporter=spec", "applications.test.mjs"],
            check=False, cwd=installed, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT,
        )  # fmt: skip

    assert run.returncode == 0, run.stdout + run.stderr
    assert live.output.faults() == []
