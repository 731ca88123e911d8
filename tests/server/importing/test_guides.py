"""What the guides on moving in and out show is true: their commands are typed as they stand there."""

import json
import re
import shlex
from pathlib import Path

import pytest

from server.importing.fields import ACCOUNT_NAMES, NAMES, TWO_FACTOR_NAMES
from tests.live import ROOT
from tests.server.importing import real
from tests.server.importing.terminal import Run, lines, mode

GUIDES = ROOT / "docs" / "pages" / "guides"
IMPORT, EXPORT = ((GUIDES / name).read_text("utf-8") for name in ("import.md", "export.md"))


def blocks(guide: str, heading: str) -> list[tuple[str, str]]:
    """Give the blocks under a heading, each with its language."""
    section = guide.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    assert section, heading
    return re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)


def follow(run: Run, guide: str, heading: str) -> None:
    """Type the commands under a heading, and compare what they print with what is shown."""
    printed = ""
    for language, block in blocks(guide, heading):
        if language == "sh":
            [program, *words] = shlex.split(block)
            done = run(*words)
            assert program == "gatewright"
            assert done.exit_code in (0, 3), done.output
            printed = done.stdout
        elif language == "text":
            assert printed == block


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


class TestImport:
    def test_better_auth(self, run: Run, folder: Path) -> None:
        real.better_auth(f"sqlite:///{folder / 'auth.db'}")
        (folder / "better-auth-secret").write_text(f"{real.SECRET}\n", "utf-8")

        follow(run, IMPORT, "How to go about it")
        follow(run, IMPORT, "Better Auth")

        assert len(json.loads(run("users", "list", "--json").stdout)) == 4

    def test_fastapi_users(self, run: Run, folder: Path) -> None:
        real.fastapi_users(f"sqlite:///{folder / 'users.db'}")

        follow(run, IMPORT, "fastapi-users")

        assert len(json.loads(run("users", "list", "--json").stdout)) == 3

    def test_json_lines(self, run: Run, folder: Path) -> None:
        example = blocks(IMPORT, "JSON lines")[0]
        (folder / "users.jsonl").write_text(example[1], "utf-8")

        follow(run, IMPORT, "JSON lines")

        [shown] = [json.loads(block) for _, block in blocks(IMPORT, "Ids")]
        assert shown in lines(folder / "ids.jsonl")

    def test_every_field_has_its_line(self) -> None:
        section = IMPORT.partition("## JSON lines\n")[2].partition("\n## ")[0]
        table = "\n".join(line for line in section.splitlines() if line.startswith("|"))

        assert set(re.findall(r"`(\w+)`", table)) >= NAMES | ACCOUNT_NAMES | TWO_FACTOR_NAMES


class TestExport:
    def test_one_user_and_all_of_them(self, run: Run, folder: Path) -> None:
        (folder / "users.jsonl").write_text(blocks(IMPORT, "JSON lines")[0][1], "utf-8")
        run("import", "json-lines", "users.jsonl")

        follow(run, EXPORT, "One user")
        follow(run, EXPORT, "All users")

        held = json.loads((folder / "ada.json").read_text("utf-8"))
        table = EXPORT.partition("## One user\n")[2].partition("\n## ")[0]
        assert mode(folder / "ada.json") == "0o600"
        assert set(held) == set(
            re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))
        )
        assert len(lines(folder / "users.jsonl")) == 2
