"""What the operator decides about trusted devices."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class TrustedDevicePolicy:
    """How long a device is not asked for a code; each use extends it."""

    trust_expires_in: timedelta
