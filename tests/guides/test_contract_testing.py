"""The guide "Test against the contract in your own CI": its commands typed, and every step of its workflow run."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.reading import OPERATIONS
from tests.docs.typing_in import TIME_LIMIT, blocks, commands, guide, placed, surroundings
from tests.labs.sdk.test_sdks import SLOW
from tests.live import ROOT
from tests.packages import oasdiff
from tests.ports import free_port

GUIDE = guide("contract-testing")
WORKFLOW = next(block.text for block in blocks(GUIDE) if block.title.endswith(".yml"))

PASSED = re.compile(r"(\d{2,}) generated, \1 passed")
"""How schemathesis sums up when nothing was found."""


@pytest.fixture
def places() -> dict[str, str]:
    """The ports of this test, for those of the guide."""
    return {":8000": f":{free_port()}", ":4010": f":{free_port()}"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a team, with its checkout of Gatewright."""
    (tmp_path / "gatewright").symlink_to(ROOT)
    return tmp_path


@contextmanager
def shell(script: str, folder: Path, places: dict[str, str]) -> Iterator[str]:
    """Run a script, which may leave programs behind; give what it printed, and end what is left."""
    # `--port 8000` names a port without a colon.
    for named, real in places.items():
        script = placed(script, {named: real, f"--port {named[1:]}": f"--port {real[1:]}"})
    with (folder / "printed.txt").open("w+", encoding="utf-8") as printed:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=surroundings(),
            stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            status = process.wait(TIME_LIMIT)
            said = (folder / "printed.txt").read_text("utf-8")
            assert status == 0, script + said
            yield said
        finally:
            left(process.pid)


def left(group: int) -> None:
    """End what a script has left running."""
    try:
        os.killpg(group, signal.SIGTERM)
    except ProcessLookupError:
        return


def steps(job: str) -> list[str]:
    """Return the commands of a job of the workflow, but for those that only run after a failure."""
    found: list[dict[str, Any]] = yaml.safe_load(WORKFLOW)["jobs"][job]["steps"]
    return [step["run"] for step in found if "run" in step and "if" not in step]


def test_the_workflow_is_one() -> None:
    # YAML takes the bare word `on` for the truth; GitHub does not.
    workflow = yaml.safe_load(WORKFLOW.replace("\non:", '\n"on":'))

    assert set(workflow) == {"name", "on", "jobs"}
    for job in workflow["jobs"].values():
        assert set(job) == {"runs-on", "timeout-minutes", "steps"}
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert set(step) <= {"uses", "with", "name", "run", "if"}
            assert re.fullmatch(r"[a-z-]+/[a-z-]+@v\d+", step.get("uses", "actions/checkout@v4"))


def test_gatewright_keeps_its_contract(folder: Path, places: dict[str, str]) -> None:
    # Installing would touch what this test runs with.
    lines = [each for each in steps("gatewright-keeps-its-contract") if "setup" not in each]

    with shell("\n".join(lines), folder, places) as printed:
        assert f"Selected: {len(OPERATIONS)}/{len(OPERATIONS)}" in printed
        assert PASSED.search(printed)


@SLOW
def test_the_commands_of_the_guide_find_nothing(folder: Path, places: dict[str, str]) -> None:
    lines = [commands(GUIDE, title) for title in ("document", "serve", "check")]

    with shell("\n".join(lines), folder, places) as printed:
        assert PASSED.search(printed)


@SLOW
def test_a_mock_answers_as_the_guide_says(folder: Path, places: dict[str, str]) -> None:
    lines = [commands(GUIDE, title) for title in ("document", "mock", "ask")]

    with shell("\n".join(lines), folder, places) as printed:
        assert re.findall(r" (\d{3})$", printed, re.MULTILINE) == ["200", "403", "400", "401"]
        assert '"code":"BANNED_USER"' in printed
        assert '"code":"VALIDATION_ERROR"' in printed


@SLOW
@pytest.mark.parametrize("job", ["we-keep-the-contract", "the-next-version-breaks-nothing"])
def test_the_other_jobs_of_the_workflow_pass(folder: Path, places: dict[str, str], job: str) -> None:
    contract = "mkdir -p contract && gatewright/.venv/bin/gatewright openapi > contract/gatewright.json"
    (folder / "Makefile").write_text("test:\n\tcurl -sf $(AUTH_URL)/ok\n", "utf-8")

    with shell("\n".join([contract, *steps(job)]), folder, places) as printed:
        assert '{"ok":true}' in printed or "May be published" in printed


def test_the_comparison_of_the_guide_passes(folder: Path, places: dict[str, str]) -> None:
    oasdiff(surroundings())
    contract = "mkdir -p contract && gatewright/.venv/bin/gatewright openapi > contract/gatewright.json"

    with shell(f"{contract}\n{commands(GUIDE, 'compare')}", folder, places) as printed:
        assert "Nothing breaks." in printed
