"""Better Auth's published JavaScript client drives a running service, unmodified."""

import os
import subprocess
from pathlib import Path

import pytest

from tests import packages
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.live import administrator, serving

HERE = Path(__file__).parent / "official_client"
TIME_LIMIT = 180.0
ADMINISTRATION = {"admin.roles": '{"support": {"user": ["list", "get", "ban"]}}'}
VERIFIER = "v" * 40
API_KEYS = {
    "api_keys.verifiers": f"files:{VERIFIER}",
    "api_keys.metadata": "true",
    "api_keys.grantable": '{"files": ["read"]}',
}
BY_MAIL = {
    "magic_links.enabled": "true",
    "magic_links.page": "http://127.0.0.1/confirm",
    "email_codes.enabled": "true",
}
ISSUER = {"jwt.issuer": "https://auth.example.com"}


@pytest.fixture(scope="module")
def installed() -> Path:
    """A folder with the suite, which finds the packages it names."""
    return packages.better_auth(HERE)


@pytest.mark.parametrize(("base_path", "carried_by"), [("", "bearer"), ("/api/auth", "cookie")])
def test_every_method_of_the_client_works(
    installed: Path, provider_process: ProviderProcess, tmp_path: Path, base_path: str, carried_by: str
) -> None:
    provider_process.reset()
    with serving(
        tmp_path,
        {
            "base_path": base_path,
            "jwt.header": "true",
            **ADMINISTRATION,
            **API_KEYS,
            **BY_MAIL,
            **ISSUER,
            **social_settings(provider_process),
        },
    ) as live:
        environment = {
            **os.environ,
            "SERVICE_ROOT": live.url,
            "SERVICE_BASE_PATH": base_path or "/",
            "CARRIED_BY": carried_by,
            "VERIFIER": VERIFIER,
            "PROVIDER_ISSUER": provider_process.issuer,
            "ADMIN_EMAIL": administrator(live.url + base_path, tmp_path),
            "MAIL_FILE": str(tmp_path / "mail.jsonl"),
        }
        run = subprocess.run(
            ["node", "--test", "--test-reporter=spec", "journey.test.mjs"],
            check=False, cwd=installed, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT,
        )  # fmt: skip

    assert run.returncode == 0, run.stdout + run.stderr
