"""The device authorization plugin of Better Auth's published JavaScript client drives a running service, unmodified."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from domain.oauth_clients.metadata import DEVICE_CODE
from tests import packages
from tests.live import serving

HERE = Path(__file__).parent / "official_client"
TIME_LIMIT = 120.0
SETTINGS = {
    "oauth.enabled": "true",
    "oauth.device.enabled": "true",
    "jwt.enabled": "true",
    "oauth.clients": json.dumps(
        {
            "television": {
                "client_name": "Television",
                "token_endpoint_auth_method": "none",
                "grant_types": [DEVICE_CODE],
                "session_sign_in": True,
            }
        }
    ),
}


@pytest.fixture(scope="module")
def installed() -> Path:
    """A folder with the suite, which finds the packages it names."""
    return packages.better_auth(HERE)


@pytest.mark.parametrize("carried_by", ["bearer", "cookie"])
def test_every_call_works(installed: Path, tmp_path: Path, carried_by: str) -> None:
    with serving(tmp_path, SETTINGS) as live:
        environment = {
            **os.environ,
            "SERVICE_ROOT": live.url,
            "SERVICE_BASE_PATH": "/",
            "CARRIED_BY": carried_by,
            "MAIL_FILE": str(tmp_path / "mail.jsonl"),
        }
        run = subprocess.run(
            ["node", "--test", "--test-reporter=spec", "devices.test.mjs"],
            check=False, cwd=installed, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT,
        )  # fmt: skip

    assert run.returncode == 0, run.stdout + run.stderr
    assert live.output.faults() == []
