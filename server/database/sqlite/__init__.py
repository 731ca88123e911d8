"""The SQLite backend: connection, group commit, reads."""
