"""What the operator decides about the second factor (behaviour chapter 6)."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class TwoFactorPolicy:
    """How the second factor works."""

    issuer: str
    """What an authenticator shows, unless the user asks for another name; without a colon."""
    otp_available: bool
    """`two_factor.otp_enabled`, and a mail sender is configured."""
    totp_window: int
    """Steps of 30 seconds accepted before and after the present one."""
    otp_expires_in: timedelta
    otp_attempts: int
    backup_code_count: int
    challenge_expires_in: timedelta
    challenge_attempts: int
    lock_after: int
    """Wrong codes in a row at sign-ins."""
    lock_for: timedelta
    enforce_for_social: bool
    """Whether a sign-in through a provider asks for it too."""
    page: str | None
    """Where such a sign-in leads when a code is due, instead of to its callbackURL; a trusted address."""
