"""Single statements outside any transaction, without the ORM: the `Reads` of domain/ports.py on both databases."""

from server.reads.postgresql import PostgresqlReads
from server.reads.sqlite import SqliteReads

__all__ = ["PostgresqlReads", "SqliteReads"]
