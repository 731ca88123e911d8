"""API keys of organizations.

A key belongs either to a user or to an organization, which a constraint ensures. PostgreSQL checks the keys that exist
in 0019, while they are used. An older program continues to work and does not know the keys of organizations. SQLite
copies the table.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

OWNER = "(user_id IS NULL) <> (organization_id IS NULL)"

_CHECK = "ck_api_key_owner"
_ORGANIZATION_KEY = "fk_api_key_organization_id_organization"


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        # In one statement: PostgreSQL checks no rows for the key of a column that it adds.
        op.execute(
            "ALTER TABLE api_key ADD COLUMN organization_id VARCHAR(32)"
            f" CONSTRAINT {_ORGANIZATION_KEY} REFERENCES organization (id) ON DELETE CASCADE"
        )
        op.alter_column("api_key", "user_id", nullable=True)
        op.execute(f"ALTER TABLE api_key ADD CONSTRAINT {_CHECK} CHECK ({OWNER}) NOT VALID")
        return
    with op.batch_alter_table("api_key") as api_key:
        api_key.add_column(sa.Column("organization_id", sa.String(32)))
        api_key.alter_column("user_id", existing_type=sa.String(32), nullable=True)
        api_key.create_foreign_key(
            _ORGANIZATION_KEY, "organization", ["organization_id"], ["id"], ondelete="CASCADE"
        )
        api_key.create_check_constraint(_CHECK, OWNER)


def downgrade() -> None:
    op.execute("DELETE FROM api_key WHERE user_id IS NULL")
    with op.batch_alter_table("api_key") as api_key:
        api_key.drop_constraint(_CHECK, type_="check")
        api_key.drop_constraint(_ORGANIZATION_KEY, type_="foreignkey")
        api_key.alter_column("user_id", existing_type=sa.String(32), nullable=False)
        api_key.drop_column("organization_id")
