"""API keys.

One new table; an older program continues to work and verifies no keys.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

INSTANT = sa.BigInteger().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "api_key",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("created_by", sa.String(32)),
        sa.Column("name", sa.String),
        sa.Column("prefix", sa.String),
        sa.Column("start", sa.String),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("expires_at", INSTANT),
        sa.Column("last_request", INSTANT),
        sa.Column("remaining", sa.BigInteger),
        sa.Column("refill_amount", sa.BigInteger),
        sa.Column("refill_interval_ms", sa.BigInteger),
        sa.Column("last_refill_at", INSTANT),
        sa.Column("rate_limit_enabled", sa.Boolean, nullable=False),
        sa.Column("rate_limit_window_ms", sa.BigInteger, nullable=False),
        sa.Column("rate_limit_max", sa.BigInteger, nullable=False),
        sa.Column("request_count", sa.BigInteger, nullable=False),
        sa.Column("window_start", INSTANT),
        sa.Column("permissions", sa.String),
        sa.Column("custom_data", sa.String),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("updated_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_api_key"),
        sa.UniqueConstraint("digest", name="uq_api_key_digest"),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name="fk_api_key_user_id_user", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["created_by"], ["user.id"], name="fk_api_key_created_by_user", ondelete="SET NULL"
        ),
    )
    op.create_index("ix_api_key_user_id_created_at", "api_key", ["user_id", "created_at"])
    for column in ("expires_at", "created_by"):
        is_set = sa.text(f"{column} IS NOT NULL")
        op.create_index(
            f"ix_api_key_{column}", "api_key", [column], postgresql_where=is_set, sqlite_where=is_set
        )


def downgrade() -> None:
    op.drop_table("api_key")
