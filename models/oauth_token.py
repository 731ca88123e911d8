"""The table `oauth_token`: opaque access tokens and refresh tokens."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import Index, bindparam, delete, or_, select, text, update
from sqlmodel import Field, col

from models.base import Instant, Retention, Timestamped
from models.oauth_grant import GRANT_COLUMNS, GrantRow, OauthGrant
from models.queries import ReadStatement, by
from models.session import Session
from models.statements import insert, is_, table_of
from models.user import USER_COLUMNS, User, UserRow

_REPLAYED = text("replay IS NOT NULL")


class TokenKind(StrEnum):
    """What a token is for."""

    ACCESS = "access"
    REFRESH = "refresh"


class OauthToken(Timestamped, table=True):
    """One token, stored as its digest. A replaced refresh token is kept as long as its grant, to notice its reuse."""

    __tablename__ = "oauth_token"
    __retention__ = (Retention("kept_until"),)
    __table_args__ = (Index(None, "rotated_at", postgresql_where=_REPLAYED, sqlite_where=_REPLAYED),)

    token: bytes = Field(primary_key=True)
    kind: str = Field(max_length=16)
    client_id: str = Field(
        foreign_key="oauth_client.client_id", ondelete="CASCADE", index=True, max_length=512
    )
    grant_id: str | None = Field(
        default=None, foreign_key="oauth_grant.id", ondelete="CASCADE", index=True, max_length=32
    )
    """The grant of the token; None for a token that acts for the client itself."""
    scopes: str
    resource: str | None = None
    """The resource (RFC 8707) of an access token; for a refresh token all of its resources, separated by spaces."""
    expires_at: datetime = Field(sa_type=Instant)
    kept_until: datetime = Field(index=True, sa_type=Instant)
    """When the row is deleted: for an access token at its expiry, for a refresh token at the expiry of its grant."""
    rotated_at: datetime | None = Field(default=None, sa_type=Instant)
    """When a refresh token was replaced by its successor."""
    predecessor: bytes | None = None
    """The digest of the refresh token that this one has replaced."""
    successor_used: bool = False
    """Whether the token that replaced this one was used. From then on, another use of this token counts as theft."""
    replay: bytes | None = Field(default=None, repr=False)
    """The response with the new tokens, encrypted, as long as it may be sent again."""
    revoked_at: datetime | None = Field(default=None, sa_type=Instant)


REPLAY = "oauth_token.replay"
"""The purpose under which `OauthToken.replay` is encrypted."""


class RefreshTokenRow(NamedTuple):
    """A refresh token as read by a query; the fields are those of `OauthToken`."""

    token: bytes
    client_id: str
    scopes: str
    resource: str | None
    expires_at: datetime
    rotated_at: datetime | None
    predecessor: bytes | None
    successor_used: bool
    replay: bytes | None
    revoked_at: datetime | None


class GrantedRefreshToken(NamedTuple):
    """A refresh token with its grant, the user, and the end of the grant's session if that has not ended."""

    token: RefreshTokenRow
    grant: GrantRow
    user: UserRow
    session_expires_at: datetime | None

    def is_live(self, now: datetime) -> bool:
        """Return whether tokens can be issued under the grant at `now`. The state of this token is not checked."""
        has_session = self.session_expires_at is not None and now < self.session_expires_at
        return (
            self.grant.is_live(now) and (self.grant.offline or has_session) and not self.user.is_banned(now)
        )


_TOKEN = tuple(col(getattr(OauthToken, name)) for name in RefreshTokenRow._fields)


def _granted(columns: Sequence[Any]) -> GrantedRefreshToken:
    grant, user = len(_TOKEN), len(_TOKEN) + len(GRANT_COLUMNS)
    return GrantedRefreshToken(
        RefreshTokenRow._make(columns[:grant]),
        GrantRow._make(columns[grant:user]),
        UserRow._make(columns[user:-1]),
        columns[-1],
    )


REFRESH_TOKEN_BY_DIGEST = ReadStatement(
    select(*_TOKEN, *GRANT_COLUMNS, *USER_COLUMNS, col(Session.expires_at))
    .select_from(User)
    .join(OauthGrant, col(OauthGrant.user_id) == col(User.id))
    .join(OauthToken, col(OauthToken.grant_id) == col(OauthGrant.id))
    .outerjoin(Session, col(Session.id) == col(OauthGrant.session_id))
    .where(by(OauthToken.token), col(OauthToken.kind) == TokenKind.REFRESH.value),
    _granted,
)
"""The refresh token with a digest, even if it was replaced, revoked or has expired, with its grant and user."""

ADD_TOKEN = insert(OauthToken)

_NOW = bindparam("now", type_=Instant())

_LIVE_GRANT = (
    select(col(OauthGrant.id))
    .select_from(User)
    .join(OauthGrant, col(OauthGrant.user_id) == col(User.id))
    .outerjoin(Session, col(Session.id) == col(OauthGrant.session_id))
    .where(
        is_(OauthGrant.id, "live_grant"),
        col(OauthGrant.revoked_at).is_(None),
        col(OauthGrant.expires_at) > _NOW,
        or_(col(OauthGrant.offline), col(Session.expires_at) > _NOW),
        or_(~col(User.banned), col(User.ban_expires) <= _NOW),
    )
    # The end of a session, and every other end of a grant, changes or deletes its row: each waits for this lock.
    .with_for_update(of=[OauthGrant], key_share=True)
    .scalar_subquery()
)

ROTATE_TOKEN = (
    update(table_of(OauthToken))
    .where(
        is_(OauthToken.token, "digest"),
        col(OauthToken.kind) == TokenKind.REFRESH.value,
        is_(OauthToken.client_id, "client"),
        col(OauthToken.rotated_at).is_(None),  # defence: O9 unrotated
        col(OauthToken.revoked_at).is_(None),
        col(OauthToken.expires_at) > _NOW,
        col(OauthToken.grant_id) == _LIVE_GRANT,
    )
    .returning(col(OauthToken.token))
)
"""Mark the refresh token with a `digest` as replaced (set `rotated_at` and `replay`), and lock its grant.

Conditions: it was not replaced or revoked before, is valid at `now`, and belongs to the `client`; its grant, with the
id `live_grant`, is live.
"""

USE_SUCCESSOR = update(table_of(OauthToken)).where(is_(OauthToken.token, "rotated"))
"""Set `successor_used` and `replay` of the token with the digest `rotated`."""

FORGET_REPLAYS = update(table_of(OauthToken)).where(
    col(OauthToken.replay).is_not(None), col(OauthToken.rotated_at) <= bindparam("until", type_=Instant())
)
"""Erase the `replay` of all tokens that were rotated before `until`."""

END_TOKENS_OF_CLIENT = delete(table_of(OauthToken)).where(is_(OauthToken.client_id, "client_id"))
"""Delete the tokens of `client_id`, those of its grants included."""

REVOKE_TOKEN = (
    update(table_of(OauthToken))
    .where(is_(OauthToken.token, "digest"), col(OauthToken.revoked_at).is_(None))
    .returning(col(OauthToken.kind))
)
"""Revoke only the token with a `digest`, not its grant: set `revoked_at` and `updated_at`."""
