"""What the operator decides about limits."""

from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple


class Quota(NamedTuple):
    """How many within how long; a number of 0 means no limit."""

    number: int
    window: timedelta


@dataclass(frozen=True, slots=True)
class RateLimitPolicy:
    """How often something may be tried; with `limits.enabled` false every number is 0."""

    requests: Quota
    failures: Quota
    network_failures: Quota
    account_failures: Quota
    mail_burst: Quota
    mail_daily: Quota
