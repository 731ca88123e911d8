"""What the guides on moving in and out show is true: their commands are typed as they stand there."""

import json
import re
from pathlib import Path

from server.importers.parse import ACCOUNT_NAMES, NAMES, TWO_FACTOR_NAMES
from tests.server.importers.guides import EXPORT, IMPORT, blocks, follow
from tests.server.terminal import Run, lines, mode


class TestImport:
    def test_json_lines(self, run: Run, tmp_path: Path) -> None:
        example = blocks(IMPORT, "JSON lines")[0]
        (tmp_path / "users.jsonl").write_text(example[1], "utf-8")

        follow(run, IMPORT, "JSON lines")

        [shown] = [json.loads(block) for _, block in blocks(IMPORT, "IDs")]
        assert shown in lines(tmp_path / "ids.jsonl")

    def test_every_field_has_its_line(self) -> None:
        section = IMPORT.partition("## JSON lines\n")[2].partition("\n## ")[0]
        table = "\n".join(line for line in section.splitlines() if line.startswith("|"))

        assert set(re.findall(r"`(\w+)`", table)) >= NAMES | ACCOUNT_NAMES | TWO_FACTOR_NAMES


class TestExport:
    def test_one_user_and_all_of_them(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "users.jsonl").write_text(blocks(IMPORT, "JSON lines")[0][1], "utf-8")
        run("import", "json-lines", "users.jsonl")

        follow(run, EXPORT, "One user")
        follow(run, EXPORT, "All users")

        held = json.loads((tmp_path / "ada.json").read_text("utf-8"))
        table = EXPORT.partition("## One user\n")[2].partition("\n## ")[0]
        assert mode(tmp_path / "ada.json") == "0o600"
        assert set(held) == set(
            re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))
        )
        assert len(lines(tmp_path / "users.jsonl")) == 2
