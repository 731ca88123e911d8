"""Connections to the identity providers of organizations, their domains, sessions and messages.

New tables; an older program goes on beside them.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"

INSTANT = sa.BigInteger().with_variant(sa.DateTime(timezone=True), "postgresql")
_ID = sa.String(32)
_VERIFIED = sa.text("verified_at IS NOT NULL")


def _times() -> list[sa.Column[Any]]:
    return [
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("updated_at", INSTANT, nullable=False),
    ]


def _connection_of(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_connection_id_sso_connection"
    return sa.ForeignKeyConstraint(["connection_id"], ["sso_connection.id"], name=name, ondelete="CASCADE")


def upgrade() -> None:
    op.create_table(
        "sso_connection",
        *_times(),
        sa.Column("id", _ID, nullable=False),
        sa.Column("provider_id", sa.String(40), nullable=False),
        sa.Column("organization_id", _ID),
        sa.Column("type", sa.String(8), nullable=False),
        sa.Column("issuer", sa.String(), nullable=False),
        sa.Column("config", sa.LargeBinary(), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("sign_up", sa.Boolean(), nullable=False),
        sa.Column("second_factor", sa.String(8), nullable=False),
        sa.Column("default_role", sa.String(), nullable=False),
        sa.Column("group_roles", sa.String(), nullable=False),
        sa.Column("idp_initiated", sa.Boolean(), nullable=False),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("created_by", _ID),
        sa.Column("last_used_at", INSTANT),
        sa.Column("certificate_end_notified", INSTANT),
        sa.PrimaryKeyConstraint("id", name="pk_sso_connection"),
        sa.UniqueConstraint("provider_id", name="uq_sso_connection_provider_id"),
        sa.ForeignKeyConstraint(
            ["organization_id"],
            ["organization.id"],
            name="fk_sso_connection_organization_id_organization",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_sso_connection_organization_id", "sso_connection", ["organization_id"])
    op.create_table(
        "sso_domain",
        *_times(),
        sa.Column("id", _ID, nullable=False),
        sa.Column("connection_id", _ID, nullable=False),
        sa.Column("domain", sa.String(253), nullable=False),
        sa.Column("required", sa.Boolean(), nullable=False),
        sa.Column("token", sa.String(64), nullable=False),
        sa.Column("verified_at", INSTANT),
        sa.Column("checked_at", INSTANT),
        sa.Column("missed_at", INSTANT),
        sa.PrimaryKeyConstraint("id", name="pk_sso_domain"),
        sa.UniqueConstraint("connection_id", "domain", name="uq_sso_domain_connection_id_domain"),
        _connection_of("sso_domain"),
    )
    _index_verified("ix_sso_domain_verified", "domain", unique=True)
    _index_verified("ix_sso_domain_checked_at", "checked_at", unique=False)
    op.create_table(
        "sso_session",
        *_times(),
        sa.Column("session_id", _ID, nullable=False),
        sa.Column("connection_id", _ID, nullable=False),
        sa.Column("subject", sa.LargeBinary(), nullable=False),
        sa.Column("session_index", sa.LargeBinary()),
        sa.Column("name_id", sa.LargeBinary()),
        sa.Column("authenticated_at", INSTANT),
        sa.PrimaryKeyConstraint("session_id", name="pk_sso_session"),
        sa.ForeignKeyConstraint(
            ["session_id"], ["session.id"], name="fk_sso_session_session_id_session", ondelete="CASCADE"
        ),
        _connection_of("sso_session"),
    )
    for column in ("session_index", "subject"):
        op.create_index(f"ix_sso_session_connection_id_{column}", "sso_session", ["connection_id", column])
    op.create_table(
        "saml_message",
        *_times(),
        sa.Column("id", _ID, nullable=False),
        sa.Column("connection_id", _ID, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_saml_message"),
        sa.UniqueConstraint(
            "connection_id", "kind", "digest", name="uq_saml_message_connection_id_kind_digest"
        ),
        _connection_of("saml_message"),
    )
    op.create_index("ix_saml_message_expires_at", "saml_message", ["expires_at"])


def _index_verified(name: str, column: str, *, unique: bool) -> None:
    op.create_index(
        name, "sso_domain", [column], unique=unique, postgresql_where=_VERIFIED, sqlite_where=_VERIFIED
    )


def downgrade() -> None:
    for table in ("saml_message", "sso_session", "sso_domain", "sso_connection"):
        op.drop_table(table)
