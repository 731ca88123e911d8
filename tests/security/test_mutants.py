"""Marks are found, and operators change the marked code and nothing else; tried on small sources made up here."""

from pathlib import Path

import pytest

from tests.security.mutants import check, marks, sources
from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import (
    After,
    Always,
    Append,
    Before,
    Compare,
    NotAppliedError,
    Operator,
    Remove,
    Replace,
    Respell,
    Unwrap,
)

SOURCE = """\
from elsewhere import Banned, call


def admit(user, now):
    \"\"\"Admit a user.

    Raises Banned.
    \"\"\"
    if user.banned and now < user.end:  # defence: V1 ban
        raise Banned
    # What follows   keeps its text.
    return call(
        user.id,
        to=user.email.lower(),  # defence: V1 V2 case
    )
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project with the source above as its only file."""
    (tmp_path / "domain").mkdir()
    (tmp_path / "domain" / "gate.py").write_text(SOURCE)
    return tmp_path


def mutate(text: str, operator: Operator) -> str:
    """Apply an operator to the first line that is marked."""
    line = next(line for _, line in marks.in_text(text))
    return sources.mutate_file(Path("made_up.py"), text, [(line, operator)])


class TestMarks:
    def test_belong_to_their_line_or_to_the_next_line_of_code(self) -> None:
        text = "# defence: V1 above\n# Why.\nx = 1\ny = 2  # defence: V2 R3 beside, V4 other\n"

        found = list(marks.in_text(text))

        assert found == [
            (("V1", "above"), 3),
            (("V2", "beside"), 4),
            (("R3", "beside"), 4),
            (("V4", "other"), 4),
        ]

    @pytest.mark.parametrize("mark", ["V1", "key", "V1 two keys", "V1 Key", "V01 key", "V1 key,V2 key"])
    def test_that_cannot_be_read_are_errors(self, mark: str) -> None:
        with pytest.raises(ValueError, match="is no mark"):
            list(marks.in_text(f"x = 1  # defence: {mark}\n"))


