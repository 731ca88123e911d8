"""The rows of the threat list, from `threats.toml`, and the test classes that stand for them, found by name."""

import ast
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("threats.toml")
TESTS = ROOT / "tests"

_CLASS = re.compile(r"Test([VR])0*([1-9][0-9]*)(?:[A-Z][A-Za-z0-9]*)?")
_ROW = re.compile(r"([VR])0*([1-9][0-9]*)")


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
    """Give the groups in their order."""
    listed = tomllib.loads(LIST.read_text("utf-8"))["group"]
    return tuple(
        Group(group["title"], tuple(Row(name, attack) for name, attack in group["rows"].items()))
        for group in listed
    )


def row_name(text: str) -> str:
    """Give a row's name as the list spells it: `v04` is V4. Raises ValueError for what names no row."""
    match = _ROW.fullmatch(text.upper())
    if match is None:
        raise ValueError(f"{text!r} is no row; rows are called V47 or R26")
    return match[1] + match[2]


def places(tests: Path = TESTS) -> dict[str, list[str]]:
    """Give by row where it is tested, as `tests/security/test_x.py::TestV4` or `…::TestV04ManyWords`.

    Classes without a test do not count.
    """
    found: dict[str, list[str]] = {}
    for path in sorted(tests.glob("**/test_*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            match = _CLASS.fullmatch(node.name) if isinstance(node, ast.ClassDef) else None
            if match is not None and isinstance(node, ast.ClassDef) and _has_tests(node):
                place = f"{path.relative_to(tests.parent).as_posix()}::{node.name}"
                found.setdefault(match[1] + match[2], []).append(place)
    return found


def _has_tests(node: ast.ClassDef) -> bool:
    functions = (part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef))
    return any(function.name.startswith("test") for function in functions)
