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
    """The limit of active sessions; 0 for none. Sessions that an administrator opened in a user's name do not count."""
    listing: bool
    """Whether users may list their sessions."""
    revocation: bool
    """Whether users may end their sessions in other ways than by signing out."""


@dataclass(frozen=True, slots=True)
class SessionLimitThreshold:
    """With fewer sessions than `few`, a sign-in of a user need not check the limit `SessionPolicy.max_per_user`."""

    few: int | None
    """A user with fewer sessions stays below the limit even if every concurrent request of this process signs them in.

    None if there is no limit."""
