"""The queries of a token that is presented: one statement reads it and all that it depends on.

A token is live while its grant, the session of an online grant, its user and its client are. A token that acts for the
client itself has no grant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Select, select
from sqlmodel import col

from models.oauth_client import CLIENT_COLUMNS, ClientRow, OauthClient
from models.oauth_grant import GRANT_COLUMNS, GrantRow, OauthGrant
from models.oauth_token import OauthToken
from models.queries import ReadStatement, by, with_user
from models.session import Session
from models.statements import table_of
from models.user import USER_COLUMNS, User, UserRow


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
        """Return whether the token itself can be used at `now`; a refresh token, whether it has no successor."""
        return self.revoked_at is None and self.rotated_at is None and now < self.expires_at


@dataclass(frozen=True, slots=True, eq=False)
class StoredGrant:
    """A grant, and what it depends on."""

    grant: GrantRow
    session_expires_at: datetime | None
    """When its session expires; None if that has ended."""
    user: UserRow
    client: ClientRow

    def is_live(self, now: datetime) -> bool:
        """Return whether the grant gives access at `now`."""
        return (
            self.grant.is_live(now)
            and (self.grant.offline or _is_after(self.session_expires_at, now))
            and not self.user.is_banned(now)
            and self.client.disabled_at is None
        )


@dataclass(frozen=True, slots=True, eq=False)
class StoredToken:
    """A token, and what it depends on. As long as the rows do not change, a query mostly returns the same object."""

    token: TokenRow
    granted: StoredGrant | None
    """None for a token that acts for the client itself."""
    client: ClientRow

    def is_live(self, now: datetime) -> bool:
        """Return whether the token gives access at `now`."""
        depends_on = self.client.disabled_at is None if self.granted is None else self.granted.is_live(now)
        return depends_on and self.token.is_live(now)


def _is_after(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and now < moment


_TOKEN = tuple(col(getattr(OauthToken, name)) for name in TokenRow._fields)
_GRANTED = (*GRANT_COLUMNS, col(Session.expires_at), *USER_COLUMNS)
_OF_USER = col(OauthGrant.user_id) == col(User.id)


def _token(columns: Sequence[Any]) -> StoredToken:
    client = ClientRow._make(columns[len(_TOKEN) : len(_TOKEN) + len(CLIENT_COLUMNS)])
    granted = columns[len(_TOKEN) + len(CLIENT_COLUMNS) :]
    return StoredToken(
        TokenRow._make(columns[: len(_TOKEN)]),
        None if granted[0] is None else _of_columns(granted, client),
        client,
    )


def _granted(columns: Sequence[Any]) -> StoredGrant:
    return _of_columns(columns[len(CLIENT_COLUMNS) :], ClientRow._make(columns[: len(CLIENT_COLUMNS)]))


def _of_columns(columns: Sequence[Any], client: ClientRow) -> StoredGrant:
    size = len(GRANT_COLUMNS)
    return StoredGrant(
        GrantRow._make(columns[:size]), columns[size], UserRow._make(columns[size + 1 :]), client
    )


def _all_of_token() -> Select[*tuple[Any, ...]]:
    """Return the query of tokens with their client, and with grant, session and user if they have a grant."""
    tokens, clients, grants = table_of(OauthToken), table_of(OauthClient), table_of(OauthGrant)
    joined = tokens.join(clients, col(OauthToken.client_id) == col(OauthClient.client_id))
    joined = joined.join(grants, col(OauthToken.grant_id) == col(OauthGrant.id), isouter=True)
    joined = joined.join(table_of(Session), col(OauthGrant.session_id) == col(Session.id), isouter=True)
    return select(*_TOKEN, *CLIENT_COLUMNS, *_GRANTED).select_from(
        with_user(joined, table_of(User), _OF_USER)
    )


TOKEN_BY_DIGEST = ReadStatement(
    _all_of_token().where(by(OauthToken.token)), _token, key=OauthToken.token, cacheable=True
)
"""The token behind a SHA-256 digest, live or not, and what it depends on."""

GRANT_BY_ID = ReadStatement(
    select(*CLIENT_COLUMNS, *_GRANTED)
    .select_from(User)
    .join(OauthGrant, _OF_USER)
    .join(OauthClient, col(OauthGrant.client_id) == col(OauthClient.client_id))
    .join(Session, col(OauthGrant.session_id) == col(Session.id), isouter=True)
    .where(by(OauthGrant.id)),
    _granted,
    key=OauthGrant.id,
    cacheable=True,
)
"""A grant by its id, live or not, and what it depends on: signed access tokens have no row, and name it."""
