"""The command `gatewright import`: its options, what it prints, its exit status, and being killed in the middle."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from server.importers.run import BATCH
from tests.labs.bench.imports import Lab, measured, missed_goals
from tests.live import ROOT
from tests.postgres import Cluster
from tests.server.importers.moving import HASH, write_lines
from tests.server.terminal import Run, lines, mode
from tests.service import CHEAP

ADA, BOB = "ada@example.com", "bob@example.com"
TIMEOUT = 60.0
ROWS = [{"email": ADA, "name": "Ada"}, {"email": BOB, "name": "B\nob"}, {"email": "nowhere"}]


class TestOutcome:
    def test_everything_came_in(self, run: Run, tmp_path: Path) -> None:
        write_lines(tmp_path / "users.jsonl", ROWS[:1])

        done = run("import", "json-lines", "users.jsonl")
        again = run("import", "json-lines", "users.jsonl")

        assert (done.exit_code, done.stdout) == (
            0, "1 row: 1 imported, 0 already present, 0 refused.\n",
        )  # fmt: skip
        assert (again.exit_code, again.stdout) == (
            0, "1 row: 0 imported, 1 already present, 0 refused.\n",
        )  # fmt: skip
        assert "user.created" not in done.stderr

    def test_rows_are_refused_and_the_rest_comes_in(self, run: Run, tmp_path: Path) -> None:
        write_lines(tmp_path / "users.jsonl", ROWS)

        done = run("import", "json-lines", "users.jsonl", "--report", "report.jsonl", "--ids", "ids.jsonl")

        assert done.exit_code == 3
        assert done.stdout.splitlines() == [
            "3 rows: 1 imported, 0 already present, 2 refused.",
            "Refused:",
            "         1  name: contains control characters",
            "         1  email: is not a valid email address",
        ]
        assert lines(tmp_path / "report.jsonl") == [
            {"row": "line 2", "email": BOB, "outcome": "refused", "field": "name",
             "reason": "contains control characters"},
            {"row": "line 3", "email": "nowhere", "outcome": "refused", "field": "email",
             "reason": "is not a valid email address"},
        ]  # fmt: skip
        [known] = lines(tmp_path / "ids.jsonl")
        assert (known["row"], known["sourceId"], len(known["id"])) == ("line 1", None, 32)
        assert {mode(tmp_path / name) for name in ("report.jsonl", "ids.jsonl")} == {"0o600"}

    def test_a_dry_run_leaves_nobody(self, run: Run, tmp_path: Path) -> None:
        write_lines(tmp_path / "users.jsonl", ROWS)

        done = run("import", "json-lines", "users.jsonl", "--dry-run")

        assert done.exit_code == 3
        assert done.stdout.startswith("3 rows: 1 would be imported, 0 already present, 2 refused.\n")
        assert done.stdout.endswith("--report FILE lists these rows.\n")
        assert json.loads(run("users", "list", "--json").stdout) == []

    def test_what_is_left_behind_is_told(self, run: Run, tmp_path: Path) -> None:
        write_lines(tmp_path / "users.jsonl", [{"email": ADA, "image": "data:,"}])

        done = run("import", "json-lines", "users.jsonl", "--without", "image", "--report", "report.jsonl")

        assert done.exit_code == 0
        assert "Imported without:\n         1  image: is not an http or https URL" in done.stdout
        assert [line["outcome"] for line in lines(tmp_path / "report.jsonl")] == ["imported"]

    def test_a_misspelt_provider_is_told(self, run: Run, tmp_path: Path) -> None:
        account = {"providerId": "figma", "accountId": "1"}
        write_lines(tmp_path / "users.jsonl", [{"email": ADA, "accounts": [account]}])

        options = ("--without-provider", "figma", "--without-provider", "figmaa")
        done = run("import", "json-lines", "users.jsonl", *options)

        assert done.stdout.splitlines() == [
            "1 row: 1 imported, 0 already present, 0 refused.",
            "Imported without:",
            "         1  accounts: figma is left out",
            "--without-provider figmaa: no user has an account there.",
        ]

    def test_whose_address_a_refused_user_has(self, run: Run, tmp_path: Path) -> None:
        first, second = "1" * 32, "2" * 32
        rows = [{"id": first, "email": ADA}, {"id": second, "email": ADA.upper()}]
        write_lines(tmp_path / "users.jsonl", rows)

        run("import", "json-lines", "users.jsonl", "--report", "report.jsonl")

        [line] = lines(tmp_path / "report.jsonl")
        assert (line["reason"], line["owner"]) == ("belongs to another user", first)

    @pytest.mark.parametrize("provider", [[], {}, None, 7])
    def test_a_provider_that_is_no_text_is_refused(self, run: Run, tmp_path: Path, provider: object) -> None:
        account = {"providerId": provider, "accountId": "1"}
        write_lines(tmp_path / "users.jsonl", [{"email": ADA, "accounts": [account]}])

        done = run("import", "json-lines", "users.jsonl")

        assert done.exit_code == 3
        assert "providerId" in done.stdout

    def test_from_standard_input(self, run: Run) -> None:
        done = run("import", "json-lines", "-", stdin=json.dumps(ROWS[0]))

        assert done.stdout == "1 row: 1 imported, 0 already present, 0 refused.\n"


def test_what_cannot_be_begun(run: Run, tmp_path: Path) -> None:
    run("migrate")
    write_lines(tmp_path / "users.jsonl", ROWS)

    for words, status in (
        (["json-lines", "absent.jsonl"], 1),
        (["json-lines", "users.jsonl", "--without", "email"], 2),
        (["json-lines", "users.jsonl", "--report", "no/such/folder"], 1),
        (["json-lines", "users.jsonl", "--report", "same.jsonl", "--ids", "./same.jsonl"], 1),
        (["better-auth"], 2),
        (["better-auth", "--from", "sqlite:///absent.db"], 1),
        (["better-auth", "--from", "sqlite:///users.jsonl"], 1),
        (["better-auth", "--from", "sqlite:///gatewright.db"], 1),
        (["fastapi-users", "--from", "mysql://somewhere"], 1),
        (["better-auth", "--from", "sqlite:///users.jsonl", "--secret-file", "absent"], 2),
    ):
        done = run("import", *words)
        assert done.exit_code == status, (words, done.output)
        assert "Traceback" not in done.output

    assert json.loads(run("users", "list", "--json").stdout) == []


class TestKilled:
    @pytest.mark.long
    def test_in_the_middle_and_run_again(self, run: Run, tmp_path: Path) -> None:
        rows = [
            {"email": f"user{number}@example.com", "passwordHash": HASH, "role": "pilot"}
            for number in range(3 * BATCH)
        ]
        file = write_lines(tmp_path / "users.jsonl", rows)
        written = file.read_bytes().splitlines(keepends=True)

        process = subprocess.Popen(
            [sys.executable, "-c", "from server.cli.main import app; app()", "import", "json-lines", "-",
             "--report", "report.jsonl", "--ids", "ids.jsonl"],
            cwd=tmp_path, env={**os.environ, **CHEAP, "PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None
        with process.stdin as stdin:
            # One batch and a half: the command waits for the rest until it is killed.
            stdin.writelines(written[: BATCH + BATCH // 2])
            stdin.flush()
            report = tmp_path / "report.jsonl"
            reached = wait_for(lambda: report.exists() and len(lines(report)) >= BATCH)
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=TIMEOUT)
        between = users_in(tmp_path / "gatewright.db")
        again = run("import", "json-lines", "users.jsonl")

        assert reached
        assert between == BATCH
        # They are present for the second run, which does not report them again.
        assert [len(lines(tmp_path / f"{name}.jsonl")) for name in ("report", "ids")] == [BATCH, BATCH]
        assert again.stdout.startswith(
            f"600 rows: {2 * BATCH} imported, {BATCH} already present, 0 refused.\n"
        )
        assert users_in(tmp_path / "gatewright.db") == 3 * BATCH

    @pytest.mark.long
    def test_and_resumed_in_postgresql(self, cluster: Cluster, tmp_path: Path) -> None:
        lab = Lab(tmp_path, cluster.create(migrated=True), users=2_000)

        runs = list(measured(lab))

        assert missed_goals(lab, runs) == []
        assert runs[-1].output == "2000 rows: 0 imported, 2000 already present, 0 refused."


def users_in(path: Path) -> int:
    """Return how many users a database holds that may not be there yet."""
    if not path.exists():
        return 0
    connection = sqlite3.connect(path, timeout=TIMEOUT)
    try:
        return int(connection.execute("SELECT count(*) FROM user").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def wait_for(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
