"""Send requests to the service, repeat those that are safe to repeat, and raise the errors in its responses."""

import random
import time
from dataclasses import dataclass, field
from functools import cached_property

import anyio
import httpx

from .errors import error_of, retry_after_of, unavailable

SAFE_METHODS = frozenset({"GET", "HEAD"})
TOO_MANY_REQUESTS = 429
TEMPORARY = frozenset({TOO_MANY_REQUESTS, 502, 503, 504})
INTERRUPTED = (httpx.ConnectError, httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a request is sent, and the pauses between, in seconds.

    Every pause is twice as long as the one before, and up to a half shorter at random. A response whose `Retry-After`
    is more than `longest_pause` is an error at once. No attempt begins later than `total` after the first.
    """

    attempts: int = 3
    pause: float = 0.1
    longest_pause: float = 1.0
    total: float = 2.0


RETRIES = Retries()
"""The retries of clients that say nothing else."""


@dataclass(slots=True)
class _Attempts:
    """The attempts of one request. The methods return the pause before the next attempt, or raise ApiError."""

    request: httpx.Request
    retries: Retries
    made: int = 0
    started: float = field(default_factory=time.monotonic)

    def pause_after_failure(self, error: httpx.TransportError) -> float:
        """Return the pause if the request is repeatable: it did not reach the service, or changes nothing there."""
        # Without a connection the service has received nothing. A timeout is not repeated: it has cost enough time.
        repeatable = isinstance(error, httpx.ConnectError) or (
            isinstance(error, INTERRUPTED) and self.request.method in SAFE_METHODS
        )
        pause = self._next_pause(0) if repeatable else None
        if pause is None:
            raise unavailable() from error
        return pause

    def pause_after(self, response: httpx.Response) -> float:
        """Return the pause if the response is a temporary error of a repeatable request."""
        repeatable = response.status_code == TOO_MANY_REQUESTS or (
            response.status_code in TEMPORARY and self.request.method in SAFE_METHODS
        )
        pause = self._next_pause(retry_after_of(response) or 0) if repeatable else None
        if pause is None:
            raise error_of(response)
        return pause

    def _next_pause(self, shortest: float) -> float | None:
        pause = max(shortest, self.retries.pause * 2**self.made * random.uniform(0.5, 1))  # noqa: S311
        self.made += 1
        elapsed = time.monotonic() - self.started
        is_last = self.made >= self.retries.attempts or elapsed + pause > self.retries.total
        return None if is_last or shortest > self.retries.longest_pause else pause


class RetryTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport that repeats requests, and raises ApiError instead of returning a response from 400 upwards."""

    def __init__(self, retries: Retries) -> None:
        self._retries = retries

    @cached_property
    def _sync(self) -> httpx.HTTPTransport:
        return httpx.HTTPTransport()

    @cached_property
    def _async(self) -> httpx.AsyncHTTPTransport:
        return httpx.AsyncHTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return a response below 400. Raises ApiError."""
        attempts = _Attempts(request, self._retries)
        while True:
            try:
                response = self._sync.handle_request(request)
                if response.status_code < 400:
                    return response
                response.read()
            except httpx.TransportError as error:
                pause = attempts.pause_after_failure(error)
            else:
                pause = attempts.pause_after(response)
            time.sleep(pause)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return a response below 400. Raises ApiError."""
        attempts = _Attempts(request, self._retries)
        while True:
            try:
                response = await self._async.handle_async_request(request)
                if response.status_code < 400:
                    return response
                await response.aread()
            except httpx.TransportError as error:
                pause = attempts.pause_after_failure(error)
            else:
                pause = attempts.pause_after(response)
            await anyio.sleep(pause)

    def close(self) -> None:
        """Close the connections."""
        self._sync.close()

    async def aclose(self) -> None:
        """Close the connections of asynchronous requests."""
        await self._async.aclose()
