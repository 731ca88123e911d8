"""What the guides on moving in and out show is true: their commands are typed as they stand there."""

import json
import re
from pathlib import Path

from server.importers.parse import ACCOUNT_NAMES, NAMES, TWO_FACTOR_NAMES
from tests.docs.typing_in import blocks
from tests.server.importers.guides import EXPORT, IMPORT, follow, under
from tests.server.terminal import Run, lines, mode

JSON_LINES = under(IMPORT, "JSON lines")
EXAMPLE = blocks(JSON_LINES)[0].text


class TestImport:
    def test_json_lines(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "users.jsonl").write_text(EXAMPLE, "utf-8")

        follow(run, IMPORT, "JSON lines")

        [shown] = [json.loads(block.text) for block in blocks(under(IMPORT, "IDs"))]
        assert shown in lines(tmp_path / "ids.jsonl")

    def test_every_field_has_its_line(self) -> None:
        table = "\n".join(line for line in JSON_LINES.splitlines() if line.startswith("|"))

        assert set(re.findall(r"`(\w+)`", table)) >= NAMES | ACCOUNT_NAMES | TWO_FACTOR_NAMES


class TestExport:
    def test_one_user_and_all_of_them(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "users.jsonl").write_text(EXAMPLE, "utf-8")
        run("import", "json-lines", "users.jsonl")

        follow(run, EXPORT, "One user")
        follow(run, EXPORT, "All users")

        held = json.loads((tmp_path / "ada.json").read_text("utf-8"))
        first_cells = re.findall(r"^\| (`.*?) \|", under(EXPORT, "One user"), re.MULTILINE)
        assert mode(tmp_path / "ada.json") == "0o600"
        assert set(held) == set(re.findall(r"`(\w+)`", "\n".join(first_cells)))
        assert len(lines(tmp_path / "users.jsonl")) == 2
