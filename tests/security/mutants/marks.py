"""Marks: the comments that say in the source which code is a defence of which row of the threat list.

    if user.is_banned(now):  # defence: V33 V35 ban, R4 ban-time

A mark names rows and a key that is unique within each row; a comma separates several marks. A mark belongs to what
begins on its line: a statement, or an argument, operand or element. On a line of its own it belongs to the next line of
code. In YAML it belongs to a line and to what is indented below it. In a guide it is a comment of Markdown,
`<!-- defence: … -->`, and belongs to the whole block of code that follows.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("codegen", "domain", "handlers", "models", "openapi", "server")
"""Where marks are searched for; within these, files may move freely."""

GUIDES = "docs/pages/guides"
"""The guides, whose code readers copy."""

_COMMENT = re.compile(r"(?:#|<!--) defence: (.+?)(?: -->)?$")
_MARK = re.compile(r"((?:(?:ADM|JWT|KEY|ORG|SSO|WH|[CHMNOPRV])[1-9][0-9]* )+)([a-z0-9]+(?:-[a-z0-9]+)*)")
_SUFFIXES = frozenset({".md", ".py", ".yaml"})


@dataclass(frozen=True, slots=True)
class Place:
    """A marked line, counted from 1, of a file."""

    file: Path
    line: int


def find(root: Path) -> dict[tuple[str, str], list[Place]]:
    """Return the marked places of all packages by row and key. Raises ValueError for a mark that cannot be read."""
    found: dict[tuple[str, str], list[Place]] = {}
    for package in (*PACKAGES, GUIDES):
        for file in sorted((root / package).rglob("*")):
            if file.suffix in _SUFFIXES:
                try:
                    for name, line in in_text(file.read_text("utf-8")):
                        found.setdefault(name, []).append(Place(file, line))
                except ValueError as error:
                    raise ValueError(f"{file.relative_to(root)}: {error}") from None
    return found


def in_text(text: str) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield the row and key of every mark of a file, and the line it belongs to. Raises ValueError."""
    waiting: list[tuple[str, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        comment = _COMMENT.search(line)
        if comment is not None:
            waiting += _names(comment[1])
        if waiting and line.strip() and not line.lstrip().startswith(("#", "<!--")):
            yield from ((name, number) for name in waiting)
            waiting = []


def _names(text: str) -> Iterator[tuple[str, str]]:
    for part in text.split(", "):
        mark = _MARK.fullmatch(part)
        if mark is None:
            raise ValueError(f"{part!r} is no mark; marks look like V33 expiry")
        yield from ((row, mark[2]) for row in mark[1].split())
