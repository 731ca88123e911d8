"""Endpoints of webhooks, the events that they receive, and the deliveries.

New tables; an older program goes on beside them.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"

INSTANT = sa.BigInteger().with_variant(sa.DateTime(timezone=True), "postgresql")
_ID = sa.String(32)
_IS_KEPT, _HAS_ENDED = sa.text("payload IS NOT NULL"), sa.text("ended_at IS NOT NULL")


def _times() -> list[sa.Column[Any]]:
    return [
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("updated_at", INSTANT, nullable=False),
    ]


def upgrade() -> None:
    op.create_table(
        "webhook_endpoint",
        *_times(),
        sa.Column("id", _ID, nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("description", sa.String()),
        sa.Column("events", sa.String(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("previous_secret", sa.LargeBinary()),
        sa.Column("previous_until", INSTANT),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("created_by", _ID),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failing_since", INSTANT),
        sa.Column("last_success_at", INSTANT),
        sa.Column("next_probe", INSTANT),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_endpoint"),
    )
    op.create_table(
        "webhook_event",
        *_times(),
        sa.Column("id", _ID, nullable=False),
        sa.Column("type", sa.String(64), nullable=False),
        sa.Column("payload", sa.LargeBinary()),
        sa.Column("user_id", _ID),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_event"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name="fk_webhook_event_user_id_user", ondelete="SET NULL"
        ),
    )
    op.create_index(
        "ix_webhook_event_payload",
        "webhook_event",
        ["created_at"],
        postgresql_where=_IS_KEPT,
        sqlite_where=_IS_KEPT,
    )
    op.create_index("ix_webhook_event_user_id", "webhook_event", ["user_id"])
    op.create_index("ix_webhook_event_expires_at", "webhook_event", ["expires_at"])
    op.create_table(
        "delivery",
        *_times(),
        sa.Column("id", _ID, nullable=False),
        sa.Column("event_id", _ID, nullable=False),
        sa.Column("endpoint_id", _ID, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt", INSTANT, nullable=False),
        sa.Column("lease_until", INSTANT),
        sa.Column("last_status", sa.Integer()),
        sa.Column("last_error", sa.String(16)),
        sa.Column("ended_at", INSTANT),
        sa.PrimaryKeyConstraint("id", name="pk_delivery"),
        sa.ForeignKeyConstraint(
            ["event_id"],
            ["webhook_event.id"],
            name="fk_delivery_event_id_webhook_event",
            ondelete="CASCADE",
        ),
    )
    for columns in (
        ["endpoint_id", "state", "next_attempt"],
        ["endpoint_id", "created_at", "id"],
        ["event_id"],
    ):
        op.create_index(f"ix_delivery_{'_'.join(columns)}", "delivery", columns)
    op.create_index(
        "ix_delivery_ended_at",
        "delivery",
        ["ended_at"],
        postgresql_where=_HAS_ENDED,
        sqlite_where=_HAS_ENDED,
    )


def downgrade() -> None:
    for table in ("delivery", "webhook_event", "webhook_endpoint"):
        op.drop_table(table)
