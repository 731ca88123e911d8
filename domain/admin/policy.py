"""Policy for administration, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class AdminPolicy:
    """What administrators may do, and how."""

    fresh_age: timedelta
    """The age up to which a session may be used for consequential changes; zero for any age."""
    default_ban_reason: str
    default_ban_expires_in: timedelta
    """Zero for bans without end."""
    count_limit: int
    """The number up to which the users of a list are counted."""
    scan_timeout: timedelta
    """How long a statement of a list may run."""
