"""Fixtures of the tests that move users in and out."""

import logging
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
import structlog
from typer.testing import CliRunner, Result

from server.cli import app
from tests.server.importing.terminal import Run
from tests.service import CHEAP


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Leave logging as it was found: every command sets it up for its process."""
    handlers = logging.getLogger().handlers[:]
    yield
    logging.getLogger().handlers[:] = handlers
    structlog.reset_defaults()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a command in an empty folder."""

    def run(*words: str, stdin: str | bytes = "", **variables: str) -> Result:
        with chdir(tmp_path):
            return CliRunner().invoke(app, words, input=stdin, env=CHEAP | variables)

    return run
