"""A CSV file with a header (RFC 4180), read row by row."""

import csv
import io
from collections.abc import Collection, Iterator
from typing import BinaryIO

from domain.data_import.eligibility import Problem
from server.importers.json_lines import size
from server.importers.source import SourceRefused

Cells = dict[str, str]
"""The cells of a row that are not empty, by the names of their columns, without the spaces around them."""


class CsvFile:
    """A file or standard input in UTF-8."""

    def __init__(self, file: BinaryIO, required: Collection[str]) -> None:
        """Read the header of `file`, which is open for reading bytes.

        Raises SourceRefused if a `required` column is missing, or if the file is not CSV.
        """
        self._file = file
        self.total = size(file)
        self._text = io.TextIOWrapper(file, "utf-8-sig", newline="")
        self._reader = csv.reader(self._text, strict=True)
        self._names = next(self._lines(), [])
        missing = [name for name in required if name not in self._names]
        if missing:
            raise SourceRefused(f"the header of the CSV file has no column {missing[0]}")

    def rows(self) -> Iterator[tuple[int, int, Cells | Problem]]:
        """Yield for each row the number of its last line, the position of reading in bytes, and its cells.

        In place of the cells it yields a Problem if their number is wrong. Raises SourceRefused if reading fails.
        """
        for cells in self._lines():
            if not cells:
                continue
            number = self._reader.line_num
            position = self._file.tell() if self._file.seekable() else 0
            if len(cells) == len(self._names):
                stripped = zip(self._names, (cell.strip() for cell in cells), strict=True)
                yield number, position, {name: cell for name, cell in stripped if cell}
            else:
                problem = f"has {len(cells)} cells, and the header has {len(self._names)}"
                yield number, position, Problem("line", problem)
        # Closing the text would close standard input.
        self._text.detach()

    def _lines(self) -> Iterator[list[str]]:
        while True:
            try:
                cells = next(self._reader, None)
            except (csv.Error, UnicodeError, OSError) as fault:
                line = self._reader.line_num
                raise SourceRefused(f"the CSV file cannot be read after line {line}: {fault}") from fault
            if cells is None:
                return
            yield cells
