"""Indexes of users, for the lists of administrators.

Adds only indexes; changes of users wait while PostgreSQL builds them.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_INDEXES: dict[str, list[Any]] = {
    "ix_user_created_at_id": ["created_at", "id"],
    "ix_user_updated_at_id": ["updated_at", "id"],
    "ix_user_role_created_at_id": ["role", "created_at", "id"],
}
_POSTGRESQL: dict[str, list[Any]] = {
    "ix_user_name_id": [sa.text("lower(name)"), "id"],
    "ix_user_email_pattern": [sa.text("email text_pattern_ops")],
    "ix_user_name_pattern": [sa.text("lower(name) text_pattern_ops")],
}
_SQLITE: dict[str, list[Any]] = {"ix_user_name_id": [sa.text("name COLLATE NOCASE"), "id"]}


def upgrade() -> None:
    banned = sa.text("banned")
    for name, columns in _all().items():
        op.create_index(name, "user", columns)
    op.create_index(
        "ix_user_ban_expires_id", "user", ["ban_expires", "id"], postgresql_where=banned, sqlite_where=banned
    )


def downgrade() -> None:
    for name in (*_all(), "ix_user_ban_expires_id"):
        op.drop_index(name, "user")


def _all() -> dict[str, list[Any]]:
    is_postgresql = op.get_context().dialect.name == "postgresql"
    return {**_INDEXES, **(_POSTGRESQL if is_postgresql else _SQLITE)}
