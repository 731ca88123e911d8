"""The language of a user, for pages and emails.

One new column without a value; an older program continues to work without it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("user", sa.Column("locale", sa.String))


def downgrade() -> None:
    op.drop_column("user", "locale")
