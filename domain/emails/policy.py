"""Policy for email addresses, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class EmailVerificationPolicy:
    """Policy of email verification."""

    enabled: bool
    """`email_verification.enabled`, and a mail sender is configured."""
    required: bool
    """`email_verification.required`, and a mail sender is configured."""
    send_on_sign_up: bool
    send_on_sign_in: bool
    token_expires_in: timedelta


@dataclass(frozen=True, slots=True)
class ChangeEmailPolicy:
    """Policy of email changes."""

    enabled: bool
    immediate_if_unverified: bool
