"""Counters in a Valkey or Redis server: each request is one script, which the server runs atomically.

Windows are measured by that server's clock. The server deletes a counter when its window ends. A count is kept if the
transaction of the request is rolled back.

A refused connection costs no time, so every request tries again. After a timeout, no requests are sent to the server
for a few seconds.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

import structlog
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeout

from domain import tokens
from domain.errors import Unavailable
from domain.ports import Limit, LimitResult, Transaction
from server.rate_limit.redis_connection import connection_pool
from server.rate_limit.requests import WindowCount

_PREFIX = "gatewright:limit:"
_MARKER = "gatewright:limits"
"""A key that never expires: if it is missing, the server has lost its keys, and the counters with them."""
_UNLIMITED = -1
_MILLISECOND = timedelta(milliseconds=1)

_EXCEEDED = """
local ends = {}
for place, key in ipairs(KEYS) do
  local number = tonumber(ARGV[place])
  local spent = number >= 0 and tonumber(redis.call('GET', key) or 0) >= number
  ends[place] = spent and redis.call('PTTL', key) or 0
end
return ends
"""
"""Arguments: the limit of each key. Returns for each key the milliseconds left if its limit is reached, otherwise 0."""

# defence: V66 lua-room
_HIT = """
local wait = 0
for place, key in ipairs(KEYS) do
  local number = tonumber(ARGV[2 * place - 1])
  if number >= 0 and tonumber(redis.call('GET', key) or 0) >= number then
    wait = math.max(wait, 1, redis.call('PTTL', key))
  end
end
if wait > 0 then return {wait} end
local answer = {0}
for place, key in ipairs(KEYS) do
  local count = redis.call('INCR', key)
  if count == 1 then redis.call('PEXPIRE', key, ARGV[2 * place]) end
  answer[place + 1] = count
