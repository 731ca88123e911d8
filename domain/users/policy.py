"""What the operator decides about users."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UsernamePolicy:
    """Whether users have usernames."""

    enabled: bool
