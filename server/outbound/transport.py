"""A transport of httpx for URLs that users choose: it connects only to addresses that the guard allows."""

import ssl

import httpx

from domain.outbound import OutboundError
from server.outbound.guard import Guard

_MOST_ADDRESSES = 4
"""Addresses of a host that are tried, one after the other."""


class GuardedTransport(httpx.AsyncBaseTransport):
    """Sends each request over a new connection.

    A reused connection could serve another host at the same address, whose certificate was not checked.
    """

    def __init__(self, guard: Guard, authorities: str | None = None) -> None:
        """Set the guard, and certificate authorities in PEM; None for those that the system trusts."""
        tls = ssl.create_default_context(cadata=authorities)
        tls.minimum_version = ssl.TLSVersion.TLSv1_2
        self._guard = guard
        self._inner = httpx.AsyncHTTPTransport(
            verify=tls,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
            trust_env=False,
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response of the first address that accepts a connection. Raises httpx.ConnectError."""
        try:
            target = self._guard.parse(str(request.url))
            addresses = await self._guard.resolve(target)  # defence: SSO14 guard
        except OutboundError as error:
            raise httpx.ConnectError(error.reason.value) from error
        # The certificate is that of the name in the URL; the Host header has it already.
        request.extensions = {**request.extensions, "sni_hostname": target.host}
        fault = httpx.ConnectError("no address")
        for address in addresses[:_MOST_ADDRESSES]:
            request.url = request.url.copy_with(host=str(address))
            try:
                return await self._inner.handle_async_request(request)
            except httpx.ConnectError as error:
                fault = error
        raise fault

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()
