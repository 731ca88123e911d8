"""SECURITY-TESTS.md: every row of the threat list beside the tests that stand for it.

python -m tests.security.table            writes it
python -m tests.security.table --check    answers 1 when it is out of date, or when a row that must have a test has none
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests import marks
from tests.security import threats
from tests.security.matrix import markdown, matrix
from tests.security.mutants import lists
from tests.security.threats import ROOT, Group, Row

TABLE = ROOT / "SECURITY-TESTS.md"

HEAD = """# What is attacked, and where it is tested

Written by `make table` from `tests/security/threats.toml` and the tests marked `@pytest.mark.threat("V35")`; do not
edit. The last column counts the row's mutants: `make mutants` removes one defence at a time and checks that these tests
fail. Comments such as `# defence: V35 sign-out` mark the code of a defence. Random sequences of operations against a
model are in `tests/labs/fuzz`.
"""


def main(arguments: Sequence[str]) -> int:
    """Write the file, or check it; give the exit code."""
    groups, places = threats.read(), marks.places("threat")
    declared = matrix.read()
    missing = declared.complaints()
    if missing:
        print(*missing, sep="\n", file=sys.stderr)
        return 1
    wanted = text(groups, places, mutants()) + "\n" + markdown.section(declared)
    if "--check" not in arguments:
        TABLE.write_text(wanted, "utf-8")
        return 0
    problems = complaints(groups, places, TABLE, wanted)
    print(*problems, sep="\n", file=sys.stderr)
    return 1 if problems else 0


def mutants() -> dict[str, int]:
    """Return by row how many mutants there are."""
    rows = [mutant.row for mutant in lists.read()]
    return {row: rows.count(row) for row in rows}


def text(groups: Sequence[Group], places: Mapping[str, list[str]], tried: Mapping[str, int]) -> str:
    """Return the whole file."""
    return "\n".join([HEAD, *(_section(group, places, tried) for group in groups)])


def complaints(
    groups: Sequence[Group], places: Mapping[str, list[str]], file: Path, wanted: str
) -> list[str]:
    """Return what is wrong: rows without a test, marks without a row, a stale file."""
    rows = [row for group in groups for row in group.rows]
    gaps = [f"{row.name} has no test: {row.attack}" for row in rows if row.name not in places]
    unknown = sorted(set(places) - {row.name for row in rows})
    strays = [f"{', '.join(places[name])} is marked with {name}, which is no row" for name in unknown]
    is_stale = not file.exists() or file.read_text("utf-8") != wanted
    return [*gaps, *strays, *([f"{file.name} is out of date: make table"] if is_stale else [])]


def _section(group: Group, places: Mapping[str, list[str]], tried: Mapping[str, int]) -> str:
    lines = [_line(row, places, tried) for row in group.rows]
    head = "| Row | Attack or fault | Status | Tested by | Defences taken out |\n|---|---|---|---|---|"
    return "\n".join([f"## {group.title}\n", head, *lines, ""])


def _line(row: Row, places: Mapping[str, list[str]], tried: Mapping[str, int]) -> str:
    tests = "<br>".join(f"`{place}`" for place in places.get(row.name, []))
    status = "tested" if tests else "gap"
    cells = (row.name, row.attack, status, tests, str(tried.get(row.name, "")))
    return "".join(f"| {cell} " if cell else "| " for cell in cells) + "|"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
