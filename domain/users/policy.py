"""Policy for users, from the operator's settings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UsernamePolicy:
    """Whether users have usernames."""

    enabled: bool
