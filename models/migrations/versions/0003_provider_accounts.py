"""Tokens of external providers, and the stored data of a flow to a provider.

Adds only columns that may be NULL, so an older program keeps working with this schema.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

INSTANT = sa.BigInteger().with_variant(sa.DateTime(timezone=True), "postgresql")

TOKENS = ("access_token", "refresh_token", "id_token")
TEXTS = ("token_type", "scope")
INSTANTS = ("access_token_expires_at", "refresh_token_expires_at", "refresh_lease_until")


def upgrade() -> None:
    for name in TOKENS:
        op.add_column("account", sa.Column(name, sa.LargeBinary))
    for name in TEXTS:
        op.add_column("account", sa.Column(name, sa.String))
    for name in INSTANTS:
        op.add_column("account", sa.Column(name, INSTANT))
    op.add_column("grant", sa.Column("payload", sa.LargeBinary))


def downgrade() -> None:
    """An older program cannot complete a flow to a provider, so pending flows are deleted."""
    op.execute("DELETE FROM \"grant\" WHERE purpose = 'oauth-state'")
    op.drop_column("grant", "payload")
    for name in reversed((*TOKENS, *TEXTS, *INSTANTS)):
        op.drop_column("account", name)
