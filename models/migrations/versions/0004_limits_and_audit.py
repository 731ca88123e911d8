"""Counters of the limits, the networks a user signed in from, and the audit records.

Adds only tables; an older program keeps working with this schema, but neither counts nor records.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

INSTANT = sa.BigInteger().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    _create_counter()
    _create_known_network()
    _create_audit()


def downgrade() -> None:
    for table in ("audit", "known_network", "counter"):
        op.drop_table(table)


def _create_counter() -> None:
    op.create_table(
        "counter",
        sa.Column("key", sa.LargeBinary, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("window_end", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_counter"),
    )
    op.create_index("ix_counter_window_end", "counter", ["window_end"])


def _create_known_network() -> None:
    op.create_table(
        "known_network",
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("network", sa.LargeBinary, nullable=False),
        sa.Column("last_success", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "network", name="pk_known_network"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name="fk_known_network_user_id_user", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_known_network_network", "known_network", ["network"])
    op.create_index("ix_known_network_last_success", "known_network", ["last_success"])


def _create_audit() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("time", INSTANT, nullable=False),
        sa.Column("event", sa.String, nullable=False),
        sa.Column("outcome", sa.String, nullable=False),
        sa.Column("code", sa.String),
        sa.Column("user_id", sa.String(32)),
        sa.Column("hint", sa.String),
        sa.Column("actor_id", sa.String(32)),
        sa.Column("session_id", sa.String(32)),
        sa.Column("method", sa.String),
        sa.Column("address", sa.String),
        sa.Column("user_agent", sa.String),
        sa.Column("request_id", sa.String),
        sa.Column("details", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_time", "audit", ["time"])
    op.create_index("ix_audit_user_id_time", "audit", ["user_id", "time"])
