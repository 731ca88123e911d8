"""The one clock: UTC, cut to milliseconds."""

import time
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache

from models.base import from_milliseconds

Clock = Callable[[], datetime]

_present = lru_cache(maxsize=1)(from_milliseconds)
"""A request asks some four times, and many requests pass in one millisecond."""


def system_clock() -> datetime:
    """Return the present moment."""
    return _present(time.time_ns() // 1_000_000)
