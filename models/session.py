"""The table `session`: the sessions of users."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Index, Integer, bindparam, delete, literal, null, or_, select, text
from sqlalchemy.orm import aliased
from sqlmodel import Field, col

from models.base import ENCRYPTED, Access, Instant, Record, Retention
from models.queries import ReadStatement, by
from models.statements import is_, table_of
from models.user import SELECT_USER, USER_COLUMNS, User, UserRow


def _where_set(column: str) -> Index:
    """Return a partial index of a column that is set in few rows."""
    where = text(f"{column} IS NOT NULL")
    return Index(None, column, postgresql_where=where, sqlite_where=where)


class Session(Record, table=True):
    """One sign-in on one device. The token is stored only as a digest and, in `token_copy`, encrypted."""

    __table_args__ = tuple(
        _where_set(column)
        for column in (
            "impersonated_by",
            "impersonator_session_id",
            "active_organization_id",
            "active_team_id",
        )
    )
    __export__ = "sessions"
    __retention__ = (Retention("expires_at"),)  # defence: R41 expired-sessions
    __access__ = (Access("sessions", "sessions", expiry="expires_at"),)  # defence: M5 sessions

    user_id: str = Field(foreign_key="user.id", index=True, ondelete="CASCADE", max_length=32)
    token_digest: bytes = Field(unique=True, repr=False)
    token_copy: bytes | None = Field(default=None, repr=False, sa_column_kwargs=ENCRYPTED)
    remembered: bool = True
    method: str
    amr: str = Field(default="", sa_column_kwargs={"server_default": text("''")})
    """The authentication methods (`amr`, RFC 8176) of the sign-in, separated by spaces; empty if unknown."""
    expires_at: datetime = Field(index=True, sa_type=Instant)
    ip_address: str | None = None
    user_agent: str | None = None
    impersonated_by: str | None = Field(default=None, foreign_key="user.id", ondelete="CASCADE")
    """The administrator who opened the session in the user's name."""
    impersonator_session_id: str | None = Field(
        default=None, foreign_key="session.id", ondelete="CASCADE", max_length=32
    )
    """The administrator's own session."""
    active_organization_id: str | None = Field(
        default=None, foreign_key="organization.id", ondelete="SET NULL", max_length=32
    )
    active_team_id: str | None = Field(
        default=None, foreign_key="team.id", ondelete="SET NULL", max_length=32
    )


class SessionRow(NamedTuple):
    """A session as read by a query; the fields are those of `Session`."""

    id: str
    user_id: str
    remembered: bool
    expires_at: datetime
    created_at: datetime
    updated_at: datetime
    ip_address: str | None
    user_agent: str | None
    impersonated_by: str | None
    active_organization_id: str | None
    method: str = ""
    """The last authentication method of the sign-in, such as `password` or `totp`."""
    amr: str = ""
    """The authentication methods (`amr`, RFC 8176), separated by spaces."""
    active_team_id: str | None = None
    token_copy: bytes | None = None
    """The encrypted token; read only for lists of sessions."""

    def is_active(self, now: datetime) -> bool:
        """Return whether the session is active at `now`."""
        return now < self.expires_at


SESSION_COLUMNS = tuple(col(getattr(Session, name)) for name in SessionRow._fields if name != "token_copy")
"""The columns of a `SessionRow` without the copy of the token."""


def _session_and_user(columns: Sequence[Any]) -> tuple[SessionRow, UserRow]:
    return SessionRow(*columns[: len(SESSION_COLUMNS)]), UserRow(*columns[len(SESSION_COLUMNS) :])


SESSION_BY_DIGEST = ReadStatement(  # defence: R22 users-first
    select(*SESSION_COLUMNS, *USER_COLUMNS)
    .select_from(User)
    .join(Session, col(Session.user_id) == col(User.id))
    .where(by(Session.token_digest)),
    _session_and_user,
    key=Session.token_digest,
    cacheable=True,
)
"""The session whose token has this SHA-256 digest, and its user."""

