"""Sessions that administrators open in the name of users.

`impersonated_by` refers to a user now, and a new column to the administrator's session; nothing has written the first
before. An older program beside this one would not check such sessions: switch impersonation on after it has stopped.
SQLite copies the table, because it adds foreign keys in no other way. On PostgreSQL no row is read while the table is
locked: the new column is empty, and the index of the other one exists by then. The index of the new column follows in
0009, where it can be built while sessions are used.
"""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

NEEDS = "0001"
"""The revision that brings the columns of the indexes."""

INDEXES = {
    "ix_session_impersonated_by": ("session", ["impersonated_by"], sa.text("impersonated_by IS NOT NULL"))
}
"""Table, columns and condition of the indexes of PostgreSQL, by name."""

_OTHER = {
    "ix_session_impersonator_session_id": (
        "session",
        ["impersonator_session_id"],
        sa.text("impersonator_session_id IS NOT NULL"),
    )
}
_KEY, _OTHER_KEY = "fk_session_impersonated_by_user", "fk_session_impersonator_session_id_session"


def upgrade() -> None:
    is_postgresql = op.get_context().dialect.name == "postgresql"
    if is_postgresql:
        _create_indexes(INDEXES)
        # In one statement: PostgreSQL checks no rows for the key of a column that it adds.
        op.execute(
            "ALTER TABLE session ADD COLUMN impersonator_session_id VARCHAR(32)"
            f" CONSTRAINT {_OTHER_KEY} REFERENCES session (id) ON DELETE CASCADE"
        )
        op.create_foreign_key(_KEY, "session", "user", ["impersonated_by"], ["id"], ondelete="CASCADE")
        return
    with op.batch_alter_table("session") as session:
        session.add_column(sa.Column("impersonator_session_id", sa.String(32)))
        session.create_foreign_key(_KEY, "user", ["impersonated_by"], ["id"], ondelete="CASCADE")
        session.create_foreign_key(
            _OTHER_KEY, "session", ["impersonator_session_id"], ["id"], ondelete="CASCADE"
        )
    _create_indexes({**INDEXES, **_OTHER})


def _create_indexes(indexes: Mapping[str, tuple[str, list[str], Any]]) -> None:
    for name, (table, columns, where) in indexes.items():
        op.create_index(name, table, columns, postgresql_where=where, sqlite_where=where, if_not_exists=True)


def downgrade() -> None:
    """An older program would not end such sessions, so they are deleted."""
    op.execute("DELETE FROM session WHERE impersonated_by IS NOT NULL")
    for name in (*INDEXES, *_OTHER):
        op.drop_index(name, "session", if_exists=True)
    with op.batch_alter_table("session") as session:
        for key in (_KEY, _OTHER_KEY):
            session.drop_constraint(key, type_="foreignkey")
        session.drop_column("impersonator_session_id")
