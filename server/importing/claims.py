"""What the rows of a dry run would have taken, kept on disk: millions of users need no more memory than one.

It stands in a file of its own that nobody else sees and that goes with the run, so its two statements are plain SQL.
"""

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_AT_ONCE = 500


class Claims:
    """Who would have what, by the keys of `domain.newcomers.Known`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Take a connection to an empty database."""
        self._connection = connection
        connection.execute("CREATE TABLE claim (key TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID")

    def find(self, keys: Sequence[str]) -> dict[str, str]:
        """Give the owners of those keys that are taken."""
        found: dict[str, str] = {}
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            places = ",".join("?" * len(part))
            found |= self._connection.execute(
                f"SELECT key, owner FROM claim WHERE key IN ({places})",  # noqa: S608 - question marks alone
                part,
            ).fetchall()
        return found

    def keep(self, claims: Mapping[str, str]) -> None:
        """Note what a batch would have taken."""
        self._connection.executemany("INSERT OR REPLACE INTO claim VALUES (?, ?)", claims.items())


@contextmanager
def claims() -> Iterator[Claims]:
    """Give an empty store that is thrown away at the end."""
    with tempfile.TemporaryDirectory(prefix="gatewright-import-") as folder:
        connection = sqlite3.connect(Path(folder) / "claims.db", isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            yield Claims(connection)
        finally:
            connection.close()
