"""What is installed, as a new machine sees it."""

import tomllib
from importlib.metadata import distributions
from pathlib import Path

from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]


def test_every_package_admits_the_oldest_python_that_is_promised() -> None:
    """Debian 12 has 3.11.2: one package that wants 3.11.5 would keep all of them from being installed there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=") + ".0"

    wanted = {each.name: each.metadata.json.get("requires_python", "") for each in distributions()}

    assert {name: said for name, said in wanted.items() if oldest not in SpecifierSet(str(said))} == {}
