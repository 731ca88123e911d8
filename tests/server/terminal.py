"""Commands as somebody types them, and the files they write."""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from server.cli.main import app

Run = Callable[..., Result]
"""Runs a command: words, `stdin`, and settings by their variables."""


def typing_in(directory: Path, settings: Mapping[str, str]) -> Run:
    """Return what runs commands in a folder, with these settings; the variables of a call go before them."""

    inherited = dict.fromkeys(name for name in os.environ if name.startswith("GATEWRIGHT_"))

    def run(*words: str, stdin: str | bytes = "", **variables: str | None) -> Result:
        with chdir(directory):
            return CliRunner().invoke(app, words, input=stdin, env={**inherited, **settings, **variables})

    return run


def complaint(stderr: str) -> str:
    """Return what a failed command says is wrong, without the line after it that says which settings it used."""
    *said, used = stderr.splitlines()
    assert used.startswith("gatewright: configuration: ")
    return "\n".join(line.removeprefix("gatewright: ") for line in said)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)
