"""What the modules of a package declare is known without a list of them."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.discovery import import_modules


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[str]:
    """A package on the path with modules and packages in it; those under `locked` must not be imported."""
    for name in ("__init__", "book", "box/__init__", "box/letter", "locked/__init__", "locked/diary"):
        file = tmp_path / "shelf_of_tests" / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text("raise RuntimeError\n" if name.startswith("locked") else "")
    sys.path.insert(0, str(tmp_path))
    yield "shelf_of_tests"
    sys.path.remove(str(tmp_path))


def test_imports_every_module_but_those_that_are_left_out(shelf: str) -> None:
    import_modules(importlib.import_module(shelf), except_for=[f"{shelf}.locked"])

    found = {name for name in sys.modules if name.partition(".")[0] == shelf}
    assert found == {shelf, f"{shelf}.book", f"{shelf}.box", f"{shelf}.box.letter"}
