"""The packages of the server, the handlers and the domain stay small enough to be read at a glance."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_AT_THE_TOP = 6
MOST_IN_A_PACKAGE = 20
COLLECTIONS = {Path("handlers"), Path("server/cli"), Path("server/config/groups")}
"""Packages with one module for each tag, command or group of settings: they grow with every capability."""


def packages() -> Iterator[tuple[Path, int]]:
    """Yield each package of the server, the handlers and the domain with the number of its modules."""
    for name in ("domain", "handlers", "server"):
        for marker in (ROOT / name).rglob("__init__.py"):
            yield marker.parent.relative_to(ROOT), len(list(marker.parent.glob("*.py")))


def test_few_modules_stand_at_the_top_of_the_server() -> None:
    assert dict(packages())[Path("server")] <= MOST_AT_THE_TOP


def test_no_package_has_many_modules() -> None:
    assert {
        package: count
        for package, count in packages()
        if count > MOST_IN_A_PACKAGE and package not in COLLECTIONS
    } == {}
