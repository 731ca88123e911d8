"""Processes of the service.

One new table; an older program continues to work and is not listed.
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"

INSTANT = sa.BigInteger().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "instance",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("host", sa.String, nullable=False),
        sa.Column("process", sa.Integer, nullable=False),
        sa.Column("version", sa.String, nullable=False),
        sa.Column("started_at", INSTANT, nullable=False),
        sa.Column("last_seen_at", INSTANT, nullable=False),
        sa.Column("settings", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_instance"),
    )
    op.create_index("ix_instance_last_seen_at", "instance", ["last_seen_at"])


def downgrade() -> None:
    op.drop_table("instance")
