"""The threat list, its table and its mutants hold together."""

from tests.security import threats
from tests.security.mutants import lists

MUTANTS = lists.read()
ROWS = [row for group in threats.read() for row in group.rows]
NAMES = {row.name for row in ROWS}


class TestTheList:
    def test_has_every_row_once(self) -> None:
        assert [row.name for row in ROWS] == [
            *(f"V{number}" for number in range(1, 89)),
            *(f"JWT{number}" for number in range(1, 19)),
            *(f"R{number}" for number in range(1, 46)),
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
