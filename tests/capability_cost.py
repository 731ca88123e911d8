"""Count the existing files that a range of commits edited to add a capability:

    python -m tests.capability_cost BASE..HEAD --name webhooks

Files with the name of the capability in their path are its own, as are those that the range added. Tests do not count,
and generated files are listed apart.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parents[1]
GOAL = 10
"""The most files that a capability should edit by hand."""

GENERATED = (
    "SECURITY-TESTS.md",
    "constraints.txt",
    "docs/pages/guides/customize-emails.md",
    "docs/pages/reference/settings.md",
    "domain/locales/*.po",
    "handlers/shapes.py",
)
"""Written by `make table`, `.ci/setup.sh`, `make reference`, `make translations` and `make types`."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The files outside the capability's own that a range edited: by hand, and by generators."""

    edited: tuple[str, ...]
    generated: tuple[str, ...]
    added: int
    """How many files the range added, tests excluded."""


def measure(commits: str, names: Sequence[str], root: Path = ROOT) -> Cost:
    """Return what the range `BASE..HEAD` cost. Raises CalledProcessError for commits that git does not find."""
    changes = [(status, path) for status, path in _changes(commits, root) if not path.startswith("tests/")]
    existing = [path for status, path in changes if status != "A" and not is_own(path, names)]
    return Cost(
        tuple(path for path in existing if not is_generated(path)),
        tuple(path for path in existing if is_generated(path)),
        sum(status == "A" for status, _ in changes),
    )


def is_own(path: str, names: Sequence[str]) -> bool:
    """Return whether a path contains one of the names, in the singular or plural, with `_` or `-`."""
    return any(name.replace("-", "_").removesuffix("s") in path.replace("-", "_") for name in names)


def is_generated(path: str) -> bool:
    """Return whether a command of the Makefile writes the file."""
    return any(fnmatchcase(path, pattern) for pattern in GENERATED)


def report(cost: Cost) -> str:
    """Return the files and their numbers as text."""
    lines = [
        f"{len(cost.edited)} existing files edited (goal: at most {GOAL}), {cost.added} files added",
        *(f"  {path}" for path in cost.edited),
        f"{len(cost.generated)} generated files",
        *(f"  {path}" for path in cost.generated),
    ]
    return "\n".join(lines)


def _changes(commits: str, root: Path) -> Iterator[tuple[str, str]]:
    """Yield each file that differs, by its name before, with git's letter for what happened to it."""
    command = ["git", "-C", str(root), "diff", "--name-status", "--find-renames", "-z", commits, "--"]
    fields = iter(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0"))
    for status in fields:
        if status:
            yield status[0], next(fields)
            if status[0] == "R":
                next(fields)


def main(arguments: Sequence[str]) -> None:
    """Print the report for the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.capability_cost")
    parser.add_argument("commits", metavar="BASE..HEAD", help="range of commits that adds the capability")
    parser.add_argument(
        "--name", action="append", required=True, help="name of the capability; may be repeated"
    )
    options = parser.parse_args(arguments)
    try:
        print(report(measure(options.commits, options.name)))
    except subprocess.CalledProcessError as error:
        parser.error(error.stderr.strip())


if __name__ == "__main__":
    main(sys.argv[1:])
