"""The table `oauth_token`: opaque access tokens and refresh tokens."""

from datetime import datetime
from enum import StrEnum

from sqlmodel import Field

from models.base import Instant, Retention, Timestamped
from models.statements import insert


class TokenKind(StrEnum):
    """What a token is for."""

    ACCESS = "access"
    REFRESH = "refresh"


class OauthToken(Timestamped, table=True):
    """One token, by its digest. A rotated refresh token is kept as long as its grant, so that a reuse is noticed."""

    __tablename__ = "oauth_token"
    __retention__ = (Retention("kept_until"),)

    token: bytes = Field(primary_key=True)
    kind: str = Field(max_length=16)
    client_id: str = Field(
        foreign_key="oauth_client.client_id", ondelete="CASCADE", index=True, max_length=512
    )
    grant_id: str | None = Field(
        default=None, foreign_key="oauth_grant.id", ondelete="CASCADE", index=True, max_length=32
    )
    """None for a token that acts for the client itself."""
    scopes: str
    resource: str | None = None
    """The one resource (RFC 8707) of an access token, or those that a refresh token was issued with."""
    expires_at: datetime = Field(sa_type=Instant)
    kept_until: datetime = Field(index=True, sa_type=Instant)
    """When the row is deleted: at the expiry, for a refresh token at the end of its grant."""
    rotated_at: datetime | None = Field(default=None, sa_type=Instant)
    """When a refresh token was replaced by its successor."""
    predecessor: bytes | None = None
    """The digest of the refresh token that this one has replaced."""
    successor_used: bool = False
    """Whether the successor was used: from then on a repetition of this token is theft."""
    replay: bytes | None = Field(default=None, repr=False)
    """The response of the rotation, encrypted, while it may be repeated."""
    revoked_at: datetime | None = Field(default=None, sa_type=Instant)


ADD_TOKEN = insert(OauthToken)
