"""The table `oauth_code`: authorization codes."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import bindparam, delete, or_, select, update
from sqlmodel import Field, col

from models.base import Instant, Retention, Timestamped
from models.queries import ReadStatement, by
from models.session import SESSION_COLUMNS, Session, SessionRow
from models.statements import insert, is_, table_of
from models.user import USER_COLUMNS, User, UserRow


class OauthCode(Timestamped, table=True):
    """One code, stored as its digest. A used code is kept for a while, so that a second use is noticed."""

    __tablename__ = "oauth_code"
    __export__ = "oauthCodes"
    __retention__ = (Retention("expires_at", timedelta(minutes=10)),)

    code: bytes = Field(primary_key=True)
    client_id: str = Field(
        foreign_key="oauth_client.client_id", ondelete="CASCADE", index=True, max_length=512
    )
    user_id: str = Field(foreign_key="user.id", ondelete="CASCADE", index=True, max_length=32)
    session_id: str = Field(foreign_key="session.id", ondelete="CASCADE", index=True, max_length=32)
    redirect_uri: str
    code_challenge: str = Field(max_length=43)
    nonce: bytes | None = Field(default=None, repr=False)
    """The `nonce` of the request, encrypted; None without one."""
    scopes: str
    resources: str = ""
    expires_at: datetime = Field(index=True, sa_type=Instant)
    used_at: datetime | None = Field(default=None, sa_type=Instant)
    grant_id: str | None = Field(default=None, max_length=32)
    """The id of the grant that was created when the code was redeemed."""


NONCE = "oauth_code.nonce"
"""The purpose under which nonces are encrypted."""


class CodeRow(NamedTuple):
    """A code as read by a query; the fields are those of `OauthCode`."""

    code: bytes
    client_id: str
    redirect_uri: str
    code_challenge: str
    nonce: bytes | None
    scopes: str
    resources: str
    expires_at: datetime
    used_at: datetime | None
    grant_id: str | None


class AuthorizedCode(NamedTuple):
    """A code with the session that has authorized it, and its user."""

    code: CodeRow
    session: SessionRow
    user: UserRow


_CODE = tuple(col(getattr(OauthCode, name)) for name in CodeRow._fields)


def _authorized_code(columns: Sequence[Any]) -> AuthorizedCode:
    session, user = len(_CODE), len(_CODE) + len(SESSION_COLUMNS)
    return AuthorizedCode(
        CodeRow._make(columns[:session]), SessionRow(*columns[session:user]), UserRow._make(columns[user:])
    )


CODE_BY_DIGEST = ReadStatement(
    select(*_CODE, *SESSION_COLUMNS, *USER_COLUMNS)
    .select_from(User)
    .join(Session, col(Session.user_id) == col(User.id))
    .join(OauthCode, col(OauthCode.session_id) == col(Session.id))
    .where(by(OauthCode.code)),
    _authorized_code,
)
"""The code with a digest, even if it is used or expired; nothing if its session was deleted."""

ADD_CODE = insert(OauthCode)

_NOW = bindparam("now", type_=Instant())

_LIVE_SESSION = (
    select(col(Session.id))
    .select_from(User)
    .join(Session, col(Session.user_id) == col(User.id))
    .where(
        is_(Session.id, "live_session"),
        col(Session.expires_at) > _NOW,
        or_(~col(User.banned), col(User.ban_expires) <= _NOW),
    )
    # Every transaction locks the user before it ends a session, so none ends between this check and the commit.
    .with_for_update(of=[User, Session], key_share=True)
    .scalar_subquery()
)

REDEEM_CODE = (
    update(table_of(OauthCode))
    .where(
        is_(OauthCode.code, "digest"),
        is_(OauthCode.client_id, "client"),
        is_(OauthCode.code_challenge, "challenge"),
        col(OauthCode.used_at).is_(None),  # defence: O2 unused
        col(OauthCode.expires_at) > _NOW,
        col(OauthCode.session_id) == _LIVE_SESSION,
    )
    .returning(col(OauthCode.code))
)
"""Set `used_at` and `grant_id` of the code with a `digest`, and lock its session and user.

Conditions: the code is unused, valid at `now`, and belongs to the `client` and the `challenge`; its session, with the
id `live_session`, is active, and the user is not banned.
"""

CODES_OF_CLIENT = delete(table_of(OauthCode)).where(is_(OauthCode.client_id, "client_id"))
"""Delete the codes of `client_id`."""

CODES_OF_REDIRECT_URI = CODES_OF_CLIENT.where(is_(OauthCode.redirect_uri, "redirect_uri"))
"""Delete the codes of `client_id` that were sent to `redirect_uri`."""

REDIRECT_URIS_OF_CODES = (
    select(col(OauthCode.redirect_uri)).where(is_(OauthCode.client_id, "client_id")).distinct()
)
"""The redirect URIs to which codes of `client_id` were sent."""

CODES_OF_USER = delete(table_of(OauthCode)).where(is_(OauthCode.user_id, "user_id"))
"""Delete the codes of `user_id`."""
