"""Indexes of audit records, for searches by event, network address, outcome, actor and typed identifier.

Adds only indexes. A start and `gatewright migrate` build them on PostgreSQL before, while records are written.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

NEEDS = "0004"
"""The revision that brings the columns of the indexes."""

_INDEXES: dict[str, tuple[str, list[Any], Any]] = {
    "ix_audit_event_time": ("audit", ["event", "time"], None),
    "ix_audit_address_time": ("audit", ["address", "time"], None),
    "ix_audit_outcome_time": ("audit", ["outcome", "time"], sa.text("outcome <> 'success'")),
    "ix_audit_hint_time": ("audit", ["hint", "time"], sa.text("hint IS NOT NULL")),
}
_ACTOR = "ix_audit_actor_id_time"
INDEXES: dict[str, tuple[str, list[Any], Any]] = {
    **_INDEXES,
    _ACTOR: ("audit", ["actor_id", "time"], sa.text("user_id IS DISTINCT FROM actor_id")),
}
"""Table, columns and condition of the indexes of PostgreSQL, by name."""

_SQLITE: dict[str, tuple[str, list[Any], Any]] = {
    **_INDEXES,
    _ACTOR: ("audit", ["actor_id", "time"], sa.text("user_id IS NOT actor_id")),
}


def upgrade() -> None:
    for name, (table, columns, where) in _all().items():
        op.create_index(name, table, columns, postgresql_where=where, sqlite_where=where, if_not_exists=True)


def downgrade() -> None:
    for name, (table, _, _) in _all().items():
        op.drop_index(name, table)


def _all() -> dict[str, tuple[str, list[Any], Any]]:
    return INDEXES if op.get_context().dialect.name == "postgresql" else _SQLITE
