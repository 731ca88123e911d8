"""Sign-in by mail: find links and codes by their address, to delete them when it signs in or changes.

Few rows have an address, so the index is partial.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_GRANT = sa.table("grant", sa.column("purpose"))
_PURPOSES = ("magic-link", "code-sign-in", "code-verify", "code-reset", "code-change")


def upgrade() -> None:
    where = sa.text("email IS NOT NULL")
    op.create_index("ix_grant_email", "grant", ["email"], postgresql_where=where, sqlite_where=where)


def downgrade() -> None:
    """An older program does not know these purposes, so their rows are deleted."""
    op.execute(sa.delete(_GRANT).where(_GRANT.c.purpose.in_(_PURPOSES)))
    op.drop_index("ix_grant_email", "grant")
