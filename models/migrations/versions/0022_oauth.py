"""Clients of the OAuth and OpenID Connect provider, and what they were granted.

New tables; an older program goes on beside them.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"

INSTANT = sa.BigInteger().with_variant(sa.DateTime(timezone=True), "postgresql")
_ID, _CLIENT_ID = sa.String(32), sa.String(512)


def _times() -> list[sa.Column[Any]]:
    return [
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("updated_at", INSTANT, nullable=False),
    ]


def upgrade() -> None:
    op.create_table(
        "initial_access_token",
        *_times(),
        sa.Column("id", _ID, nullable=False),
        sa.Column("token", sa.LargeBinary(), nullable=False),
        sa.Column("label", sa.String(64), nullable=False),
        sa.Column("uses_left", sa.Integer(), nullable=False),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_initial_access_token"),
        sa.UniqueConstraint("token", name="uq_initial_access_token_token"),
    )
    op.create_index("ix_initial_access_token_expires_at", "initial_access_token", ["expires_at"])
    op.create_table(
        "oauth_revoked_token",
        sa.Column("jti", _ID, nullable=False),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("jti", name="pk_oauth_revoked_token"),
    )
    op.create_index("ix_oauth_revoked_token_expires_at", "oauth_revoked_token", ["expires_at"])
    op.create_table(
        "oauth_client",
        *_times(),
        sa.Column("client_id", _CLIENT_ID, nullable=False),
        sa.Column("client_name", sa.String(64), nullable=False),
        sa.Column("secret", sa.LargeBinary()),
        sa.Column("previous_secret", sa.LargeBinary()),
        sa.Column("previous_until", INSTANT),
        sa.Column("registration", sa.String(), nullable=False),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("owner_id", _ID),
        sa.Column("disabled_at", INSTANT),
        sa.Column("last_used_on", INSTANT),
        sa.Column("fetched_at", INSTANT),
        sa.Column("fresh_until", INSTANT),
        sa.Column("expires_at", INSTANT),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["user.id"], name="fk_oauth_client_owner_id_user", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("client_id", name="pk_oauth_client"),
    )
    op.create_index("ix_oauth_client_created_at_client_id", "oauth_client", ["created_at", "client_id"])
    op.create_index(
        "ix_oauth_client_expires_at",
        "oauth_client",
        ["expires_at"],
        postgresql_where=sa.text("expires_at IS NOT NULL"),
        sqlite_where=sa.text("expires_at IS NOT NULL"),
    )
    op.create_index(
        "ix_oauth_client_owner_id",
        "oauth_client",
        ["owner_id"],
        postgresql_where=sa.text("owner_id IS NOT NULL"),
        sqlite_where=sa.text("owner_id IS NOT NULL"),
    )
    op.create_table(
        "oauth_consent",
        *_times(),
        sa.Column("id", _ID, nullable=False),
        sa.Column("user_id", _ID, nullable=False),
        sa.Column("client_id", _CLIENT_ID, nullable=False),
        sa.Column("scopes", sa.String(), nullable=False),
        sa.Column("resources", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["client_id"],
            ["oauth_client.client_id"],
            name="fk_oauth_consent_client_id_oauth_client",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name="fk_oauth_consent_user_id_user", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_oauth_consent"),
        sa.UniqueConstraint("user_id", "client_id", name="uq_oauth_consent_user_id_client_id"),
    )
    op.create_index("ix_oauth_consent_client_id", "oauth_consent", ["client_id"])
    op.create_table(
        "oauth_request",
        *_times(),
        sa.Column("handle", sa.LargeBinary(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("client_id", _CLIENT_ID),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("pushed", sa.Boolean(), nullable=False),
        sa.Column("arrived_at", INSTANT),
        sa.Column("selected_by", _ID),
        sa.Column("created_by", _ID),
        sa.Column("consent_by", _ID),
        sa.Column("consent_scopes", sa.String()),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.ForeignKeyConstraint(
            ["client_id"],
            ["oauth_client.client_id"],
            name="fk_oauth_request_client_id_oauth_client",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("handle", name="pk_oauth_request"),
    )
    op.create_index("ix_oauth_request_client_id", "oauth_request", ["client_id"])
    op.create_index("ix_oauth_request_expires_at", "oauth_request", ["expires_at"])
    op.create_table(
        "device_request",
        *_times(),
        sa.Column("device_code", sa.LargeBinary(), nullable=False),
        sa.Column("user_code", sa.LargeBinary(), nullable=False),
        sa.Column("client_id", _CLIENT_ID, nullable=False),
        sa.Column("scopes", sa.String(), nullable=False),
        sa.Column("resources", sa.String(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("user_id", _ID),
        sa.Column("session_id", _ID),
        sa.Column("interval", sa.Integer(), nullable=False),
        sa.Column("last_polled_at", INSTANT),
        sa.Column("network", sa.String(64)),
        sa.Column("user_agent", sa.String()),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.ForeignKeyConstraint(
            ["client_id"],
            ["oauth_client.client_id"],
            name="fk_device_request_client_id_oauth_client",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["session_id"], ["session.id"], name="fk_device_request_session_id_session", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name="fk_device_request_user_id_user", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("device_code", name="pk_device_request"),
        sa.UniqueConstraint("user_code", name="uq_device_request_user_code"),
    )
    op.create_index("ix_device_request_client_id", "device_request", ["client_id"])
    op.create_index("ix_device_request_expires_at", "device_request", ["expires_at"])
    op.create_index("ix_device_request_session_id", "device_request", ["session_id"])
    op.create_index("ix_device_request_user_id", "device_request", ["user_id"])
    op.create_table(
        "oauth_code",
        *_times(),
        sa.Column("code", sa.LargeBinary(), nullable=False),
        sa.Column("client_id", _CLIENT_ID, nullable=False),
        sa.Column("user_id", _ID, nullable=False),
        sa.Column("session_id", _ID, nullable=False),
        sa.Column("redirect_uri", sa.String(), nullable=False),
        sa.Column("code_challenge", sa.String(43), nullable=False),
        sa.Column("nonce", sa.LargeBinary()),
        sa.Column("scopes", sa.String(), nullable=False),
        sa.Column("resources", sa.String(), nullable=False),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.Column("used_at", INSTANT),
        sa.Column("grant_id", _ID),
        sa.ForeignKeyConstraint(
            ["client_id"],
            ["oauth_client.client_id"],
            name="fk_oauth_code_client_id_oauth_client",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["session_id"], ["session.id"], name="fk_oauth_code_session_id_session", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name="fk_oauth_code_user_id_user", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("code", name="pk_oauth_code"),
    )
    op.create_index("ix_oauth_code_client_id", "oauth_code", ["client_id"])
    op.create_index("ix_oauth_code_expires_at", "oauth_code", ["expires_at"])
    op.create_index("ix_oauth_code_session_id", "oauth_code", ["session_id"])
    op.create_index("ix_oauth_code_user_id", "oauth_code", ["user_id"])
    op.create_table(
        "oauth_grant",
        *_times(),
        sa.Column("id", _ID, nullable=False),
        sa.Column("client_id", _CLIENT_ID, nullable=False),
        sa.Column("user_id", _ID, nullable=False),
        sa.Column("session_id", _ID),
        sa.Column("sid", sa.String(64), nullable=False),
        sa.Column("offline", sa.Boolean(), nullable=False),
        sa.Column("scopes", sa.String(), nullable=False),
        sa.Column("resources", sa.String(), nullable=False),
        sa.Column("auth_time", INSTANT, nullable=False),
        sa.Column("amr", sa.String(), nullable=False),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.Column("revoked_at", INSTANT),
        sa.ForeignKeyConstraint(
            ["client_id"],
            ["oauth_client.client_id"],
            name="fk_oauth_grant_client_id_oauth_client",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["session_id"], ["session.id"], name="fk_oauth_grant_session_id_session", ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name="fk_oauth_grant_user_id_user", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_oauth_grant"),
    )
    op.create_index("ix_oauth_grant_client_id", "oauth_grant", ["client_id"])
    op.create_index("ix_oauth_grant_expires_at", "oauth_grant", ["expires_at"])
    op.create_index("ix_oauth_grant_session_id", "oauth_grant", ["session_id"])
    op.create_index("ix_oauth_grant_user_id", "oauth_grant", ["user_id"])
    op.create_table(
        "oauth_token",
        *_times(),
        sa.Column("token", sa.LargeBinary(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("client_id", _CLIENT_ID, nullable=False),
        sa.Column("grant_id", _ID),
        sa.Column("scopes", sa.String(), nullable=False),
        sa.Column("resource", sa.String()),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.Column("kept_until", INSTANT, nullable=False),
        sa.Column("rotated_at", INSTANT),
        sa.Column("predecessor", sa.LargeBinary()),
        sa.Column("successor_used", sa.Boolean(), nullable=False),
        sa.Column("replay", sa.LargeBinary()),
        sa.Column("revoked_at", INSTANT),
        sa.ForeignKeyConstraint(
            ["client_id"],
            ["oauth_client.client_id"],
            name="fk_oauth_token_client_id_oauth_client",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["grant_id"], ["oauth_grant.id"], name="fk_oauth_token_grant_id_oauth_grant", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("token", name="pk_oauth_token"),
    )
    op.create_index("ix_oauth_token_client_id", "oauth_token", ["client_id"])
    op.create_index("ix_oauth_token_grant_id", "oauth_token", ["grant_id"])
    op.create_index("ix_oauth_token_kept_until", "oauth_token", ["kept_until"])
    op.create_table(
        "logout_delivery",
        *_times(),
        sa.Column("id", _ID, nullable=False),
        sa.Column("client_id", _CLIENT_ID, nullable=False),
        sa.Column("subject", _ID, nullable=False),
        sa.Column("sid", sa.String(64), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt", INSTANT, nullable=False),
        sa.Column("lease_until", INSTANT),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.ForeignKeyConstraint(
            ["client_id"],
            ["oauth_client.client_id"],
            name="fk_logout_delivery_client_id_oauth_client",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_logout_delivery"),
    )
    op.create_index(
        "ix_logout_delivery_client_id_next_attempt", "logout_delivery", ["client_id", "next_attempt"]
    )
    op.create_index("ix_logout_delivery_expires_at", "logout_delivery", ["expires_at"])
    op.create_index(
        "ix_oauth_token_rotated_at",
        "oauth_token",
        ["rotated_at"],
        postgresql_where=sa.text("replay IS NOT NULL"),
        sqlite_where=sa.text("replay IS NOT NULL"),
    )


def downgrade() -> None:
    for table in (
        "logout_delivery",
        "oauth_token",
        "oauth_grant",
        "oauth_code",
        "device_request",
        "oauth_request",
        "oauth_consent",
        "oauth_client",
        "oauth_revoked_token",
        "initial_access_token",
    ):
        op.drop_table(table)
