"""The marks of tests, read from the source, such as `@pytest.mark.threat("V35")`."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent

_Test = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def places(mark: str, tests: Path = TESTS) -> dict[str, list[str]]:
    """Return the node ids of the classes and functions with a mark, by the arguments of the mark."""
    found: dict[str, list[str]] = {}
    for path in sorted(tests.glob("**/test_*.py")):
        file = path.relative_to(tests.parent).as_posix()
        for node_id, node in _tests(ast.parse(path.read_text("utf-8")), file):
            for argument in _arguments(node, f"pytest.mark.{mark}"):
                found.setdefault(argument, []).append(node_id)
    return found


def _tests(parent: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, _Test]]:
    for node in parent.body:
        if isinstance(node, _Test) and node.name.lower().startswith("test"):
            yield f"{prefix}::{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from _tests(node, f"{prefix}::{node.name}")


def _arguments(node: _Test, mark: str) -> Iterator[str]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == mark:
            yield from (ast.literal_eval(argument) for argument in decorator.args)
