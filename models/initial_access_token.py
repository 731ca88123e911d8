"""The table `initial_access_token`: tokens that let a program register clients (RFC 7591, section 3)."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import bindparam, delete, select, update
from sqlmodel import Field, col

from models.base import Instant, Record, Retention
from models.statements import insert, is_, table_of


class InitialAccessToken(Record, table=True):
    """One token, stored as its digest."""

    __tablename__ = "initial_access_token"
    __retention__ = (Retention("expires_at"),)

    token: bytes = Field(unique=True)
    label: str = Field(max_length=64)
    uses_left: int
    expires_at: datetime = Field(index=True, sa_type=Instant)


class InitialTokenRow(NamedTuple):
    """A token as read by a query, without its digest."""

    id: str
    label: str
    uses_left: int
    expires_at: datetime
    created_at: datetime


_LEFT = (
    col(InitialAccessToken.uses_left) > 0,  # defence: O13 token-uses
    col(InitialAccessToken.expires_at) > bindparam("now", type_=Instant()),  # defence: O13 token-expiry
)

LIST_INITIAL_TOKENS = (
    select(*(col(getattr(InitialAccessToken, name)) for name in InitialTokenRow._fields))
    .where(*_LEFT)
    .order_by(col(InitialAccessToken.created_at), col(InitialAccessToken.id))
    .execution_options(row=InitialTokenRow)
)
"""The tokens that can be used at `now`, oldest first."""

USE_INITIAL_TOKEN = (
    update(table_of(InitialAccessToken))
    .where(is_(InitialAccessToken.token, "digest"), *_LEFT)
    .values(uses_left=col(InitialAccessToken.uses_left) - 1)
    .returning(col(InitialAccessToken.label))
)
"""Reduce the remaining uses of the token with a `digest` by one, if it can be used at `now`; set `updated_at`."""

ADD_INITIAL_TOKEN = insert(InitialAccessToken)

REMOVE_INITIAL_TOKEN = (
    delete(table_of(InitialAccessToken))
    .where(is_(InitialAccessToken.id, "token_id"))
    .returning(col(InitialAccessToken.id))
)
"""Delete the token `token_id`."""
