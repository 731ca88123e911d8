"""The organization plugin of Better Auth's published JavaScript client drives a running service, unmodified."""

import os
import subprocess
from pathlib import Path

import pytest

from tests import packages
from tests.live import serving

HERE = Path(__file__).parent / "official_client"
TIME_LIMIT = 180.0


@pytest.fixture(scope="module")
def installed() -> Path:
    """A folder with the suite, which finds the packages it names."""
    return packages.better_auth(HERE)


@pytest.mark.parametrize("has_teams", [False, True], ids=["no-teams", "teams"])
@pytest.mark.parametrize(("base_path", "carried_by"), [("", "bearer"), ("/api/auth", "cookie")])
def test_every_call_and_hook_works(
    installed: Path, migrated_url: str, tmp_path: Path, base_path: str, carried_by: str, has_teams: bool
) -> None:
    settings = {
        "database_url": migrated_url,
        "base_path": base_path,
        "organizations.enabled": "true",
        "organizations.teams.enabled": str(has_teams).lower(),
        # The client's verdicts on permissions are compared with those of the server, one by one.
        "limits.requests": "0",
    }
    with serving(tmp_path, settings) as live:
        environment = {
            **os.environ,
            "SERVICE_ROOT": live.url,
            "SERVICE_BASE_PATH": base_path or "/",
            "CARRIED_BY": carried_by,
            "TEAMS": "on" if has_teams else "off",
            "MAIL_FILE": str(tmp_path / "mail.jsonl"),
        }
        run = subprocess.run(
            ["node", "--test", "--test-reporter=spec", "organizations.test.mjs"],
            check=False, cwd=installed, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT,
        )  # fmt: skip

    assert run.returncode == 0, run.stdout + run.stderr
    assert live.output.faults() == []
