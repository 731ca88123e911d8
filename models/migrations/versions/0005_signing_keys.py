"""Keys that sign tokens for other services.

One new table; an older program continues to work and signs no tokens.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

INSTANT = sa.BigInteger().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "signing_key",
        sa.Column("kid", sa.String(43), nullable=False),
        sa.Column("algorithm", sa.String, nullable=False),
        sa.Column("public_jwk", sa.String, nullable=False),
        sa.Column("private_jwk", sa.LargeBinary),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("signs_from", INSTANT, nullable=False),
        sa.Column("signs_until", INSTANT),
        sa.Column("published_until", INSTANT),
        sa.Column("revoked_at", INSTANT),
        sa.PrimaryKeyConstraint("kid", name="pk_signing_key"),
    )
    op.create_index("ix_signing_key_algorithm_signs_from", "signing_key", ["algorithm", "signs_from"])


def downgrade() -> None:
    op.drop_table("signing_key")
