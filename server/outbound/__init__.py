"""Send requests to URLs that users and clients choose, with limits on the addresses and on the responses."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from models.discovery import lazy_import

if TYPE_CHECKING:
    from server.outbound.client import Answer, Document, OutboundClient
    from server.outbound.guard import Guard


class LazyClient:
    """An `OutboundClient` that is created at the first request, because loading it takes 40 ms.

    Its requests go only to addresses that the guard allows.
    """

    def __init__(self, guard: "Guard") -> None:
        self._guard = guard

    @cached_property
    def _client(self) -> "OutboundClient":
        client: OutboundClient = lazy_import("server.outbound.client").OutboundClient(self._guard)
        return client

    async def post(self, url: str, *, headers: Mapping[str, str], body: bytes, within: float) -> "Answer":
        """Send a POST request and return the response within `within` seconds. Raises OutboundError."""
        return await self._client.post(url, headers=headers, body=body, within=within)

    async def get(self, url: str, *, headers: Mapping[str, str], largest: int, within: float) -> "Document":
        """Send a GET request and return the response within `within` seconds. Raises OutboundError.

        If the body has more than `largest` bytes, its first `largest` + 1 are returned.
        """
        return await self._client.get(url, headers=headers, largest=largest, within=within)