class TestOperators:
    @pytest.mark.parametrize(
        ("before", "operator", "after"),
        [
            ("f()  # defence: V1 x\ng()\n", Remove(), "g()\n"),
            ("if a:\n    f()  # defence: V1 x\n", Remove(), "if a:\n    pass\n"),
            ("if a:\n    f()\nelif b:  # defence: V1 x\n    g()\n", Remove(), "if a:\n    f()\n"),
            ("x = a and b and c  # defence: V1 x\n", Remove("value.values[1]"), "x = a and c\n"),
            ("x = a or b  # defence: V1 x\n", Remove("value.values[0]"), "x = b\n"),
            ("f(a, b=c)  # defence: V1 x\n", Remove("value.keywords[0]"), "f(a)\n"),
            ("f(\n    a,\n    b,  # defence: V1 x\n)\n", Remove(), "f(a)\n"),
            ("x = {a: b, c: d}  # defence: V1 x\n", Remove("value.values[0]"), "x = {c: d}\n"),
            (
                "x = [a for a in b if c]  # defence: V1 x\n",
                Remove("value.generators[0].ifs[0]"),
                "x = [a for a in b]\n",
            ),
            ("if a:  # defence: V1 x\n    f()\n", Always(True), "if True:\n    f()\n"),
            ("x = a  # defence: V1 x\n", Always(False, "value"), "x = False\n"),
            ("if a:  # defence: V1 x\n    f()\n", Unwrap("body"), "f()\n"),
            ("x = f(a)  # defence: V1 x\n", Unwrap("args[0]", "value"), "x = a\n"),
            ("x = a if b else c  # defence: V1 x\n", Unwrap("orelse", "value"), "x = c\n"),
            ("f(a)  # defence: V1 x\n", Append("b, c=d", "value"), "f(a, b, c=d)\n"),
            ("x = {a: b}  # defence: V1 x\n", Append("c: d", "value"), "x = {a: b, c: d}\n"),
            ("x = (a,)  # defence: V1 x\n", Append("b", "value"), "x = (a, b)\n"),
            ("x = a < b  # defence: V1 x\n", Compare(">=", "value"), "x = a >= b\n"),
            ("x = f'{a}-{b}'  # defence: V1 x\n", Respell("-", "+"), "x = f'{a}+{b}'\n"),
            ("x = f(b'ab')  # defence: V1 x\n", Respell(b"b", b""), "x = f(b'a')\n"),
            ("x = a  # defence: V1 x\n", Replace("... - 1", "value"), "x = a - 1\n"),
            ("f()  # defence: V1 x\n", Before("a = b"), "a = b\nf()\n"),
            ("f()  # defence: V1 x\n", After("a = b"), "f()\na = b\n"),
            (
                "@a\ndef f(b=1):  # defence: V1 x\n    pass\n",
                Remove("args.defaults[0]"),
                "@a\ndef f(b):\n    pass\n",
            ),
        ],
    )
    def test_change_what_is_marked(self, before: str, operator: Operator, after: str) -> None:
        assert mutate(before, operator) == after

    @pytest.mark.parametrize(
        ("operator", "reason"),
        [
            (Remove("test.values[7]"), "has no"),
            (Remove("nothing"), "has no"),
            (Remove("test"), "needs one value"),
            (Unwrap("body[9]"), "has no"),
            (Append("b", "test.values[0]"), "nothing can be appended"),
            (Compare("<", "test"), "is no comparison"),
            (Respell("x", "y"), "does not have"),
            (Replace("..."), "nothing changes"),
            (Replace("return = 1", "test"), "does not parse"),
            (After("from no_such_module import x"), "no_such_module"),
            (Replace("break"), "does not compile"),
        ],
    )
    def test_that_do_not_fit_are_refused(self, operator: Operator, reason: str) -> None:
        with pytest.raises(NotAppliedError, match=reason):
            mutate(SOURCE, operator)

    def test_leave_all_other_statements_as_they_are(self) -> None:
        changed = mutate(SOURCE, Remove("test.values[0]"))

        assert changed == SOURCE.replace(
            "    if user.banned and now < user.end:  # defence: V1 ban\n", "    if now < user.end:\n"
        )

    def test_apply_several_in_one_file(self) -> None:
        lines = dict(marks.in_text(SOURCE))
        changes: list[tuple[int, Operator]] = [
            (lines["V2", "case"], Unwrap("func.value", "value")),
            (lines["V1", "ban"], Always(False)),
        ]

        changed = sources.mutate_file(Path("made_up.py"), SOURCE, changes)

        assert "    if False:\n" in changed
        assert "    return call(user.id, to=user.email)\n" in changed
        assert "    # What follows   keeps its text.\n" in changed

    @pytest.mark.parametrize(
        ("operator", "after"),
        [(Remove(), "a:\n  d: 2\n"), (Replace("b: 3"), "a:\n  # defence: V1 x\n  b: 3\n  d: 2\n")],
    )
    def test_change_a_block_of_yaml(self, operator: Operator, after: str) -> None:
        text = "a:\n  # defence: V1 x\n  b:\n    c: 1\n  d: 2\n"

        changed = sources.mutate_file(Path("made_up.yaml"), text, [(3, operator)])

        assert changed == (after if isinstance(operator, Replace) else f"a:\n  # defence: V1 x\n{after[3:]}")


class TestTheCheck:
    mutants = (
        Mutant("V1", "a ban counts", "ban", Always(False)).also("case", Remove()),
        Mutant("V2", "case does not count", "case", Unwrap("func.value", "value")),
    )

    def test_is_content_when_all_fit(self, tree: Path) -> None:
        assert check.problems(self.mutants, tree) == []

    @pytest.mark.parametrize(
        ("mutant", "problem"),
        [
            (Mutant("V3", "it", "case", Remove()), "0 places are marked with `# defence: V3 case`"),
            (Mutant("V2", "it", "case", Replace("gone(...)", "value")), "F821 Undefined name `gone`"),
            (
                Mutant("V2", "it", "case", Replace("user.gone.lower()", "value")),
                "nothing in the source is called gone",
            ),
        ],
        ids=["mark", "name", "attribute"],
    )
    def test_reports_what_is_missing(self, tree: Path, mutant: Mutant, problem: str) -> None:
        problems = check.problems([*self.mutants, mutant], tree)

        assert problems == [f"{mutant.row} it: NOT APPLIED: {problem}"]

    def test_reports_a_mark_that_no_mutant_uses(self, tree: Path) -> None:
        problems = check.problems(self.mutants[:1], tree)

        assert problems == ["domain/gate.py: no mutant uses the mark `V2 case`"]
