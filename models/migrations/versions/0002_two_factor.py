"""The second factor: secrets, backup codes, trusted devices, and columns of `grant` for challenges and email codes.

No existing column changes its meaning, and the one new column of `grant` that is NOT NULL has a default, so an older
program keeps working with this schema.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

INSTANT = sa.BigInteger().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    op.add_column("grant", sa.Column("code", sa.LargeBinary))
    op.add_column("grant", sa.Column("binding", sa.LargeBinary))
    op.add_column("grant", sa.Column("remembered", sa.Boolean))
    op.add_column("grant", sa.Column("attempts", sa.Integer, nullable=False, server_default="0"))
    _create_two_factor()
    _create_backup_code()
    _create_trusted_device()


def downgrade() -> None:
    """An older program does not know challenges and email codes; dropping the tables deletes the other rows."""
    for table in ("trusted_device", "backup_code", "two_factor"):
        op.drop_table(table)
    op.execute("DELETE FROM \"grant\" WHERE purpose IN ('challenge', 'mail-code')")
    for column in ("attempts", "remembered", "binding", "code"):
        op.drop_column("grant", column)


def _timestamps() -> list[sa.Column[int]]:
    return [
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("updated_at", INSTANT, nullable=False),
    ]


def _belongs_to_user(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["user_id"], ["user.id"], name=f"fk_{table}_user_id_user", ondelete="CASCADE"
    )


def _create_two_factor() -> None:
    op.create_table(
        "two_factor",
        *_timestamps(),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("secret", sa.LargeBinary),
        sa.Column("confirmed", sa.Boolean, nullable=False),
        sa.Column("issuer", sa.String),
        sa.Column("last_step", sa.Integer),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("locked_until", INSTANT),
        sa.Column("new_secret", sa.LargeBinary),
        sa.Column("new_issuer", sa.String),
        sa.PrimaryKeyConstraint("user_id", name="pk_two_factor"),
        _belongs_to_user("two_factor"),
    )


def _create_backup_code() -> None:
    op.create_table(
        "backup_code",
        *_timestamps(),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("set_id", sa.String(32), nullable=False),
        sa.Column("live", sa.Boolean, nullable=False),
        sa.Column("salt", sa.LargeBinary, nullable=False),
        sa.Column("params", sa.String, nullable=False),
        sa.Column("code", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_backup_code"),
        sa.UniqueConstraint("set_id", "code", name="uq_backup_code_set_id_code"),
        _belongs_to_user("backup_code"),
    )
    op.create_index("ix_backup_code_user_id", "backup_code", ["user_id"])


def _create_trusted_device() -> None:
    op.create_table(
        "trusted_device",
        *_timestamps(),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_trusted_device"),
        sa.UniqueConstraint("digest", name="uq_trusted_device_digest"),
        _belongs_to_user("trusted_device"),
    )
    op.create_index("ix_trusted_device_user_id", "trusted_device", ["user_id"])
    op.create_index("ix_trusted_device_expires_at", "trusted_device", ["expires_at"])
