"""The connection to an identity provider in whose session a user has connected an application.

A column that may be empty; an older program goes on and leaves it so. SQLite copies the table.
"""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"

_KEY = "fk_oauth_grant_connection_id_sso_connection"
_INDEX = "ix_oauth_grant_connection_id"
_FILLED = sa.text("connection_id IS NOT NULL")


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        # In one statement: PostgreSQL checks no rows for the key of a column that it adds.
        op.execute(
            "ALTER TABLE oauth_grant ADD COLUMN connection_id VARCHAR(32)"
            f" CONSTRAINT {_KEY} REFERENCES sso_connection (id) ON DELETE CASCADE"
        )
    else:
        with op.batch_alter_table("oauth_grant") as oauth_grant:
            oauth_grant.add_column(sa.Column("connection_id", sa.String(32)))
            oauth_grant.create_foreign_key(
                _KEY, "sso_connection", ["connection_id"], ["id"], ondelete="CASCADE"
            )
    op.create_index(_INDEX, "oauth_grant", ["connection_id"], postgresql_where=_FILLED, sqlite_where=_FILLED)


def downgrade() -> None:
    op.drop_index(_INDEX, "oauth_grant")
    with op.batch_alter_table("oauth_grant") as oauth_grant:
        oauth_grant.drop_constraint(_KEY, type_="foreignkey")
        oauth_grant.drop_column("connection_id")
