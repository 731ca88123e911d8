"""What the operator decides about the accounts of a user (behaviour 7.5)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AccountPolicy:
    """What may be done with accounts."""

    allow_unlinking_all: bool
