"""Policy for administration, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class AdminPolicy:
    """Policy of administrators: their permissions and the rules for using them."""

    fresh_age: timedelta
    """The age up to which a session may be used for consequential changes; zero for any age."""
    default_ban_reason: str
    default_ban_expires_in: timedelta
    """Zero for permanent bans."""
    count_limit: int
    """The number up to which the users of a list are counted."""
    scan_timeout: timedelta
    """How long a database query for a list may run."""


@dataclass(frozen=True, slots=True)
class ImpersonationPolicy:
    """Whether administrators may impersonate users, and which operations are allowed while impersonating."""

    enabled: bool
    expires_in: timedelta
    restricted: bool
    """Whether operations are refused that could leave a lasting credential."""
    notify: bool
    """Whether the user gets an email."""
