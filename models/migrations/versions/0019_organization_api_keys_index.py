"""The index of the API keys of organizations, and the check of existing keys.

A start and `gatewright migrate` do both on PostgreSQL before, while keys are used.
"""

from typing import Any

from alembic import op

revision = "0019"
down_revision = "0018"

NEEDS = "0018"
"""The revision that brings the columns of the indexes."""

INDEXES: dict[str, tuple[str, list[Any], Any]] = {
    "ix_api_key_organization_id_created_at": ("api_key", ["organization_id", "created_at"], None)
}
"""Table, columns and condition of the indexes, by name."""

BACKFILL = "ALTER TABLE api_key VALIDATE CONSTRAINT ck_api_key_owner"
"""Reads all keys, unless they were checked before."""


def upgrade() -> None:
    for name, (table, columns, where) in INDEXES.items():
        op.create_index(name, table, columns, postgresql_where=where, sqlite_where=where, if_not_exists=True)
    if op.get_context().dialect.name == "postgresql":
        op.execute(BACKFILL)


def downgrade() -> None:
    for name, (table, _, _) in INDEXES.items():
        op.drop_index(name, table)