_IMPERSONATION = aliased(Session)

IMPERSONATOR_OF_SESSION = ReadStatement(
    select(*SESSION_COLUMNS, *USER_COLUMNS)
    .select_from(User)
    .join(Session, col(Session.user_id) == col(User.id))
    .join(_IMPERSONATION, col(_IMPERSONATION.impersonator_session_id) == col(Session.id))
    .where(
        by(_IMPERSONATION.id),
        col(User.id) == col(_IMPERSONATION.impersonated_by),  # defence: ADM7 impersonator
    ),
    _session_and_user,
)
"""For the session of an impersonated user: the administrator's own session, even if expired, and the administrator."""

SESSIONS_OF_USER = ReadStatement(
    # defence: V22 sessions-of-user
    select(*SESSION_COLUMNS, col(Session.token_copy)).where(by(Session.user_id)),
    SessionRow._make,
    key=Session.user_id,
)
"""Every stored session of a user, expired ones included, unsorted: the rows are few, and the caller sorts them."""

LOCK_CALLER = (
    SELECT_USER.join(Session, col(Session.user_id) == col(User.id))
    .where(
        is_(User.id, "id"),
        is_(Session.id, "session_id"),
        col(Session.expires_at) > bindparam("now", type_=Instant()),
        # defence: V33 held-ban
        or_(~col(User.banned), col(User.ban_expires) <= bindparam("now", type_=Instant())),
    )
    .with_for_update(of=[User, Session], key_share=True)
)
"""The user of an `id`, locked together with their session of a `session_id`.

Nothing if the user is banned at `now`, or the session is not active.
PostgreSQL locks in this order, and reads each row again if it had to wait for its lock. Every transaction locks the
user before it ends a session, so the change is seen.
"""

LOCK_CALLER_UNCHANGED = LOCK_CALLER.where(is_(User.updated_at, "updated_at"))
"""The user as in `LOCK_CALLER`, if they were last changed at `updated_at`."""

END_SESSION = (
    delete(table_of(Session))
    .where(
        is_(Session.id, "id"),
        is_(Session.user_id, "user_id"),  # defence: V22 V40 session-owner
        col(Session.expires_at) > bindparam("now", type_=Instant()),
    )
    .returning(col(Session.id))
)
"""Delete the session of an `id` if it belongs to that user and is active `now`."""

NEWEST_SESSIONS = (
    select(*SESSION_COLUMNS, null().label("token_copy"))
    .where(is_(Session.user_id, "user_id"), col(Session.expires_at) > bindparam("now", type_=Instant()))
    .order_by(col(Session.created_at).desc(), col(Session.id).desc())
    .limit(bindparam("number", type_=Integer()))
    .execution_options(row=SessionRow)
)
"""The newest sessions of the user `user_id` that are active at `now`, at most a `number`; without copies of tokens."""

FIND_SESSION = select(col(Session.user_id)).where(is_(Session.id, "id"))
"""The id of the user of the session with an `id`."""

FIND_SESSION_ROW = (
    select(*SESSION_COLUMNS, null().label("token_copy"))
    .where(is_(Session.id, "id"))
    .execution_options(row=SessionRow)
)
"""The session of an `id`, without the copy of its token."""

ACTIVE_IN_SESSION = select(col(Session.active_organization_id), col(Session.active_team_id)).where(
    is_(Session.id, "id")
)
"""The active organization and team of the session of an `id`, as the transaction sees them."""

OVER_LIMIT = (
    select(literal(1))
    .where(is_(Session.user_id, "whose"))
    .limit(1)
    .offset(bindparam("besides", type_=Integer()))
    .scalar_subquery()
)
"""For the RETURNING of an inserted session: 1 if the user with the id `whose` has more than `besides` sessions, else
None.

Whether the new session is counted depends on the database; count again for the exact number.
"""
