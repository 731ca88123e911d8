"""Policy for email codes, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class EmailCodePolicy:
    """Lifetime, attempts and permitted uses of codes sent by email."""

    enabled: bool
    expires_in: timedelta
    attempts: int
    sign_up: bool
    verify_current_email: bool
