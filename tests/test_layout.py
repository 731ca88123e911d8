"""The packages stay small enough to be read at a glance, and modules import at their top."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_AT_THE_TOP = 6
MOST_IN_A_PACKAGE = 20
COLLECTIONS = {
    *(Path("handlers"), Path("handlers/console")),
    *(Path("server/cli"), Path("server/components"), Path("server/config/groups"), Path("server/importers")),
}
"""Packages with one module for each tag, command, component, group of settings or source of users: they grow with every
capability."""
MOST_LATE_IMPORTS = 15
"""For optional extras and for libraries that cost a start much and that many services never use, once for each."""


def packages() -> Iterator[tuple[Path, int]]:
    """Yield each package of the server, the handlers and the domain with the number of its modules."""
    for name in ("domain", "handlers", "server"):
        for marker in (ROOT / name).rglob("__init__.py"):
            yield marker.parent.relative_to(ROOT), len(list(marker.parent.glob("*.py")))


def late_imports() -> Iterator[str]:
    """Yield each import statement inside a function, with its file and line."""
    for package in ("codegen", "docs", "domain", "handlers", "models", "server"):
        for file in (ROOT / package).rglob("*.py"):
            tree = ast.parse(file.read_text("utf-8"))
            functions = (
                node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            )
            statements = {
                node
                for function in functions
                for node in ast.walk(function)
                if isinstance(node, ast.Import | ast.ImportFrom)
            }
            yield from (f"{file.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}" for node in statements)


def test_few_modules_stand_at_the_top_of_the_server() -> None:
    assert dict(packages())[Path("server")] <= MOST_AT_THE_TOP


def test_no_package_has_many_modules() -> None:
    assert {
        package: count
        for package, count in packages()
        if count > MOST_IN_A_PACKAGE and package not in COLLECTIONS
    } == {}


def test_few_imports_stand_in_functions() -> None:
    found = sorted(late_imports())

    assert len(found) <= MOST_LATE_IMPORTS, "\n".join(found)


def test_modules_that_are_imported_late_exist() -> None:
    used = [
        named
        for package in ("domain", "handlers", "models", "server")
        for file in (ROOT / package).rglob("*.py")
        for named in re.findall(r"(?<!def )\blazy_import\(([^)]*)\)", file.read_text("utf-8"))
    ]

    assert used
    for named in used:
        import_module(named.strip('"'))
