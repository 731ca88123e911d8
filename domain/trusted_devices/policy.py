"""Policy for trusted devices, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class TrustedDevicePolicy:
    """How long a trusted device skips the second factor; each use extends this time."""

    trust_expires_in: timedelta
