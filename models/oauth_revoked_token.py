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
    """One revoked token, by its `jti`. The row is deleted when the token has expired."""

    __tablename__ = "oauth_revoked_token"
    __retention__ = (Retention("expires_at"),)

    jti: str = Field(primary_key=True, max_length=32)
    expires_at: datetime = Field(index=True, sa_type=Instant)


REVOKED_TOKEN = ReadStatement(
    select(col(OauthRevokedToken.jti)).where(by(OauthRevokedToken.jti)),
    itemgetter(0),
    key=OauthRevokedToken.jti,
)
"""The `jti` of a token if the token was revoked; otherwise nothing."""


@cache
def revoke_token(dialect: str) -> Any:
    """Return the statement that stores the token `jti` as revoked; `expires_at` is the token's expiry.

    The statement returns a row unless the token was revoked before.
    """
    noting = upsert(dialect, OauthRevokedToken)
    return noting.on_conflict_do_nothing().returning(col(OauthRevokedToken.jti))
