"""Indexes of users, for the lists of administrators.

Adds only indexes. A start and `gatewright migrate` build them on PostgreSQL before, while users are changed.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

NEEDS = "0001"
"""The revision that brings the columns of the indexes."""

_BANNED = sa.text("banned")
_INDEXES: dict[str, tuple[str, list[Any], Any]] = {
    "ix_user_created_at_id": ("user", ["created_at", "id"], None),
    "ix_user_updated_at_id": ("user", ["updated_at", "id"], None),
    "ix_user_role_created_at_id": ("user", ["role", "created_at", "id"], None),
    "ix_user_ban_expires_id": ("user", ["ban_expires", "id"], _BANNED),
}
INDEXES: dict[str, tuple[str, list[Any], Any]] = {
    **_INDEXES,
    "ix_user_name_id": ("user", [sa.text("lower(name)"), "id"], None),
    "ix_user_email_pattern": ("user", [sa.text("email text_pattern_ops")], None),
    "ix_user_name_pattern": ("user", [sa.text("lower(name) text_pattern_ops")], None),
}
"""Table, columns and condition of the indexes of PostgreSQL, by name."""

_SQLITE: dict[str, tuple[str, list[Any], Any]] = {
    **_INDEXES,
    "ix_user_name_id": ("user", [sa.text("name COLLATE NOCASE"), "id"], None),
}


def upgrade() -> None:
    for name, (table, columns, where) in _all().items():
        op.create_index(name, table, columns, postgresql_where=where, sqlite_where=where, if_not_exists=True)


def downgrade() -> None:
    for name, (table, _, _) in _all().items():
        op.drop_index(name, table)


def _all() -> dict[str, tuple[str, list[Any], Any]]:
    return INDEXES if op.get_context().dialect.name == "postgresql" else _SQLITE
