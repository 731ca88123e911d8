"""The queries for a token in a request: one statement reads the token and everything that its validity depends on.

A token is live as long as its grant, its user, its client and (for an online grant) its session are. A token that acts
for the client itself has no grant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Select, select
from sqlmodel import col

from models.oauth_client import OauthClient
from models.oauth_grant import OauthGrant
from models.oauth_token import OauthToken
from models.queries import ReadStatement, by, with_user
from models.session import Session
from models.statements import table_of
from models.user import USER_COLUMNS, User, UserRow, ban_holds


class TokenRow(NamedTuple):
    """A token as read by a query; the fields are those of `OauthToken`."""

    kind: str
    client_id: str
    scopes: str
    resource: str | None
    created_at: datetime
    expires_at: datetime
    rotated_at: datetime | None
    revoked_at: datetime | None

    def is_live(self, now: datetime) -> bool:
        """Return whether the token was not revoked, replaced (refresh token) or expired at `now`."""
        return self.revoked_at is None and self.rotated_at is None and now < self.expires_at


class StoredGrant(NamedTuple):
    """The grant of a token: what decides whether it gives access, and what introspection shows."""

    id: str
    user_id: str
    offline: bool
    auth_time: datetime
    amr: str
    expires_at: datetime
    revoked_at: datetime | None
    session_expires_at: datetime | None
    """When the session of the grant expires; None if the session has ended."""
    user_banned: bool
    user_ban_expires: datetime | None
    client_disabled_at: datetime | None

    def is_live(self, now: datetime) -> bool:
        """Return whether the grant gives access at `now`."""
        return (
            self.revoked_at is None
            and now < self.expires_at
            and (self.offline or _is_after(self.session_expires_at, now))
            and not ban_holds(self.user_banned, self.user_ban_expires, now)
            and self.client_disabled_at is None
        )


@dataclass(frozen=True, slots=True, eq=False)
class StoredToken:
    """A token, and what its validity depends on.

    As long as the rows do not change, a query mostly returns the same object, so that results for it can be cached.
    """

    token: TokenRow
    granted: StoredGrant | None
    """None for a token that acts for the client itself."""
    client_disabled_at: datetime | None

    def is_live(self, now: datetime) -> bool:
        """Return whether the token gives access at `now`."""
        depends_on = self.client_disabled_at is None if self.granted is None else self.granted.is_live(now)
        return depends_on and self.token.is_live(now)


def _is_after(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and now < moment


_TOKEN = tuple(col(getattr(OauthToken, name)) for name in TokenRow._fields)
_GRANTED = (
    *(col(getattr(OauthGrant, name)) for name in StoredGrant._fields[:7]),
    col(Session.expires_at),
    col(User.banned),
    col(User.ban_expires),
    col(OauthClient.disabled_at),
)
_OF_USER = col(OauthGrant.user_id) == col(User.id)


def _token(columns: Sequence[Any]) -> StoredToken:
    granted = columns[len(_TOKEN) :]
    return StoredToken(
        TokenRow._make(columns[: len(_TOKEN)]),
        None if granted[0] is None else StoredGrant._make(granted),
        granted[-1],
    )


def _token_and_user(columns: Sequence[Any]) -> tuple[StoredToken, UserRow | None]:
    end = len(_TOKEN) + len(_GRANTED)
    user = None if columns[end] is None else UserRow._make(columns[end:])
    return _token(columns[:end]), user


def _tokens(*more: Any) -> Select[*tuple[Any, ...]]:
    """Return the query of tokens with the state of their client, and of grant, session and user if there is a grant."""
    tokens, clients, grants = table_of(OauthToken), table_of(OauthClient), table_of(OauthGrant)
    joined = tokens.join(clients, col(OauthToken.client_id) == col(OauthClient.client_id))
    joined = joined.join(grants, col(OauthToken.grant_id) == col(OauthGrant.id), isouter=True)
    joined = joined.join(table_of(Session), col(OauthGrant.session_id) == col(Session.id), isouter=True)
    query = select(*_TOKEN, *_GRANTED, *more).select_from(with_user(joined, table_of(User), _OF_USER))
    return query.where(by(OauthToken.token))


TOKEN_BY_DIGEST = ReadStatement(_tokens(), _token, key=OauthToken.token, cacheable=True)
"""The token with a SHA-256 digest, even if it has ended, and what its validity depends on."""

TOKEN_AND_USER_BY_DIGEST = ReadStatement(
    _tokens(*USER_COLUMNS), _token_and_user, key=OauthToken.token, cacheable=True
)
"""The token with a SHA-256 digest, as in `TOKEN_BY_DIGEST`, and its user; None if it acts for the client itself."""

GRANT_BY_ID = ReadStatement(
    select(*_GRANTED)
    .select_from(User)
    .join(OauthGrant, _OF_USER)
    .join(OauthClient, col(OauthGrant.client_id) == col(OauthClient.client_id))
    .join(Session, col(OauthGrant.session_id) == col(Session.id), isouter=True)
    .where(by(OauthGrant.id)),
    StoredGrant._make,
    key=OauthGrant.id,
    cacheable=True,
)
"""The grant with an id, even if it has ended. It is read for access tokens that are JWTs, which are not stored."""
