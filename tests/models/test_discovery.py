"""What the modules of a package declare is known without a list of them."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.discovery import declared, import_modules, merged

MODULES = {
    "__init__": "",
    "book": "",
    "box/__init__": "",
    "box/card": 'TITLES, PAGES, PRICES = ("one", "two"), {"one": 1}, {"one": 9}',
    "box/letter": 'TITLES, PAGES, PRICES = ("three",), {"three": 3}, {"one": 5}',
    "locked/__init__": "raise RuntimeError",
    "locked/diary": "raise RuntimeError",
}


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[str]:
    """A package on the path, of a name that no other test has, with modules and packages.

    Those under `locked` must not be imported.
    """
    package = f"shelf_{tmp_path.name}"
    for name, text in MODULES.items():
        file = tmp_path / package / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    sys.path.insert(0, str(tmp_path))
    yield package
    sys.path.remove(str(tmp_path))


def test_imports_every_module_but_those_that_are_left_out(shelf: str) -> None:
    import_modules(importlib.import_module(shelf), except_for=[f"{shelf}.locked"])

    found = {name for name in sys.modules if name.partition(".")[0] == shelf}
    assert found == {shelf, f"{shelf}.book", f"{shelf}.box", f"{shelf}.box.card", f"{shelf}.box.letter"}


def test_collects_what_modules_declare(shelf: str) -> None:
    box = importlib.import_module(f"{shelf}.box")

    assert declared(box, "TITLES") == ["one", "two", "three"]
    assert merged(box, "PAGES") == {"one": 1, "three": 3}
    assert merged(box, "PAGES", except_for=(f"{shelf}.box.card",)) == {"three": 3}


def test_refuses_a_key_that_two_modules_declare(shelf: str) -> None:
    with pytest.raises(ValueError, match=r"box\.letter\.PRICES declares one again"):
        merged(importlib.import_module(f"{shelf}.box"), "PRICES")
