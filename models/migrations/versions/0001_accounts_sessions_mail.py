"""Users, their accounts and sessions, one-time tokens, the mail outbox, and leases.

The first migration: it needs an empty database; the downgrade leaves an empty one. All data of a user is deleted with
the user. Times are integer milliseconds on SQLite, which has no time type, and TIMESTAMPTZ on PostgreSQL. Columns of
later features come with those features.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

INSTANT = sa.BigInteger().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    _create_user()
    _create_account()
    _create_session()
    _create_grant()
    _create_outbox()
    _create_lease()


def downgrade() -> None:
    for table in ("lease", "outbox", "grant", "session", "account", "user"):
        op.drop_table(table)


def _timestamps() -> list[sa.Column[int]]:
    return [
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("updated_at", INSTANT, nullable=False),
    ]


def _belongs_to_user(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["user_id"], ["user.id"], name=f"fk_{table}_user_id_user", ondelete="CASCADE"
    )


def _create_user() -> None:
    op.create_table(
        "user",
        *_timestamps(),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("email", sa.String, nullable=False),
        sa.Column("email_verified", sa.Boolean, nullable=False),
        sa.Column("image", sa.String),
        sa.Column("username", sa.String),
        sa.Column("display_username", sa.String),
        sa.Column("two_factor_enabled", sa.Boolean, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("banned", sa.Boolean, nullable=False),
        sa.Column("ban_reason", sa.String),
        sa.Column("ban_expires", INSTANT),
        sa.PrimaryKeyConstraint("id", name="pk_user"),
        sa.UniqueConstraint("email", name="uq_user_email"),
        sa.UniqueConstraint("username", name="uq_user_username"),
    )


def _create_account() -> None:
    op.create_table(
        "account",
        *_timestamps(),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("provider_id", sa.String, nullable=False),
        sa.Column("issuer", sa.String, nullable=False),
        sa.Column("account_id", sa.String, nullable=False),
        sa.Column("password", sa.String),
        sa.PrimaryKeyConstraint("id", name="pk_account"),
        sa.UniqueConstraint(
            "provider_id", "issuer", "account_id", name="uq_account_provider_id_issuer_account_id"
        ),
        _belongs_to_user("account"),
    )
    op.create_index("ix_account_user_id", "account", ["user_id"])


def _create_session() -> None:
    op.create_table(
        "session",
        *_timestamps(),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("token_digest", sa.LargeBinary, nullable=False),
        sa.Column("token_copy", sa.LargeBinary),
        sa.Column("remembered", sa.Boolean, nullable=False),
        sa.Column("method", sa.String, nullable=False),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.Column("ip_address", sa.String),
        sa.Column("user_agent", sa.String),
        sa.Column("impersonated_by", sa.String),
        sa.Column("active_organization_id", sa.String),
        sa.PrimaryKeyConstraint("id", name="pk_session"),
        sa.UniqueConstraint("token_digest", name="uq_session_token_digest"),
        _belongs_to_user("session"),
    )
    op.create_index("ix_session_user_id", "session", ["user_id"])
    op.create_index("ix_session_expires_at", "session", ["expires_at"])


def _create_grant() -> None:
    op.create_table(
        "grant",
        *_timestamps(),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("purpose", sa.String, nullable=False),
        sa.Column("user_id", sa.String(32)),
        sa.Column("email", sa.String),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_grant"),
        _belongs_to_user("grant"),
    )
    op.create_index("ix_grant_user_id_purpose", "grant", ["user_id", "purpose"])
    op.create_index("ix_grant_expires_at", "grant", ["expires_at"])


def _create_outbox() -> None:
    op.create_table(
        "outbox",
        *_timestamps(),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("template", sa.String, nullable=False),
        sa.Column("sender", sa.String, nullable=False),
        sa.Column("user_id", sa.String(32)),
        sa.Column("payload", sa.LargeBinary),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_attempt", INSTANT, nullable=False),
        sa.Column("lease_until", INSTANT),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.Column("last_error", sa.String),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
        _belongs_to_user("outbox"),
    )
    op.create_index("ix_outbox_user_id", "outbox", ["user_id"])
    op.create_index("ix_outbox_state_next_attempt", "outbox", ["state", "next_attempt"])


def _create_lease() -> None:
    op.create_table(
        "lease",
        sa.Column("name", sa.String, nullable=False),
        sa.Column("holder", sa.String, nullable=False),
        sa.Column("until", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_lease"),
    )
