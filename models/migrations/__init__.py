"""The schema, step by step: Alembic's environment and the numbered migrations."""
