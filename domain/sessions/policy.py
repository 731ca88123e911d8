"""What the operator decides about sessions."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class SessionPolicy:
    """How long sessions live, and how many a user may have; an absolute lifetime of zero means no limit."""

    expires_in: timedelta
    update_age: timedelta
    absolute_lifetime: timedelta
    not_remembered_expires_in: timedelta
    fresh_age: timedelta
    list_tokens: bool
    max_per_user: int
    """Live sessions; 0 for no limit. Those an operator has opened in the user's name do not count."""


@dataclass(frozen=True, slots=True)
class SessionLimitThreshold:
    """How far below `max_per_user` a user is safe from exceeding it through concurrent sign-ins."""

    few: int | None
    """A user with fewer sessions stays within the limit, even after all sign-ins that this process lets be under way;
    None where there is no limit."""
