"""Indexes of API keys, for the list of the keys of all users.

Adds only indexes. A start and `gatewright migrate` build them on PostgreSQL before, while keys are used.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

NEEDS = "0007"
"""The revision that brings the columns of the indexes."""

_INDEXES: dict[str, tuple[str, list[Any], Any]] = {
    "ix_api_key_created_at_id": ("api_key", ["created_at", "id"], None),
}
_START = "ix_api_key_start"
INDEXES: dict[str, tuple[str, list[Any], Any]] = {
    **_INDEXES,
    _START: ("api_key", [sa.text("start text_pattern_ops")], None),
}
"""Table, columns and condition of the indexes of PostgreSQL, by name."""

_SQLITE: dict[str, tuple[str, list[Any], Any]] = {**_INDEXES, _START: ("api_key", ["start"], None)}


def upgrade() -> None:
    for name, (table, columns, where) in _all().items():
        op.create_index(name, table, columns, postgresql_where=where, sqlite_where=where, if_not_exists=True)


def downgrade() -> None:
    for name, (table, _, _) in _all().items():
        op.drop_index(name, table)


def _all() -> dict[str, tuple[str, list[Any], Any]]:
    return INDEXES if op.get_context().dialect.name == "postgresql" else _SQLITE
