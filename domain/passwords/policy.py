"""What the operator decides about passwords."""

from collections.abc import Set
from dataclasses import dataclass, field
from datetime import timedelta

from domain.mail.policy import Sender


@dataclass(frozen=True, slots=True)
class PasswordPolicy:
    """What a new password must satisfy; lengths are code points after NFKC."""

    min_length: int
    max_length: int
    blocklist: bool
    """Whether common passwords are refused, those of the list and those that name the user or the service."""
    require_current_password: bool


@dataclass(frozen=True, slots=True)
class Blocklist:
    """The common passwords; none when the list is switched off."""

    passwords: Set[str] = field(repr=False)
    """Case-folded NFKC forms."""


@dataclass(frozen=True, slots=True)
class PasswordResetPolicy:
    """How forgotten passwords are reset."""

    sender: Sender
    token_expires_in: timedelta
    revoke_sessions: bool
