"""The Compose file follows the Compose specification, whose JSON Schema comes with check-jsonschema."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live import ROOT
from tests.packages import installed

pytestmark = pytest.mark.long

COMPOSE = ROOT / "deploy/compose.yaml"
PIP = [
    sys.executable,
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--target",
    "packages",
]


def check(file: Path) -> "subprocess.CompletedProcess[str]":
    """Check a Compose file against the specification."""
    folder = installed(
        "check-jsonschema", Path(__file__).with_name("requirements.txt"), [*PIP, "-r", "requirements.txt"]
    )
    return subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)],
        env={**os.environ, "PYTHONPATH": str(folder / "packages")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_follows_the_compose_specification() -> None:
    checked = check(COMPOSE)

    assert checked.returncode == 0, checked.stdout


def test_would_be_rejected_with_an_unknown_field(tmp_path: Path) -> None:
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(COMPOSE.read_text("utf-8").replace("stop_grace_period:", "stop_grace:"), "utf-8")

    assert "stop_grace" in check(wrong).stdout
