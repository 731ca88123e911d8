"""Policy for magic links and mailed codes, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class MagicLinkPolicy:
    """How users sign in with a link."""

    enabled: bool
    expires_in: timedelta
    sign_up: bool
    confirm_page: str | None
    """The page that a link opens, whose button signs in; None if opening the link signs in."""


@dataclass(frozen=True, slots=True)
class EmailOtpPolicy:
    """How mailed codes work."""

    enabled: bool
    expires_in: timedelta
    attempts: int
    sign_up: bool
    verify_current_email: bool
