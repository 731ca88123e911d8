"""Every operation of a running service under schemathesis, for each kind of caller (see the .toml beside)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
TIME_LIMIT = 300


def knock(live_server: str, carried_by: str, phases: str) -> None:
    """Run schemathesis against a service in a process of its own; its report is the text of the failure."""
    options = ["--config-file", str(HERE / "schemathesis.toml"), "run", f"{live_server}/openapi.json"]
    finished = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", *options, "--url", live_server, "--phases", phases],
        cwd=ROOT,
        env={**os.environ, "LIVE_SERVER": live_server, "CARRIED_BY": carried_by, "PYTHONWARNINGS": "default"},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )
    assert finished.returncode == 0, f"{finished.stdout}\n{finished.stderr}"


@pytest.mark.parametrize("carried_by", ["bearer", "cookie", "pending", "nothing"])
def test_every_operation_keeps_the_contract(live_server: str, carried_by: str) -> None:
    knock(live_server, carried_by, "examples,coverage,fuzzing")


def test_chains_of_operations_keep_the_contract(live_server: str) -> None:
    knock(live_server, "bearer", "stateful")
