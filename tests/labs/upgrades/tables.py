"""The rows of all tables, to see whether an upgrade has kept them."""

from collections.abc import Mapping

from tests.labs.faults.places import Place

NAMES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    "postgresql": "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'",
}
KEYS = {
    "outbox": ("id",),
    "lease": ("name",),
    "instance": ("id",),
    "webhook_endpoint": ("id", "url", "events", "secret"),
    "delivery": ("id",),
    "logout_delivery": ("id", "client_id", "sid"),
    "daily_count": ("day", "event", "way_in", "code"),
}
"""The tables whose rows processes change by themselves, each with the columns that stay."""

Rows = frozenset[tuple[tuple[str, str], ...]]
"""Rows as pairs of a column and its value as text."""


async def rows_of(place: Place) -> dict[str, Rows]:
    """Return the rows of all tables, with the columns that no process changes by itself."""
    names = [str(row[0]) for row in await place.rows(NAMES[place.url.partition(":")[0]])]
    return {name: await _rows(place, name) for name in sorted(names) if name != "alembic_version"}


async def _rows(place: Place, table: str) -> Rows:
    columns = ", ".join(f'"{name}"' for name in KEYS.get(table, ())) or "*"
    found = await place.rows(f'SELECT {columns} FROM "{table}"')
    return frozenset(
        tuple(sorted((name, repr(value)) for name, value in row._mapping.items())) for row in found
    )


def lost(before: Mapping[str, Rows], after: Mapping[str, Rows]) -> list[str]:
    """Return the rows of `before` that are not in `after` or have other values there, in the columns of both."""
    return [f"{table}: {row}" for table, rows in before.items() for row in _missing(rows, after[table])]


def _missing(before: Rows, after: Rows) -> Rows:
    columns = _columns(before) & _columns(after)
    return _with(columns, before) - _with(columns, after)


def _columns(rows: Rows) -> set[str]:
    return {name for row in rows for name, _ in row}


def _with(columns: set[str], rows: Rows) -> Rows:
    return frozenset(tuple((name, value) for name, value in row if name in columns) for row in rows)
