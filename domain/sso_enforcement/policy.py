"""Policy for required connections, from the operator's settings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SsoEnforcementPolicy:
    """Whether domains may require a connection at all."""

    enabled: bool
