"""What the operator decides about signing up and in."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EmailPasswordPolicy:
    """Whether one can sign up and in with a password."""

    enabled: bool


@dataclass(frozen=True, slots=True)
class SignUpPolicy:
    """Who may sign up, and what follows."""

    enabled: bool
    auto_sign_in: bool
    notify_existing: bool
