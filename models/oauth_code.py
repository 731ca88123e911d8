"""The table `oauth_code`: authorization codes."""

from datetime import datetime, timedelta

from sqlmodel import Field

from models.base import Instant, Retention, Timestamped
from models.statements import insert


class OauthCode(Timestamped, table=True):
    """One code, by its digest. A used one is kept for a while, so that a replay is noticed."""

    __tablename__ = "oauth_code"
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
    """Encrypted."""
    scopes: str
    resources: str = ""
    expires_at: datetime = Field(index=True, sa_type=Instant)
    used_at: datetime | None = Field(default=None, sa_type=Instant)
    grant_id: str | None = Field(default=None, max_length=32)
    """The grant that the code was redeemed for."""


ADD_CODE = insert(OauthCode)
