"""Policy for the second factor, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class TwoFactorPolicy:
    """The methods, lifetimes and limits of the second factor."""

    issuer: str
    """The name an authenticator shows, unless the user requests another; without a colon."""
    otp_available: bool
    """Whether `two_factor.otp_enabled` is set and a mail sender is configured."""
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
    """Whether a sign-in through a provider requires it too."""
    page: str | None
    """The redirect URL of such a sign-in if a code is required, instead of its callbackURL; trusted."""
