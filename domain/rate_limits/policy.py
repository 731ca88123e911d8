"""Policy for limits, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple


class Quota(NamedTuple):
    """A limit: the number of events allowed per time window. A number of 0 means no limit."""

    number: int
    window: timedelta


@dataclass(frozen=True, slots=True)
class RateLimitPolicy:
    """The limits from the settings; if `limits.enabled` is off, every number is 0."""

    requests: Quota
    failures: Quota
    network_failures: Quota
    account_failures: Quota
    mail_burst: Quota
    mail_daily: Quota
    sign_in_mail_burst: Quota
    sign_in_mail_daily: Quota
