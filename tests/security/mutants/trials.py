"""A trial: a scratch copy of the tree, a defence taken out of it, the tests of its row run there."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.postgres import Cluster
from tests.security.mutants import marks, sources
from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import NotAppliedError
from tests.security.threats import ROOT

TIME_LIMIT = 900
"""Seconds for the tests of a row; some patches make a test wait for what never comes."""

OUT_OF_TIME = "out of time"

CRASHES = frozenset(
    {"V9", "V27", "V28", "V65", "V88", "ORG27", "ORG28", "ORG29", *(f"R{number}" for number in range(1, 47))}
)
"""The rows whose attack is to make the service answer 500; elsewhere a 500 says that the patch is no mutant."""

_COPIED = (*marks.PACKAGES, ".ci", "docs", "tests")
_FILES = ("pyproject.toml", "README.md", "Makefile")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether a test failed (None: they could not begin), whether the service answered 500, and what was printed."""

    failed: bool | None
    crashed: bool
    printed: str


class Tree:
    """A copy of the tree. `cluster` is the PostgreSQL that all its tests share; starting one takes seconds."""

    def __init__(self, directory: Path, places: Mapping[str, list[str]], cluster: Cluster) -> None:
        self._directory = directory
        self._places = places
        self._cluster = cluster
        for package in _COPIED:
            shutil.copytree(
                ROOT / package,
                directory / package,
                ignore=shutil.ignore_patterns("__pycache__", "node_modules"),
            )
        for name in _FILES:
            shutil.copy(ROOT / name, directory)
        # The tests of the SDKs generate them by a script, which needs the programs of this environment.
        (directory / ".venv").symlink_to(ROOT / ".venv")
        self._project = sources.Project(directory)

    def attempt(self, mutant: Mutant) -> str:
        """Take a defence out, run the tests of its row, put it back; say what became of the mutant."""
        if mutant.row not in self._places:
            return "NO TESTS: none is marked with the row"
        try:
            changed = self._project.mutate(mutant)
        except NotAppliedError as error:
            return f"NOT APPLIED: {error}"
        originals = {file: file.read_text("utf-8") for file in changed}
        _write(changed)
        try:
            undefined = [
                line for file in changed if file.suffix == ".py" for line in sources.undefined_names(file)
            ]
            return f"NOT APPLIED: {undefined[0]}" if undefined else _verdict(mutant, self.run([mutant.row]))
        finally:
            _write(originals)

    def run(self, rows: Iterable[str]) -> Outcome:
        """Run the tests of these rows until one fails."""
        places = self._places_of(frozenset(rows))
        if not places:
            return Outcome(False, False, "")
        shared = {"PYTHONPATH": str(self._directory), "GATEWRIGHT_TEST_POSTGRES": self._cluster.url()}
        try:
            finished = subprocess.run(
                [sys.executable, "-B", "-m", "pytest", *places, "-x", "--tb=short"],
                cwd=self._directory,
                env={**os.environ, **shared},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=TIME_LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome(True, False, OUT_OF_TIME)
        return _outcome(finished.returncode, finished.stdout)

    def _places_of(self, rows: frozenset[str]) -> list[str]:
        """Return where the rows are tested, by file and in the order of each file: what ends a server is last."""
        places = [place for row, own in self._places.items() if row in rows for place in own]
        return sorted(places, key=lambda place: place.partition("::")[0])


def _write(texts: Mapping[Path, str]) -> None:
    for file, text in texts.items():
        file.write_text(text, "utf-8")


def _outcome(code: int, printed: str) -> Outcome:
    began = code == 0 or re.search(r"\d+ failed", printed) is not None
    return Outcome(code != 0 if began else None, "internal_server_error" in printed, printed)


def _verdict(mutant: Mutant, outcome: Outcome) -> str:
    if outcome.failed is None:
        return "NOT RUN: the tests could not begin"
    if not outcome.failed:
        return "SURVIVED"
    if outcome.crashed and mutant.row not in CRASHES:
        return "NOT A MUTANT: the patch breaks the service instead of the defence"
    if outcome.printed == OUT_OF_TIME:
        return "NOT KNOWN: out of time, which no test has asserted"
    return f"killed by {_failure(outcome.printed)}"


def _failure(printed: str) -> str:
    """Return the test that failed, and the first line of what it had to say."""
    test = re.search(r"^(?:FAILED|ERROR) \S+::(\S+)", printed, re.MULTILINE)
    said = re.search(r"^E +(.*)", printed, re.MULTILINE)
    return f"{test[1] if test else '?'}: {said[1] if said else '?'}"
