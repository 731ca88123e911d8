"""The limit of requests per client network and operation.

In each window, an instance lets the first tenth of the limit pass by itself, so that ordinary reads cost no write. Then
it takes further tenths from a counter that all instances share.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

import structlog

from domain.context import Client
from domain.errors import Limited, Unavailable
from domain.ports import Cipher, Limit
from domain.rate_limits.policy import Quota

MOST_WINDOWS = 100_000
"""Maximum number of windows in memory; above it the oldest window is dropped with its count."""

_COUNTER = "limits.requests"
"""The purpose of the keyed digests that are the keys of the shared counters."""

_log = structlog.get_logger(__name__)


class WindowCount(NamedTuple):
    """The value of a shared counter, and when its window ends."""

    number: int
    end: datetime


class SharedCounters(Protocol):
    """The interface of the counters that all instances share."""

    async def hit_many(self, count: Limit, amount: int, now: datetime, end: datetime) -> WindowCount:
        """Add `amount` to a counter, also above its limit; return the new count and the end of its window.

        The window of a new counter ends at `end`. Raises Unavailable.
        """


@dataclass(slots=True)
class Window:
    """The current window of one network and operation in this instance."""

    begin: datetime
    end: datetime
    left: float
    """Requests that may still pass without the shared counter; infinite while it is unavailable."""
    unreported: int
    """Requests not yet reported to the shared counter."""
    factor: int = 1
    """The factor by which the limit of the operation exceeds the quota."""
    is_spent: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def holds(self, now: datetime) -> bool:
        """Return whether the window contains `now`."""
        # A window that has not begun yet is from before the clock was set back.
        return self.begin <= now < self.end  # defence: R20 window-begin


class RequestLimiter:
    """Counts requests of each network and operation in fixed windows."""

    def __init__(
        self,
        quota: Quota,
        *,
        shared: SharedCounters,
        cipher: Cipher,
        clock: Callable[[], datetime],
        reached: Callable[[Client, str], None],
    ) -> None:
        """Create a limiter without windows. `quota` is the limit of one network and operation; its number is not 0.

        `reached` is called once for each window of the shared counter in which the limit is reached.
        """
        self._quota = quota
        # A tenth per instance: small enough that several instances exceed the limit little, large enough that few
        # requests write.
        self._tenth = math.ceil(quota.number / 10)
        self._shared = shared
        self._cipher = cipher
        self._clock = clock
        self._reached = reached
        self.windows: OrderedDict[tuple[str, str], Window] = OrderedDict()
        """The windows by network and operation, in the order in which they began."""

    def passes(self, network: str, operation_id: str, now: datetime, factor: int = 1) -> bool:
        """Count a request; return whether it passes without the shared counter. Otherwise the caller must call `hit`.

        The limit of the operation is `factor` times the quota.
        """
        window = self.windows.get((network, operation_id))
        if window is None or not window.holds(now):
            window = self._begin((network, operation_id), now, factor)
        if window.left:
            window.left -= 1
            return True
        return False

    async def hit(self, client: Client, operation_id: str, factor: int = 1) -> None:
        """Count, with the shared counter, a request that `passes` did not let through.

        Raises Limited above the limit, which is `factor` times the quota. If the shared counter is unavailable, this
        request and all later ones of the same network, operation and window pass.
        """
        network = client.network or ""
        window = self.windows.get((network, operation_id)) or self._begin(
            (network, operation_id), self._clock(), factor
        )
        # Concurrent requests of one window take one tenth from the shared counter, not one each.
        async with window.lock:
            if not window.left and not window.is_spent:
                await self._hit(window, client, operation_id)
            if window.left:
                window.left -= 1
                return
        wait = min(window.end - self._clock(), self._quota.window)
        limited = Limited(retry_after=max(1, math.ceil(wait.total_seconds())))
        limited.kind = "requests"
        raise limited

    async def _hit(self, window: Window, client: Client, operation_id: str) -> None:
        key = self._cipher.digests(_COUNTER, f"{operation_id} {client.network or ''}")[0]
        number, tenth = self._quota.number * window.factor, self._tenth * window.factor
        count = Limit(key, number, self._quota.window, unbounded=True)
        amount = tenth + window.unreported
        try:
            # defence: V66 shared-counter
            counted = await self._shared.hit_many(count, amount, self._clock(), window.end)
        except Unavailable:
            _log.warning("limits.requests_uncounted", operation=operation_id)
            # The request limit protects capacity, and an outage of its store must not stop all requests. Limits on
            # failures do refuse then.
            window.left = math.inf
            return
        window.unreported = 0
        window.left = max(0, tenth - max(0, counted.number - number))
        if not window.left:
            window.is_spent, window.begin, window.end = True, counted.end - self._quota.window, counted.end
        # Of all the hits in one shared window, of any instance, exactly one crosses the limit.
        if counted.number - amount <= number < counted.number:
            self._reached(client, operation_id)

    def _begin(self, key: tuple[str, str], now: datetime, factor: int) -> Window:
        """Begin a window, and remove up to two windows that are over."""
        # Two for each new one, so that there are never many more windows than are in use.
        self.windows.pop(key, None)
        for _ in range(2):
            oldest = next(iter(self.windows.values()), None)
            if oldest is not None and (not oldest.holds(now) or len(self.windows) >= MOST_WINDOWS):
                self.windows.popitem(last=False)
        first = self._tenth * factor
        window = self.windows[key] = Window(now, now + self._quota.window, first, first, factor)
        return window
