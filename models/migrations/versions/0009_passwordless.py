"""Sign-in by mail: find links and codes by their address, to delete them when it signs in or changes.

Few rows have an address, so the index is partial. The index of sessions is the one that 0008 leaves on PostgreSQL.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

NEEDS = "0008"
"""The revision that brings the columns of the indexes."""

INDEXES = {
    "ix_session_impersonator_session_id": (
        "session",
        ["impersonator_session_id"],
        sa.text("impersonator_session_id IS NOT NULL"),
    ),
    "ix_grant_email": ("grant", ["email"], sa.text("email IS NOT NULL")),
}
"""Table, columns and condition of the indexes, by name."""

_GRANT = sa.table("grant", sa.column("purpose"))
_PURPOSES = ("magic-link", "code-sign-in", "code-verify", "code-reset", "code-change")


def upgrade() -> None:
    for name, (table, columns, where) in INDEXES.items():
        op.create_index(name, table, columns, postgresql_where=where, sqlite_where=where, if_not_exists=True)


def downgrade() -> None:
    """An older program does not know these purposes, so their rows are deleted."""
    op.execute(sa.delete(_GRANT).where(_GRANT.c.purpose.in_(_PURPOSES)))
    op.drop_index("ix_grant_email", "grant")
