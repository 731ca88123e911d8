"""Fixtures of the faults."""

from pathlib import Path

import pytest

from tests.faults.places import Place, place_of


@pytest.fixture
def place(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A place with an empty database; a test that asks for it runs on both kinds."""
    return place_of(request, dialect, tmp_path)
