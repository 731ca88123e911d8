"""Policy for users who delete themselves, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class DeletionPolicy:
    """Whether users can delete their account, and how they confirm it."""

    enabled: bool
    confirm_by_mail: bool
    token_expires_in: timedelta
