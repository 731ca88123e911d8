"""Users from a file of JSON lines (docs/pages/guides/import.md)."""

import os
from collections.abc import AsyncIterator
from typing import BinaryIO

import orjson

from domain import tokens
from domain.data_import.eligibility import Problem
from server.importers.source import Row, SourceRefused
from server.importers.values import Fields

LONGEST_LINE = 2**20
"""The longest line that is read, in bytes."""


class JsonLines:
    """The source that reads a file or standard input with one JSON object per line; empty lines are skipped."""

    origin = "json-lines"

    def __init__(self, file: BinaryIO) -> None:
        """Create the source; `file` is open for reading bytes."""
        self._file = file
        self.total = size(file)

    async def rows(self) -> AsyncIterator[Row]:
        """Yield the user of every line. Raises SourceRefused if reading fails."""
        number = position = 0
        while line := self._next_line():
            number, position = number + 1, position + len(line)
            # The rest of an overlong line is read and dropped, so that the memory stays bounded and the next line is
            # whole.
            too_long = len(line) > LONGEST_LINE
            while too_long and not line.endswith(b"\n") and (line := self._next_line()):
                position += len(line)
            if too_long:
                problem = Problem("line", f"is longer than {LONGEST_LINE} bytes")
                yield Row(f"line {number}", problem, position=position)
            elif line.strip():
                # A user without an id is identified by the line: a changed line is another user.
                known_by = tokens.digest(line.strip().decode("latin-1")).hex()
                yield Row(f"line {number}", _object(line), known_by, position)

    def _next_line(self) -> bytes:
        try:
            return self._file.readline(LONGEST_LINE + 1)
        except OSError as fault:
            raise SourceRefused(f"the file cannot be read: {fault.strerror}") from fault


def size(file: BinaryIO) -> int | None:
    """Return the length of a file in bytes; None for a stream of unknown length."""
    if not file.seekable():
        return None
    here = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(here)
    return end


def _object(line: bytes) -> Fields | Problem:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return Problem("line", "is not JSON")
    return value if isinstance(value, dict) else Problem("line", "is not a JSON object")
