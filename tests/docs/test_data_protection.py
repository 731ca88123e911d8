"""The page about data protection is what the tables declare: their names, how long rows are kept, the export."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from models.base import tables
from tests.docs.typing_in import PAGES

PAGE = (PAGES / "operations" / "data-protection.md").read_text("utf-8")
SECTION = PAGE.partition("{ #tables }\n")[2].partition("\n## ")[0]
TABLES: dict[str, Any] = {str(table.__tablename__): table for table in tables()}
UNITS = {"day": 86_400, "hour": 3_600, "minute": 60}


def rows() -> Iterator[tuple[str, list[str]]]:
    """Yield the name of every table that the page lists, and the cells: keys of the export, content, time, end."""
    for line in SECTION.splitlines():
        if line.startswith("| `"):
            first, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            name, *keys = re.findall(r"`(\w+)`", first)
            yield name, [", ".join(keys), *cells]


ROWS = dict(rows())


def in_words(time: timedelta) -> str:
    """Return a time as the page says it."""
    seconds = int(time.total_seconds())
    unit, length = next((unit, length) for unit, length in UNITS.items() if seconds % length == 0)
    number = seconds // length
    return f"{number} {unit}{'s' if number > 1 else ''}"


def goes_with_user(table: Any) -> bool:
    """Return whether rows of a table are deleted with the user that they belong to."""
    keys = (
        key
        for name in ("user_id", "owner_id")
        for key in getattr(table.__table__.c.get(name), "foreign_keys", ())
    )
    return any(key.target_fullname == "user.id" and key.ondelete == "CASCADE" for key in keys)


def test_it_lists_every_table_once() -> None:
    assert sorted(name for name, _ in rows()) == sorted(TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_it_says_how_long_rows_are_kept(name: str) -> None:
    _, _, kept, *_ = ROWS[name]

    for retention in getattr(TABLES[name], "__retention__", ()):
        if isinstance(retention.keep, str):
            assert f"`{retention.keep}`" in kept
        elif retention.keep:
            assert in_words(retention.keep) in kept
        else:
            assert re.search(r"\buntil\b|`", kept)


@pytest.mark.parametrize("name", [name for name, table in TABLES.items() if hasattr(table, "__export__")])
def test_it_names_the_key_of_the_export(name: str) -> None:
    assert ROWS[name][0] == TABLES[name].__export__


@pytest.mark.parametrize("name", [name for name, table in TABLES.items() if goes_with_user(table)])
def test_it_says_what_is_deleted_with_the_user(name: str) -> None:
    assert ROWS[name][3].startswith("deleted")
