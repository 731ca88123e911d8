"""Policy for the accounts of a user, from the operator's settings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AccountPolicy:
    """Whether users may remove their last linked account."""

    allow_unlinking_all: bool
