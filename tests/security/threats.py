"""The rows of the threat list, from `threats.toml`, and the tests marked with them."""

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("threats.toml")
TESTS = ROOT / "tests"

_ROW = re.compile(r"(ADM|JWT|KEY|[HMNPRV])0*([1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class Row:
    """One attack or fault."""

    name: str
    attack: str


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of one kind, under a heading."""

    title: str
    rows: tuple[Row, ...]


def read() -> tuple[Group, ...]:
    """Return the groups in their order."""
    listed = tomllib.loads(LIST.read_text("utf-8"))["group"]
    return tuple(
        Group(group["title"], tuple(Row(name, attack) for name, attack in group["rows"].items()))
        for group in listed
    )


def row_name(text: str) -> str:
    """Return a row's name as the list spells it: `v04` is V4. Raises ValueError for what names no row."""
    match = _ROW.fullmatch(text.upper())
    if match is None:
        raise ValueError(f"{text!r} is no row; rows are called V47 or R26")
    return match[1] + match[2]


def places(tests: Path = TESTS) -> dict[str, list[str]]:
    """Return by row its tests: classes and functions marked `@pytest.mark.threat("V35")`, or several."""
    found: dict[str, list[str]] = {}
    for path in sorted(tests.glob("**/test_*.py")):
        file = path.relative_to(tests.parent).as_posix()
        for node_id, node in _tests(ast.parse(path.read_text("utf-8")), file):
            for row in _marks(node):
                found.setdefault(row, []).append(node_id)
    return found


_Test = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _tests(parent: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, _Test]]:
    for node in parent.body:
        if isinstance(node, _Test) and node.name.lower().startswith("test"):
            yield f"{prefix}::{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from _tests(node, f"{prefix}::{node.name}")


def _marks(node: _Test) -> Iterator[str]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.threat":
            yield from (ast.literal_eval(row) for row in decorator.args)
