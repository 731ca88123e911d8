"""Exports as CSV (RFC 4180), which spreadsheet programs open."""

import csv
import io
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import orjson

from handlers.responses.reply import Stream

Row = TypeVar("Row")

_TYPE = b"text/csv; charset=utf-8"
_MARK = b"\xef\xbb\xbf"
"""The byte order mark, without which spreadsheet programs read UTF-8 as another encoding."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""The beginnings of cells that spreadsheet programs run as formulas (CWE-1236)."""


def stream(
    name: str,
    now: datetime,
    pages: AsyncGenerator[Sequence[Row], None],
    shape: Callable[[Row], Mapping[str, Any]],
    columns: Iterable[str],
) -> Stream:
    """Return an export as a CSV file with a header and a line for each row of `pages`.

    `shape` converts a row to a mapping, whose keys `columns` are the cells of the line. The file is named by `name` and
    the time `now`.
    """
    return Stream(_parts(pages, shape, tuple(columns)), _TYPE, f"{name}-{now:%Y-%m-%dT%H%M%SZ}.csv")


def given(filters: Mapping[str, str | None]) -> dict[str, str]:
    """Return those filters of a request that have a value."""
    return {name: value for name, value in filters.items() if value}


async def _parts(
    pages: AsyncGenerator[Sequence[Row], None],
    shape: Callable[[Row], Mapping[str, Any]],
    columns: Sequence[str],
) -> AsyncGenerator[bytes, None]:
    try:
        yield _MARK + _lines([columns])
        async for rows in pages:
            yield _lines([[_cell(row[name]) for name in columns] for row in map(shape, rows)])
    finally:
        await pages.aclose()


def _lines(rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return f"'{text}" if text.startswith(_FORMULA) else text  # defence: ADM25 formula
