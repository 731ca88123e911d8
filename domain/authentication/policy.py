"""Policy for sign-up and sign-in, from the operator's settings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EmailPasswordPolicy:
    """Whether sign-up and sign-in with a password are enabled."""

    enabled: bool


@dataclass(frozen=True, slots=True)
class SignUpPolicy:
    """Policy of sign-up: whether it is open, and whether it creates a session."""

    enabled: bool
    auto_sign_in: bool
    notify_existing: bool