end
return answer
"""
"""Arguments: limit and window (milliseconds) of each key. Returns the milliseconds to wait, or 0 and the counts."""

_ADD = """
local count = redis.call('INCRBY', KEYS[1], ARGV[1])
if count == tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return {count, redis.call('PTTL', KEYS[1])}
"""
"""Arguments: an amount, and the milliseconds of a new window. Returns the count and the milliseconds left."""

_MARK = """
local marker = redis.call('GET', KEYS[1])
if marker then return marker end
redis.call('SET', KEYS[1], ARGV[1])
return ARGV[1]
"""
"""Arguments: the text for a new marker. Returns the text of the marker, which is created if it is missing."""

SHORT_TIMEOUT = 0.5
"""Timeout in seconds of commands whose result a request does not need."""

PAUSE = 5.0
"""Seconds for which no commands are sent to a server that has not responded."""

_Answer = TypeVar("_Answer")

_log = structlog.get_logger(__name__)


class Backoff:
    """A timeout for commands. After a command has no response for `seconds`, none are sent for `pause` seconds."""

    def __init__(self, seconds: float, *, pause: float = PAUSE) -> None:
        self._seconds = seconds
        self._pause = pause
        self._pause_ends = 0.0

    async def wait(self, command: Awaitable[_Answer]) -> _Answer:
        """Return the result of a command. Raises RedisTimeout after the timeout, and the errors of the command.

        A command is cancelled after the timeout, but not awaited, because it may ignore the cancellation.
        """
        task = asyncio.ensure_future(command)
        try:
            answered, _ = await asyncio.wait({task}, timeout=self._seconds)
            if not answered:
                raise RedisTimeout
            answer = _result(task)
        except (TimeoutError, RedisTimeout) as fault:
            self.pause()
            raise RedisTimeout from fault
        except (RedisError, OSError):
            self._pause_ends = 0.0
            raise
        finally:
            task.add_done_callback(_consume_exception)
            task.cancel()
        self._pause_ends = 0.0
        return answer

    def pause(self) -> None:
        """Begin a pause, in which no commands are sent."""
        self._pause_ends = time.monotonic() + self._pause

    def is_exhausted(self) -> bool:
        """Return whether commands must not be sent now.

        After a pause it is False for one call, and a new pause begins, which ends if that command gets a response.
        """
        if not self._pause_ends:
            return False
        if time.monotonic() < self._pause_ends:
            return True
        self.pause()
        return False


class RedisCounters:
    """Counters on one Valkey or Redis server.

    Implements `domain.ports.Counters`, and `SharedCounters` of the request limiter.
    """

    def __init__(self, address: str, timeout: float) -> None:
        """Create the store without connecting to it. Raises ValueError for an invalid address.

        `address` is the value of `limits.store`. `timeout` is in seconds, for a response including the connection.
        """
        self._pool, self._sentinel = connection_pool(address, timeout)
        self._client = Redis(connection_pool=self._pool)
        self._marker: bytes | None = None
        self._backoff, self._short_backoff = Backoff(timeout), Backoff(min(SHORT_TIMEOUT, timeout))
        self._exceeded_script, self._hit_script, self._add_script, self._mark_script = (
            self._client.register_script(script) for script in (_EXCEEDED, _HIT, _ADD, _MARK)
        )

    async def exceeded_until(
        self, counts: Sequence[Limit], now: datetime, db: Transaction | None = None
    ) -> list[datetime | None]:
        """Return, for each limit, the end of its window if the limit is reached, else None. Raises Unavailable."""
        if not counts:
            return []
        numbers = [_number(count) for count in counts]
        left = await self._ask(partial(self._exceeded_script, _keys(counts), numbers), self._backoff)
        return [now + milliseconds * _MILLISECOND if milliseconds else None for milliseconds in left]

    async def hit(self, db: Transaction, counts: Sequence[Limit], now: datetime) -> LimitResult:
        """Increment all counters, or none if one is at its limit; at once, whatever becomes of the transaction.

        Raises Unavailable.
        """
        arguments = [
            argument for count in counts for argument in (_number(count), count.window // _MILLISECOND)
        ]
        wait, *numbers = await self._ask(partial(self._hit_script, _keys(counts), arguments), self._backoff)
        if wait:
            return LimitResult(now + wait * _MILLISECOND)
        pairs = zip(counts, numbers, strict=True)
        return LimitResult(filled=frozenset(count.key for count, number in pairs if number == count.number))

    async def reset(self, db: Transaction, keys: Sequence[bytes]) -> None:
        """Delete the counters with these keys. If the server does not respond, they stay until their windows end."""
        command = partial(self._client.delete, *(_PREFIX + key.hex() for key in keys))
        with contextlib.suppress(Unavailable):
            await self._ask(command, self._short_backoff)

    async def hit_many(self, count: Limit, amount: int, now: datetime, end: datetime) -> WindowCount:
        """Add `amount` to a counter; return the new count and the end of its window, which is `end` for a new counter.

        Raises Unavailable after a short timeout.
        """
        milliseconds = max(1, (end - now) // _MILLISECOND)
        command = partial(self._add_script, _keys([count]), [amount, milliseconds])
        number, left = await self._ask(command, self._short_backoff)
        return WindowCount(number, now + left * _MILLISECOND)

    async def has_lost_counts(self) -> bool:
        """Return whether counts were lost since the last call, as in a restart without persistence. Raises Unavailable.

        A loss before the first call is not noticed.
        """
        command = partial(self._mark_script, [_MARKER], [tokens.token()])
        before, self._marker = self._marker, await self._ask(command, self._short_backoff)
        return before is not None and before != self._marker

    async def _ask(self, command: Callable[[], Awaitable[_Answer]], backoff: Backoff) -> _Answer:
        if backoff.is_exhausted():
            raise Unavailable
        try:
            return await backoff.wait(command())
        except (RedisError, OSError) as fault:
            # A server that does not answer rules will not answer the request limiter either.
            if backoff is self._backoff and isinstance(fault, RedisTimeout):
                self._short_backoff.pause()
            _log.warning("rate_limit.storage_unavailable", reason=type(fault).__name__)
            raise Unavailable from fault

    async def close(self) -> None:
        """Close every connection."""
        await self._client.aclose()
        await self._pool.aclose()
        if self._sentinel is not None:
            await self._sentinel.aclose()


def _result(task: asyncio.Future[_Answer]) -> _Answer:
    """Return the result of a command, or raise its error; raise ConnectionLost for a write to a closed connection.

    In this case uvloop raises a RuntimeError that only its message distinguishes from a defect (MagicStack/uvloop#506).
    """
    try:
        return task.result()
    except RuntimeError as fault:
        if "the handler is closed" not in str(fault):
            raise
        raise ConnectionLost(str(fault)) from fault


def _consume_exception(task: asyncio.Future[_Answer]) -> None:
    """Read the exception of a command that no caller waits for: asyncio logs one that is never read."""
    if not task.cancelled():
        task.exception()


def _keys(counts: Sequence[Limit]) -> list[str]:
    return [_PREFIX + count.key.hex() for count in counts]


def _number(count: Limit) -> int:
    return _UNLIMITED if count.unbounded else count.number
