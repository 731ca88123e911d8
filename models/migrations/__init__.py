"""The migrations of the database schema: Alembic's environment and the numbered versions."""
