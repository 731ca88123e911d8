"""The schema: Alembic's environment and the numbered migrations."""
