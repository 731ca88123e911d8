"""Requests to URLs that users and clients choose: where they may go, and what a response may cost."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from models.discovery import lazy_import

if TYPE_CHECKING:
    from server.outbound.client import Answer, Document, OutboundClient
    from server.outbound.guard import Guard


class LazyClient:
    """A client whose requests go only where the guard allows, created at the first request.

    httpcore and the certificate authorities that the system trusts cost 40 ms.
    """

    def __init__(self, guard: "Guard") -> None:
        self._guard = guard

    @cached_property
    def _client(self) -> "OutboundClient":
        client: OutboundClient = lazy_import("server.outbound.client").OutboundClient(self._guard)
        return client

    async def post(self, url: str, *, headers: Mapping[str, str], body: bytes, within: float) -> "Answer":
        """Send a body as `OutboundClient.post` does. Raises OutboundError."""
        return await self._client.post(url, headers=headers, body=body, within=within)

    async def get(self, url: str, *, headers: Mapping[str, str], largest: int, within: float) -> "Document":
        """Return a document as `OutboundClient.get` does. Raises OutboundError."""
        return await self._client.get(url, headers=headers, largest=largest, within=within)
