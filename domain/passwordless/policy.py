"""Policy for magic links and mailed codes, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class MagicLinkPolicy:
    """How users sign in with a link."""

    expires_in: timedelta
    sign_up: bool
    confirm: bool
    """Whether opening the link shows a page whose button signs in."""
    page: str | None
    """The page that confirms, instead of the service's own."""


@dataclass(frozen=True, slots=True)
class EmailOtpPolicy:
    """How mailed codes work."""

    expires_in: timedelta
    attempts: int
    sign_up: bool
    verify_current_email: bool
