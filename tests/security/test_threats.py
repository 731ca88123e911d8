"""The threat list, its table and its mutants hold together."""

from pathlib import Path
from typing import ClassVar

import pytest

from tests import marks
from tests.security import table, threats
from tests.security.mutants import lists
from tests.security.threats import Group, Row

MUTANTS = lists.read()
ROWS = [row for group in threats.read() for row in group.rows]
NAMES = {row.name for row in ROWS}


class TestTheList:
    def test_has_every_row_once(self) -> None:
        of_the_provider = [f"O{number}" for number in range(1, 35)]
        of_companies = [f"SSO{number}" for number in range(1, 18)]
        assert [row.name for row in ROWS] == [
            *(f"V{number}" for number in range(1, 89)),
            *(f"JWT{number}" for number in range(1, 20)),
            *(f"ADM{number}" for number in range(1, 28)),
            *(f"KEY{number}" for number in range(1, 26)),
            *(f"ORG{number}" for number in range(1, 32)),
            *(f"M{number}" for number in range(1, 23)),
            *(f"N{number}" for number in range(1, 5)),
            *(f"H{number}" for number in (1, 2, 3, 4, 6, 7, 8, 9, 10, *range(12, 18))),
            *(f"C{number}" for number in range(1, 14)),
            *(f"P{number}" for number in range(1, 26)),
            *(f"WH{number}" for number in range(1, 24)),
            *(f"R{number}" for number in (*range(1, 26), 46, *range(26, 46))),
            *(name for name in (*of_the_provider, *of_companies) if name in NAMES),
        ]

    @pytest.mark.parametrize(("text", "name"), [("V47", "V47"), ("v04", "V4"), ("r26", "R26")])
    def test_knows_a_row_however_it_is_spelled(self, text: str, name: str) -> None:
        assert threats.row_name(text) == name

    @pytest.mark.parametrize("text", ["", "V", "V0", "X1", "V1-V3"])
    def test_knows_what_is_no_row(self, text: str) -> None:
        with pytest.raises(ValueError, match="is no row"):
            threats.row_name(text)


class TestPlaces:
    def test_are_the_tests_marked_with_the_row(self, tmp_path: Path) -> None:
        folder = tmp_path / "tests"
        folder.mkdir()
        (folder / "test_a.py").write_text(
            '@pytest.mark.threat("V4")\nclass TestLinks:\n    async def test_it(self): ...\n'
            'class TestOther:\n    @pytest.mark.threat("V4", "R1")\n    def test_it(self): ...\n'
            "def test_none(self): ...\n"
        )

        places = marks.places("threat", folder)

        both = "tests/test_a.py::TestOther::test_it"
        assert places == {"V4": ["tests/test_a.py::TestLinks", both], "R1": [both]}


class TestTheTable:
    groups: ClassVar = (Group("One", (Row("V1", "An attack."), Row("R1", "A fault."))),)
    places: ClassVar = {"V1": ["tests/test_a.py::TestLinks"], "R1": ["tests/test_b.py::TestRestart"]}

    def test_says_of_each_row_where_it_is_tested(self) -> None:
        lines = table.text(self.groups, {"V1": self.places["V1"]}, {"V1": 2}).splitlines()

        assert "| V1 | An attack. | tested | `tests/test_a.py::TestLinks` | 2 |" in lines
        assert "| R1 | A fault. | gap | | |" in lines

    def test_is_complained_about_when_it_is_stale(self, tmp_path: Path) -> None:
        file = tmp_path / "TABLE.md"
        wanted = table.text(self.groups, self.places, {})

        missing = table.complaints(self.groups, self.places, file, wanted)
        file.write_text(wanted + "more")
        stale = table.complaints(self.groups, self.places, file, wanted)
        file.write_text(wanted)
        fresh = table.complaints(self.groups, self.places, file, wanted)

        assert missing == stale == ["TABLE.md is out of date: make table"]
        assert fresh == []

    def test_is_complained_about_when_a_row_has_no_test_or_a_test_no_row(self, tmp_path: Path) -> None:
        file = tmp_path / "TABLE.md"
        file.write_text("")

        complaints = table.complaints(self.groups, {"V2": ["tests/test_a.py::TestLinks"]}, file, "")

        assert complaints == [
            "V1 has no test: An attack.",
            "R1 has no test: A fault.",
            "tests/test_a.py::TestLinks is marked with V2, which is no row",
        ]


class TestMutants:
    def test_each_is_of_a_row_of_the_list(self) -> None:
        assert {mutant.row for mutant in MUTANTS} <= NAMES

    def test_no_two_have_one_name(self) -> None:
        names = [(mutant.row, mutant.defence) for mutant in MUTANTS]

        assert len(set(names)) == len(names)

    def test_the_top_rows_are_twenty_rows_of_the_list(self) -> None:
        assert len(set(lists.TOP)) == 20
        assert set(lists.TOP) <= NAMES
