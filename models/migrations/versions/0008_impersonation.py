"""Sessions that administrators open in the name of users.

`impersonated_by` refers to a user now, and a new column to the administrator's session; nothing has written the first
before. An older program beside this one would not check such sessions: switch impersonation on after it has stopped.
SQLite copies the table, because it adds foreign keys in no other way.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_REFERENCES = {"impersonated_by": "user", "impersonator_session_id": "session"}


def upgrade() -> None:
    with op.batch_alter_table("session") as session:
        session.add_column(sa.Column("impersonator_session_id", sa.String(32)))
        for column, table in _REFERENCES.items():
            session.create_foreign_key(_key(column), table, [column], ["id"], ondelete="CASCADE")
    for column in _REFERENCES:
        where = sa.text(f"{column} IS NOT NULL")
        op.create_index(
            f"ix_session_{column}", "session", [column], postgresql_where=where, sqlite_where=where
        )


def downgrade() -> None:
    """An older program would not end such sessions, so they are deleted."""
    op.execute("DELETE FROM session WHERE impersonated_by IS NOT NULL")
    with op.batch_alter_table("session") as session:
        for column in _REFERENCES:
            session.drop_index(f"ix_session_{column}")
            session.drop_constraint(_key(column), type_="foreignkey")
        session.drop_column("impersonator_session_id")


def _key(column: str) -> str:
    return f"fk_session_{column}_{_REFERENCES[column]}"
