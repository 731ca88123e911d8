"""The table `oauth_revoked_token`: access tokens in the form of a JWT that were revoked before their expiry."""

from datetime import datetime

from sqlmodel import Field, SQLModel

from models.base import Instant, Retention


class OauthRevokedToken(SQLModel, table=True):
    """One revoked token, by its `jti`, until its expiry."""

    __tablename__ = "oauth_revoked_token"
    __retention__ = (Retention("expires_at"),)

    jti: str = Field(primary_key=True, max_length=32)
    expires_at: datetime = Field(index=True, sa_type=Instant)
