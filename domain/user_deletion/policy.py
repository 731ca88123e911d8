"""Policy for users who delete themselves, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class DeletionPolicy:
    """How deletion is confirmed."""

    confirm_by_mail: bool
    token_expires_in: timedelta
