"""Organizations, their members, invitations and teams; the active organization and team of a session.

New tables; `active_organization_id` refers to an organization now, and nothing has written it before. An older program
goes on beside it. SQLite copies the table of sessions, because it adds foreign keys in no other way. On PostgreSQL no
row is read while the table is locked: the index of the column exists by then. That of `active_team_id` follows in 0017,
where it can be built while sessions are used.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

NEEDS = "0001"
"""The revision that brings the columns of the indexes."""

INDEXES: dict[str, tuple[str, list[Any], Any]] = {
    "ix_session_active_organization_id": (
        "session",
        ["active_organization_id"],
        sa.text("active_organization_id IS NOT NULL"),
    )
}
"""Table, columns and condition of the indexes of PostgreSQL, by name."""

INSTANT = sa.BigInteger().with_variant(sa.DateTime(timezone=True), "postgresql")
_ID = sa.String(32)
_IS_PENDING, _IS_OWNER = sa.text("status = 'pending'"), sa.text("is_owner")
_ORGANIZATION_KEY = "fk_session_active_organization_id_organization"
_TEAM_KEY = "fk_session_active_team_id_team"


def _times() -> list[sa.Column[Any]]:
    return [
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("updated_at", INSTANT, nullable=False),
    ]


def _reference(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [column], [f"{to}.id"], name=f"fk_{table}_{column}_{to}", ondelete="CASCADE"
    )


def upgrade() -> None:
    _create_tables()
    for name, (table, columns, where) in INDEXES.items():
        op.create_index(name, table, columns, postgresql_where=where, sqlite_where=where, if_not_exists=True)
    if op.get_context().dialect.name == "postgresql":
        # In one statement: PostgreSQL checks no rows for the key of a column that it adds.
        op.execute(
            "ALTER TABLE session ADD COLUMN active_team_id VARCHAR(32)"
            f" CONSTRAINT {_TEAM_KEY} REFERENCES team (id) ON DELETE SET NULL"
        )
        op.create_foreign_key(
            _ORGANIZATION_KEY,
            "session",
            "organization",
            ["active_organization_id"],
            ["id"],
            ondelete="SET NULL",
        )
        return
    with op.batch_alter_table("session") as session:
        session.add_column(sa.Column("active_team_id", _ID))
        session.create_foreign_key(
            _ORGANIZATION_KEY, "organization", ["active_organization_id"], ["id"], ondelete="SET NULL"
        )
        session.create_foreign_key(_TEAM_KEY, "team", ["active_team_id"], ["id"], ondelete="SET NULL")


def _create_tables() -> None:
    op.create_table(
        "organization",
        sa.Column("id", _ID, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("slug", sa.String(64), nullable=False),
        sa.Column("logo", sa.String),
        sa.Column("custom_data", sa.String),
        *_times(),
        sa.PrimaryKeyConstraint("id", name="pk_organization"),
        sa.UniqueConstraint("slug", name="uq_organization_slug"),
    )
    op.create_index("ix_organization_created_at_id", "organization", ["created_at", "id"])
    op.create_table(
        "member",
        sa.Column("id", _ID, nullable=False),
        sa.Column("organization_id", _ID, nullable=False),
        sa.Column("user_id", _ID, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("is_owner", sa.Boolean, nullable=False),
        *_times(),
        sa.PrimaryKeyConstraint("id", name="pk_member"),
        sa.UniqueConstraint("organization_id", "user_id", name="uq_member_organization_id_user_id"),
        _reference("member", "organization_id", "organization"),
        _reference("member", "user_id", "user"),
    )
    op.create_index("ix_member_user_id_created_at", "member", ["user_id", "created_at"])
    op.create_index(
        "ix_member_owner",
        "member",
        ["organization_id"],
        postgresql_where=_IS_OWNER,
        sqlite_where=_IS_OWNER,
    )
    op.create_table(
        "invitation",
        sa.Column("id", _ID, nullable=False),
        sa.Column("organization_id", _ID, nullable=False),
        sa.Column("email", sa.String, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("inviter_id", _ID, nullable=False),
        sa.Column("secret_digest", sa.LargeBinary),
        sa.Column("expires_at", INSTANT, nullable=False),
        *_times(),
        sa.PrimaryKeyConstraint("id", name="pk_invitation"),
        sa.UniqueConstraint("secret_digest", name="uq_invitation_secret_digest"),
        _reference("invitation", "organization_id", "organization"),
        _reference("invitation", "inviter_id", "user"),
    )
    op.create_index(
        "ix_invitation_pending",
        "invitation",
        ["organization_id", "email"],
        unique=True,
        postgresql_where=_IS_PENDING,
        sqlite_where=_IS_PENDING,
    )
    op.create_index("ix_invitation_email_status", "invitation", ["email", "status"])
    op.create_index(
        "ix_invitation_organization_id_created_at", "invitation", ["organization_id", "created_at"]
    )
    op.create_index("ix_invitation_inviter_id", "invitation", ["inviter_id"])
    op.create_index("ix_invitation_expires_at", "invitation", ["expires_at"])
    op.create_table(
        "team",
        sa.Column("id", _ID, nullable=False),
        sa.Column("organization_id", _ID, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("updated_at", INSTANT),
        sa.PrimaryKeyConstraint("id", name="pk_team"),
        _reference("team", "organization_id", "organization"),
    )
    op.create_index("ix_team_organization_id_created_at", "team", ["organization_id", "created_at"])
    op.create_table(
        "team_member",
        sa.Column("id", _ID, nullable=False),
        sa.Column("team_id", _ID, nullable=False),
        sa.Column("member_id", _ID, nullable=False),
        sa.Column("user_id", _ID, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_team_member"),
        sa.UniqueConstraint("team_id", "user_id", name="uq_team_member_team_id_user_id"),
        _reference("team_member", "team_id", "team"),
        _reference("team_member", "member_id", "member"),
        _reference("team_member", "user_id", "user"),
    )
    op.create_index("ix_team_member_member_id", "team_member", ["member_id"])
    op.create_index("ix_team_member_user_id", "team_member", ["user_id"])
    op.create_table(
        "invitation_team",
        sa.Column("invitation_id", _ID, nullable=False),
        sa.Column("team_id", _ID, nullable=False),
        sa.PrimaryKeyConstraint("invitation_id", "team_id", name="pk_invitation_team"),
        _reference("invitation_team", "invitation_id", "invitation"),
        _reference("invitation_team", "team_id", "team"),
    )
    op.create_index("ix_invitation_team_team_id", "invitation_team", ["team_id"])


def downgrade() -> None:
    for name in INDEXES:
        op.drop_index(name, "session", if_exists=True)
    with op.batch_alter_table("session") as session:
        for key in (_ORGANIZATION_KEY, _TEAM_KEY):
            session.drop_constraint(key, type_="foreignkey")
        session.drop_column("active_team_id")
    op.execute("UPDATE session SET active_organization_id = NULL WHERE active_organization_id IS NOT NULL")
    for table in ("invitation_team", "team_member", "team", "invitation", "member", "organization"):
        op.drop_table(table)
