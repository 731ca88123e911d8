"""The index of the active team of sessions.

Adds only an index. A start and `gatewright migrate` build it on PostgreSQL before, while sessions are used.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

NEEDS = "0016"
"""The revision that brings the columns of the indexes."""

INDEXES: dict[str, tuple[str, list[Any], Any]] = {
    "ix_session_active_team_id": ("session", ["active_team_id"], sa.text("active_team_id IS NOT NULL"))
}
"""Table, columns and condition of the indexes, by name."""


def upgrade() -> None:
    for name, (table, columns, where) in INDEXES.items():
        op.create_index(name, table, columns, postgresql_where=where, sqlite_where=where, if_not_exists=True)


def downgrade() -> None:
    for name, (table, _, _) in INDEXES.items():
        op.drop_index(name, table)
