"""The table `oauth_revoked_token`: access tokens in the form of a JWT that were revoked before their expiry."""

from datetime import datetime
from functools import cache
from operator import itemgetter
from typing import Any

from sqlalchemy import select
from sqlmodel import Field, SQLModel, col

from models.base import Instant, Retention
from models.queries import ReadStatement, by
from models.statements import upsert


class OauthRevokedToken(SQLModel, table=True):
    """One revoked token, by its `jti`, until its expiry."""

    __tablename__ = "oauth_revoked_token"
    __retention__ = (Retention("expires_at"),)

    jti: str = Field(primary_key=True, max_length=32)
    expires_at: datetime = Field(index=True, sa_type=Instant)


REVOKED_TOKEN = ReadStatement(
    select(col(OauthRevokedToken.jti)).where(by(OauthRevokedToken.jti)),
    itemgetter(0),
    key=OauthRevokedToken.jti,
)
"""The id of a token, if it was revoked."""


@cache
def revoke_token(dialect: str) -> Any:
    """Return the statement that notes the token `jti`, until it expires at `expires_at`.

    It returns a row unless the token was revoked before.
    """
    noting = upsert(dialect, OauthRevokedToken)
    return noting.on_conflict_do_nothing().returning(col(OauthRevokedToken.jti))
