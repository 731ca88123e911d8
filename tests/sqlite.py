"""A SQLite file that another process uses, too."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path


@contextmanager
def locked(file: Path | str) -> Iterator[None]:
    """Hold the lock for writing, as another process would."""
    with closing(sqlite3.connect(file, isolation_level=None, timeout=60)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
