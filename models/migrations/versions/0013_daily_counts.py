"""How many audit events of a kind each day had.

One new table; an older program goes on beside it and counts nothing.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

INSTANT = sa.BigInteger().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "daily_count",
        sa.Column("day", INSTANT, nullable=False),
        sa.Column("event", sa.String, nullable=False),
        sa.Column("way_in", sa.String, nullable=False),
        sa.Column("code", sa.String, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("day", "event", "way_in", "code", name="pk_daily_count"),
    )


def downgrade() -> None:
    op.drop_table("daily_count")
