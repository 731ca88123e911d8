"""Fetch the metadata documents of clients, each at most once in ten seconds, and few at the same time."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

from domain.oauth_clients.documents import Document, DocumentRefused
from domain.outbound import OutboundError

if TYPE_CHECKING:
    from server.outbound.client import Document as Response

CONCURRENCY = 32
"""The most simultaneous requests."""
TIMEOUT = 5.0
"""Timeout in seconds of a request, from the look-up of the address to the end of the document."""
LARGEST = 5 * 1024
"""The largest document in bytes."""
AGAIN = timedelta(seconds=10)
"""The least time between two requests for the same document, during which the outcome of the first is returned."""

_HEADERS = {"accept": "application/json", "user-agent": "Gatewright-Clients/1"}
_JSON = re.compile(r"application/(?:[a-z0-9.!#$&^_-]+\+)?json", re.ASCII)
_MAX_AGE = re.compile(r"(?:^|[,\s])max-age=\"?([0-9]{1,10})", re.ASCII | re.IGNORECASE)
_NOT_KEPT = re.compile(r"(?:^|[,\s])no-(?:store|cache)\b", re.ASCII | re.IGNORECASE)


class Source(Protocol):
    """The interface of `server.outbound.client.OutboundClient`, which sends requests to URLs that strangers choose."""

    async def get(self, url: str, *, headers: Mapping[str, str], largest: int, within: float) -> "Response":
        """Return the response, at most `within` seconds after the start. Raises OutboundError."""


class DocumentFetcher:
    """Fetches the metadata documents of clients. Implements `domain.oauth_clients.documents.ClientDocuments`."""

    def __init__(self, source: Source, timeout: float = TIMEOUT) -> None:
        self._source = source
        self._timeout = timeout
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._requests: dict[str, tuple[datetime, asyncio.Task[Document | str]]] = {}
        """Requests of the last ten seconds, with the time when they began."""

    @asynccontextmanager
    async def turn(self, client_id: str) -> AsyncIterator[None]:
        """Hold a lock, in this process, for one client; other callers for the same client wait."""
        async with self._turns.setdefault(client_id, asyncio.Lock()):
            yield

    def is_recent(self, client_id: str, now: datetime) -> bool:
        """Return whether the document of a client was requested less than ten seconds ago."""
        found = self._requests.get(client_id)
        return found is not None and abs(now - found[0]) < AGAIN  # defence: O27 again

    async def fetch(self, client_id: str, now: datetime) -> Document:
        """Return the document of a client, requested now or less than ten seconds ago. Raises DocumentRefused."""
        if not self.is_recent(client_id, now):
            self._forget(now)
            self._requests[client_id] = (now, asyncio.create_task(self._get(client_id)))
        # A caller who leaves does not end the request: others may wait for it.
        outcome = await asyncio.shield(self._requests[client_id][1])
        if isinstance(outcome, str):
            raise DocumentRefused(outcome)
        return outcome

    async def close(self) -> None:
        """Cancel the running HTTP requests for metadata documents of clients."""
        tasks = [task for _, task in self._requests.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, now: datetime) -> None:
        """Forget requests that are older than ten seconds and have ended."""
        for client_id, (began, task) in [*self._requests.items()]:
            if task.done() and abs(now - began) >= AGAIN:
                del self._requests[client_id]

    async def _get(self, client_id: str) -> Document | str:
        """Return the document, or why there is none."""
        running = sum(not task.done() for _, task in self._requests.values())
        if running > CONCURRENCY:
            return "busy"
        try:
            response = await self._source.get(
                client_id, headers=_HEADERS, largest=LARGEST, within=self._timeout
            )
        except OutboundError as error:
            return error.reason.value
        return _fault(response) or Document(response.body, _max_age(response.cache_control))


def _fault(response: "Response") -> str | None:
    """Return why a response is no document, or None."""
    if response.status != 200:  # defence: O27 status
        return "redirect" if 300 <= response.status < 400 else "status"
    media_type = response.content_type.partition(";")[0].strip().lower()
    if _JSON.fullmatch(media_type) is None:  # defence: O27 media-type
        return "type"
    return "size" if len(response.body) > LARGEST else None  # defence: O27 size


def _max_age(cache_control: str) -> timedelta | None:
    """Return how long a response may be kept, or None if it does not say."""
    if _NOT_KEPT.search(cache_control):
        return timedelta(0)
    found = _MAX_AGE.search(cache_control)
    return None if found is None else timedelta(seconds=int(found[1]))
