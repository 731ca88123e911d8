"""Policy for required connections, from the operator's settings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SsoEnforcementPolicy:
    """Whether single sign-on is enabled, so that domains can require a connection."""

    enabled: bool
