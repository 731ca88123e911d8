"""Passkeys, and what was proved when a session was created.

One new table. The new column of sessions has a default, so that an older program beside this one goes on writing them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

INSTANT = sa.BigInteger().with_variant(sa.DateTime(timezone=True), "postgresql")
_GRANT = sa.table("grant", sa.column("purpose"))


def upgrade() -> None:
    op.create_table(
        "passkey",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("name", sa.String),
        sa.Column("credential_id", sa.LargeBinary, nullable=False),
        sa.Column("public_key", sa.LargeBinary, nullable=False),
        sa.Column("algorithm", sa.Integer, nullable=False),
        sa.Column("counter", sa.BigInteger, nullable=False),
        sa.Column("device_type", sa.String, nullable=False),
        sa.Column("backed_up", sa.Boolean, nullable=False),
        sa.Column("transports", sa.String),
        sa.Column("aaguid", sa.String),
        sa.Column("rp_id", sa.String, nullable=False),
        sa.Column("user_handle", sa.LargeBinary),
        sa.Column("last_used_at", INSTANT),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("updated_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_passkey"),
        sa.UniqueConstraint("credential_id", name="uq_passkey_credential_id"),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name="fk_passkey_user_id_user", ondelete="CASCADE"),
    )
    op.create_index("ix_passkey_user_id", "passkey", ["user_id"])
    op.add_column("session", sa.Column("amr", sa.String, nullable=False, server_default=sa.text("''")))


def downgrade() -> None:
    """An older program does not know the purposes of the challenges, so their rows are deleted."""
    op.execute(sa.delete(_GRANT).where(_GRANT.c.purpose.in_(("passkey-register", "passkey-sign-in"))))
    op.drop_column("session", "amr")
    op.drop_table("passkey")
