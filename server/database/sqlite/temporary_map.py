"""A temporary map of texts on disk: the memory does not grow with the number of entries."""

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_AT_ONCE = 500
"""Keys that one statement looks up."""


class TemporaryMap:
    """A map from text to text in a temporary SQLite file. No other process uses the file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Create the table of the map; `connection` is to an empty database."""
        self._connection = connection
        connection.execute("CREATE TABLE entry (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")

    def find(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the values of the keys that are in the map, by key."""
        values: dict[str, str] = {}
        for start in range(0, len(keys), _AT_ONCE):
            batch = keys[start : start + _AT_ONCE]
            places = ",".join("?" * len(batch))
            values |= self._connection.execute(
                f"SELECT key, value FROM entry WHERE key IN ({places})",  # noqa: S608 - question marks alone
                batch,
            ).fetchall()
        return values

    def update(self, entries: Mapping[str, str]) -> None:
        """Add entries, or replace those with the same key."""
        self._connection.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?)", entries.items())


@contextmanager
def temporary_map() -> Iterator[TemporaryMap]:
    """Yield an empty map; its file is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="gatewright-") as folder:
        connection = sqlite3.connect(Path(folder) / "map.db", isolation_level=None)
        try:
            # The file is deleted at the end, so it needs neither rollback nor durability.
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            yield TemporaryMap(connection)
        finally:
            connection.close()
