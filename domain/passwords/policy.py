"""Policy for passwords, from the operator's settings."""

from collections.abc import Set
from dataclasses import dataclass, field
from datetime import timedelta

from domain.mail.policy import Sender


@dataclass(frozen=True, slots=True)
class PasswordPolicy:
    """The requirements of a new password; lengths are code points after NFKC."""

    min_length: int
    max_length: int
    blocklist: bool
    """Whether passwords are refused that are on the list of common ones, or equal a name of the user or service."""
    require_current_password: bool


@dataclass(frozen=True, slots=True)
class Blocklist:
    """The common passwords; empty if the list is disabled."""

    passwords: Set[str] = field(repr=False)
    """The passwords in the form that `strength.canonical` returns."""


@dataclass(frozen=True, slots=True)
class PasswordResetPolicy:
    """How forgotten passwords are reset."""

    sender: Sender
    token_expires_in: timedelta
    revoke_sessions: bool
