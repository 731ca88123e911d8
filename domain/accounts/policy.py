"""What the operator decides about the accounts of a user."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AccountPolicy:
    """What may be done with accounts."""

    allow_unlinking_all: bool
