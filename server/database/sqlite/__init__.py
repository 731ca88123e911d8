"""What is particular to SQLite: its connection, group commit, reads."""
