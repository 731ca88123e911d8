"""The table `logout_delivery`: notices to clients that a session has ended (OpenID Connect Back-Channel Logout)."""

from datetime import datetime, timedelta

from sqlalchemy import Index, select
from sqlmodel import Field, col

from models.base import Instant, Record, Retention
from models.oauth_client import OauthClient
from models.oauth_grant import OauthGrant
from models.statements import insert, is_


class LogoutDelivery(Record, table=True):
    """A notice to one client that one session has ended. It is deleted when it was delivered, or has finally failed.

    The user is not a foreign key, because clients are notified of the sessions of deleted users, too.
    """

    __tablename__ = "logout_delivery"
    __retention__ = (Retention("expires_at", timedelta(hours=1)),)
    __table_args__ = (Index(None, "client_id", "next_attempt"),)

    client_id: str = Field(foreign_key="oauth_client.client_id", ondelete="CASCADE", max_length=512)
    subject: str = Field(max_length=32)
    """The user id, which the client knows as `sub`."""
    sid: str = Field(max_length=64)
    """The id of the session as the client knows it."""
    attempts: int = 0
    next_attempt: datetime = Field(sa_type=Instant)
    lease_until: datetime | None = Field(default=None, sa_type=Instant)
    expires_at: datetime = Field(index=True, sa_type=Instant)
    """The time after which no further attempt is made."""


ADD_LOGOUT_DELIVERY = insert(LogoutDelivery)

LOGOUT_GRANTS = (
    select(
        col(OauthGrant.client_id), col(OauthGrant.user_id), col(OauthGrant.sid), col(OauthClient.registration)
    )
    .join(OauthClient, col(OauthClient.client_id) == col(OauthGrant.client_id))
    .where(
        col(OauthClient.disabled_at).is_(None),
        # Most clients have none, and their metadata need not be parsed.
        col(OauthClient.registration).contains('"backchannel_logout_uri"'),
    )
)
"""The grants, live or not, to enabled clients that may want notices of the end of sessions; callers add conditions.

A session with several grants appears several times.
"""

LOGOUT_GRANTS_OF_USER = LOGOUT_GRANTS.where(is_(OauthGrant.user_id, "user_id"))
"""The grants of `LOGOUT_GRANTS` by the user `user_id`."""

LIVE_LOGOUT_GRANTS_OF_USER = LOGOUT_GRANTS_OF_USER.where(col(OauthGrant.session_id).is_not(None))
"""The grants of `LOGOUT_GRANTS` by the user `user_id` whose session has not ended."""
