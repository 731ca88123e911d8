"""Policy for email addresses, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class EmailVerificationPolicy:
    """When and how an email address is verified."""

    enabled: bool
    """`email_verification.enabled`, and a mail sender is configured."""
    required: bool
    """`email_verification.required`, and a mail sender is configured."""
    send_on_sign_up: bool
    send_on_sign_in: bool
    token_expires_in: timedelta


@dataclass(frozen=True, slots=True)
class ChangeEmailPolicy:
    """How a user may change their email address."""

    enabled: bool
    immediate_if_unverified: bool
