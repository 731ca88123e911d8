"""The one clock: UTC, cut to milliseconds (behaviour 9.1)."""

import time
from collections.abc import Callable
from datetime import datetime

from models.base import from_milliseconds

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """Give the present moment."""
    return from_milliseconds(time.time_ns() // 1_000_000)
