"""Policy for sessions, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class SessionPolicy:
    """The lifetime of sessions and their number per user; an absolute lifetime of zero means no limit."""

    expires_in: timedelta
    update_age: timedelta
    absolute_lifetime: timedelta
    not_remembered_expires_in: timedelta
    fresh_age: timedelta
    list_tokens: bool
    max_per_user: int
    """The limit of active sessions; 0 for none. Sessions that an operator opened in the user's name do not count."""
    listing: bool
    """Whether users see their sessions."""
    revocation: bool
    """Whether users end their sessions, other than by signing out."""


@dataclass(frozen=True, slots=True)
class SessionLimitThreshold:
    """How far below `max_per_user` a user must be so that concurrent sign-ins cannot exceed it."""

    few: int | None
    """A user with fewer sessions stays within the limit even after all sign-ins that this process runs at once;
    None without a limit."""
