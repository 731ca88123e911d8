"""Policy for sign-up and sign-in, from the operator's settings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EmailPasswordPolicy:
    """Whether sign-up and sign-in with a password are enabled."""

    enabled: bool


@dataclass(frozen=True, slots=True)
class SignUpPolicy:
    """Who may sign up, and whether sign-up creates a session."""

    enabled: bool
    auto_sign_in: bool
    notify_existing: bool
