"""Policy for back-channel logout, from the operator's settings."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BackchannelLogoutPolicy:
    """Whether the OAuth provider is enabled, and what logout tokens contain."""

    enabled: bool
    issuer: str
    algorithms: Sequence[str]
    """The algorithms of signing keys; a client may have chosen one that is no longer among them."""
