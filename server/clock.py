"""The clock of the service: UTC, truncated to milliseconds."""

import time
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache

from models.base import from_milliseconds

Clock = Callable[[], datetime]

_present = lru_cache(maxsize=1)(from_milliseconds)
"""Cached, because a request reads the clock about four times, and many requests run in one millisecond."""


def system_clock() -> datetime:
    """Return the current time."""
    return _present(time.time_ns() // 1_000_000)
