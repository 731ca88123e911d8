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
    """The number of time steps of 30 seconds before and after the present one whose codes are accepted."""
    otp_expires_in: timedelta
    otp_attempts: int
    backup_code_count: int
    challenge_expires_in: timedelta
    challenge_attempts: int
    lock_after: int
    """The number of wrong codes in a row at sign-ins after which the second factor is locked for `lock_for`."""
    lock_for: timedelta
    enforce_for_social: bool
    """Whether a sign-in through a provider requires the second factor, too."""
    page: str | None
    """The trusted page for the code after a sign-in through a provider; None for the callbackURL of the sign-in."""
