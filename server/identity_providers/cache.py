"""A cached document of an identity provider: kept for an hour, and longer while the provider is down."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from server.clock import Clock
from server.identity_providers.http_client import ProviderError

Value = TypeVar("Value")

LIFE = timedelta(hours=1)
PAUSE = timedelta(seconds=60)
"""Minimum time between two fetches because of an unknown key, and between two attempts while an old copy is used."""
REFRESH_TIMEOUT = 2.0
"""Seconds to wait for a new copy of a document before the old copy is used."""


@dataclass(slots=True)
class CachedDocument(Generic[Value]):
    """A document that `fetch` returns, kept in memory. Concurrent callers share one fetch.

    `patience` is the time in seconds to wait for a new copy before the old one is used.
    """

    fetch: Callable[[], Awaitable[Value]]
    clock: Clock
    patience: float = REFRESH_TIMEOUT
    _held: tuple[Value, datetime] | None = None
    _failed_at: datetime | None = None
    _renewed_at: datetime | None = None
    _running: asyncio.Task[ProviderError | None] | None = field(default=None)

    async def get(self) -> Value:
        """Return the document; fetch it first if there is no copy, or if the copy is an hour old.

        If a new fetch fails or takes too long, the old copy is returned. Raises ProviderError if there is no old copy.
        """
        if self._held is None:
            await self._fetched()
        elif not self._is_within(LIFE, self._held[1]) and not self._is_within(PAUSE, self._failed_at):
            try:
                async with asyncio.timeout(self.patience):
                    await self._fetched()
            except (ProviderError, TimeoutError):  # defence: R13 stale-keys
                self._failed_at = self.clock()
        assert self._held is not None, "a fetch either fails or gives a copy"  # noqa: S101 - for the type checker
        return self._held[0]

    async def renewed(self) -> Value:
        """Fetch the document again, because a key is missing in the copy, and return it.

        Within a minute after the last call that fetched, return the copy. Raises ProviderError if the fetch fails.
        """
        if self._running is not None:
            await self._fetched()
        elif not self._is_within(PAUSE, self._renewed_at):  # defence: R16 key-pause
            self._renewed_at = self.clock()
            await self._fetched()
        return await self.get()

    def _is_within(self, span: timedelta, moment: datetime | None) -> bool:
        """Return whether a time is less than `span` away from now."""
        # Before or after: the clock may have been set back since, and a copy must not stay valid until it catches up.
        return moment is not None and abs(self.clock() - moment) < span

    async def _fetched(self) -> None:
        """Wait for the running fetch or start one; it continues if the caller is cancelled."""
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        fault = await asyncio.shield(self._running)
        if fault is not None:
            raise fault

    async def _run(self) -> ProviderError | None:
        try:
            self._held = (await self.fetch(), self.clock())
        except ProviderError as fault:
            self._failed_at = self.clock()
            return fault
        finally:
            self._running = None
        self._failed_at = None
        return None

    async def close(self) -> None:
        """Cancel a running fetch."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
