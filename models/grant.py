"""The table `grant`: things that may be used once, within their time."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import Index
from sqlmodel import Field

from models.base import Instant, Timestamped


class Purpose(StrEnum):
    """What a grant is for; a token made for one purpose is worth nothing for another.

    `SPENT` is the odd one: the mark of a provider's ID token that signs nobody in any more.
    """

    RESET = "reset"
    VERIFY = "verify"
    CHANGE_EMAIL = "change-email"
    DELETE = "delete"
    CHALLENGE = "challenge"
    MAIL_CODE = "mail-code"
    OAUTH_STATE = "oauth-state"
    SPENT = "spent"


class Grant(Timestamped, table=True):
    """A token that was handed out, by its digest; of a mailed code the digest is that of what the code is bound to.

    Of a spent ID token it is that of what was signed; the mark belongs to no user, so that it outlives each.
    """

    __table_args__ = (Index(None, "user_id", "purpose"),)

    digest: bytes = Field(primary_key=True)
    purpose: str
    user_id: str | None = Field(default=None, foreign_key="user.id", ondelete="CASCADE", max_length=32)
    code: bytes | None = None
    binding: bytes | None = None
    remembered: bool | None = None
    attempts: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    email: str | None = None
    payload: bytes | None = Field(default=None, repr=False)
    expires_at: datetime = Field(index=True, sa_type=Instant)
