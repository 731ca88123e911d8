"""The table `grant`: tokens and codes that can be used once, before they expire."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import Index, select, text
from sqlmodel import Field, col

from models.base import Access, Instant, Retention, Timestamped
from models.queries import ReadStatement, by
from models.user import USER_COLUMNS, User, UserRow


class Purpose(StrEnum):
    """The purpose of a one-time token; it is not accepted for any other purpose.

    `SPENT` is different: it marks an ID token or a client's assertion that must not be used again. It is also the
    purpose of decoys, which are stored only so that a request for which no link is sent takes as long as any other.
    """

    RESET = "reset"
    VERIFY = "verify"
    CHANGE_EMAIL = "change-email"
    DELETE = "delete"
    DISOWN = "disown"
    CHALLENGE = "challenge"
    MAIL_CODE = "mail-code"
    OAUTH_STATE = "oauth-state"
    SSO_RESPONSE = "sso-response"
    SSO_TEST = "sso-test"
    MAGIC_LINK = "magic-link"
    CODE_SIGN_IN = "code-sign-in"
    CODE_VERIFY = "code-verify"
    CODE_RESET = "code-reset"
    CODE_CHANGE = "code-change"
    PASSKEY_REGISTER = "passkey-register"
    PASSKEY_SIGN_IN = "passkey-sign-in"
    SPENT = "spent"


MAILED_CODES = (Purpose.CODE_SIGN_IN, Purpose.CODE_VERIFY, Purpose.CODE_RESET, Purpose.CODE_CHANGE)
"""The codes that are bound to an email address."""
MAILBOX_PROOFS = (Purpose.MAGIC_LINK, *MAILED_CODES)
"""The links and codes that prove that a user reads a mailbox. They have no user if the address has none."""

_TELLABLE = (Purpose.VERIFY, Purpose.CHANGE_EMAIL)
"""Tokens that are kept for a while after their expiry, so that TOKEN_EXPIRED differs from INVALID_TOKEN."""

_EMAIL = text("email IS NOT NULL")


class OneTimeToken(Timestamped, table=True):
    """A token, stored as its digest. A code sent by email has the digest of its session, challenge or address.

    A used ID token is stored under the digest of its signed part. It has no user, so that it stays when the user is
    deleted.
    """

    __tablename__ = "grant"
    __table_args__ = (
        Index(None, "user_id", "purpose"),
        Index(None, "email", postgresql_where=_EMAIL, sqlite_where=_EMAIL),
    )
    __export__ = "grants"
    __retention__ = (
        Retention("expires_at", where=lambda row: row.purpose.not_in((*_TELLABLE, *MAILED_CODES))),
        Retention("expires_at", timedelta(days=7), where=lambda row: row.purpose.in_(_TELLABLE)),
        # Kept after expiry, so that OTP_EXPIRED can be distinguished from INVALID_OTP.
        Retention("expires_at", timedelta(minutes=15), where=lambda row: row.purpose.in_(MAILED_CODES)),
    )

    __access__ = (Access("tokens", None, expiry="expires_at"),)  # defence: M5 tokens

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


class OneTimeTokenRow(NamedTuple):
    """A one-time token as read by a query; the fields are those of `OneTimeToken`."""

    purpose: str
    user_id: str | None
    remembered: bool | None
    attempts: int
    email: str | None
    binding: bytes | None
    expires_at: datetime


_ONE_TIME_TOKEN = tuple(col(getattr(OneTimeToken, name)) for name in OneTimeTokenRow._fields)


def _one_time_token_and_user(columns: Sequence[Any]) -> tuple[OneTimeTokenRow, UserRow]:
    return OneTimeTokenRow._make(columns[: len(_ONE_TIME_TOKEN)]), UserRow._make(
        columns[len(_ONE_TIME_TOKEN) :]
    )


ONE_TIME_TOKEN_BY_DIGEST = ReadStatement(
    select(*_ONE_TIME_TOKEN, *USER_COLUMNS)
    .select_from(User)
    .join(OneTimeToken, col(OneTimeToken.user_id) == col(User.id))
    .where(by(OneTimeToken.digest)),
    _one_time_token_and_user,
)
"""The one-time token with a digest, expired or not, and its user."""
