"""What the operator decides about users (behaviour 5.7)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UsernamePolicy:
    """Whether users have usernames."""

    enabled: bool
