"""Directories of connections: their tokens, users, teams and refused requests.

New tables; an older program goes on beside them.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"

INSTANT = sa.BigInteger().with_variant(sa.DateTime(timezone=True), "postgresql")
_ID = sa.String(32)


def _times() -> list[sa.Column[Any]]:
    return [
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("updated_at", INSTANT, nullable=False),
    ]


def _key(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [column], [f"{to}.id"], name=f"fk_{table}_{column}_{to}", ondelete="CASCADE"
    )


def upgrade() -> None:
    op.create_table(
        "scim_token",
        *_times(),
        sa.Column("id", _ID, nullable=False),
        sa.Column("connection_id", _ID, nullable=False),
        sa.Column("token", sa.LargeBinary(), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("created_by", _ID),
        sa.Column("last_used_at", INSTANT),
        sa.Column("expires_at", INSTANT),
        sa.PrimaryKeyConstraint("id", name="pk_scim_token"),
        sa.UniqueConstraint("token", name="uq_scim_token_token"),
        _key("scim_token", "connection_id", "sso_connection"),
    )
    op.create_index("ix_scim_token_connection_id", "scim_token", ["connection_id"])
    op.create_table(
        "scim_link",
        *_times(),
        sa.Column("id", _ID, nullable=False),
        sa.Column("connection_id", _ID, nullable=False),
        sa.Column("user_id", _ID),
        sa.Column("team_id", _ID),
        sa.Column("external_id", sa.String(256)),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("provisioned", sa.Boolean(), nullable=False),
        sa.Column("role", sa.String()),
        sa.Column("attributes", sa.LargeBinary(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_scim_link"),
        sa.UniqueConstraint("connection_id", "user_id", name="uq_scim_link_connection_id_user_id"),
        sa.UniqueConstraint("connection_id", "team_id", name="uq_scim_link_connection_id_team_id"),
        _key("scim_link", "connection_id", "sso_connection"),
        _key("scim_link", "user_id", "user"),
        _key("scim_link", "team_id", "team"),
    )
    for kind in ("user", "team"):
        _index(
            f"ix_scim_link_external_{kind}",
            ["connection_id", "external_id"],
            f"{kind}_id IS NOT NULL AND external_id IS NOT NULL",
            unique=True,
        )
        op.create_index(f"ix_scim_link_{kind}_id", "scim_link", [f"{kind}_id"])
        _index(f"ix_scim_link_{kind}s", ["connection_id", "id"], f"{kind}_id IS NOT NULL", unique=False)
    op.create_table(
        "scim_directory",
        *_times(),
        sa.Column("connection_id", _ID, nullable=False),
        sa.Column("window_began_at", INSTANT),
        sa.Column("window_members", sa.Integer(), nullable=False),
        sa.Column("window_disabled", sa.Integer(), nullable=False),
        sa.Column("stopped_at", INSTANT),
        sa.PrimaryKeyConstraint("connection_id", name="pk_scim_directory"),
        _key("scim_directory", "connection_id", "sso_connection"),
    )
    op.create_table(
        "scim_failure",
        *_times(),
        sa.Column("id", _ID, nullable=False),
        sa.Column("connection_id", _ID, nullable=False),
        sa.Column("method", sa.String(16), nullable=False),
        sa.Column("resource", sa.String(32), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("scim_type", sa.String(32)),
        sa.Column("message", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_scim_failure"),
        _key("scim_failure", "connection_id", "sso_connection"),
    )
    op.create_index("ix_scim_failure_connection_id", "scim_failure", ["connection_id"])


def _index(name: str, columns: list[str], where: str, *, unique: bool) -> None:
    condition = sa.text(where)
    op.create_index(
        name, "scim_link", columns, unique=unique, postgresql_where=condition, sqlite_where=condition
    )


def downgrade() -> None:
    for table in ("scim_failure", "scim_directory", "scim_link", "scim_token"):
        op.drop_table(table)
