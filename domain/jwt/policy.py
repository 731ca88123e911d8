"""Policy of signed tokens and their keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class JwtPolicy:
    """The contents of session tokens, and the lifetimes of signing keys."""

    enabled: bool
    """Whether tokens are signed for other services."""
    issuer: str
    audiences: Sequence[str]
    """Audiences that may be requested; the first is the default."""
    algorithms: Sequence[str]
    """Each of these algorithms has a signing key; that of the first algorithm signs session tokens."""
    expires_in: timedelta
    claims: Sequence[str]
    """The names of the claims about the user and the active organization in a session token."""
    header: bool
    """Whether /get-session also returns a token."""
    rotation_interval: timedelta
    """How long a key signs; 0 means without limit."""
    publish_ahead: timedelta
    """How long a key is published before it signs."""
    keep: timedelta
    """How long a key is published after it has signed."""
    jwks_max_age: timedelta
