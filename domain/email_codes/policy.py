"""What the operator decides about email codes."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class EmailCodePolicy:
    """How mailed codes work."""

    enabled: bool
    expires_in: timedelta
    attempts: int
    sign_up: bool
    verify_current_email: bool
