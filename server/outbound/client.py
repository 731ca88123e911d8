"""Send requests to addresses that the guard allows, with limits of time and size.

Each request has a connection of its own. Redirects are not followed, and there are no cookies, no decompression, no
HTTP/2, and no proxies from the environment.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpcore

from domain.outbound import OutboundError, OutboundFailure
from server.outbound.addresses import Address
from server.outbound.guard import Guard

LARGEST_HEAD = 16 * 1024  # defence: WH4 largest-head
"""The largest head of a response in bytes, interim responses (1xx) included."""

LARGEST_BODY = 16 * 1024  # defence: WH4 largest-body
"""The most bytes of the body after a POST request that are read and ignored, before the connection is closed."""

_MOST_ADDRESSES = 4
"""Addresses of a host that are tried, one after the other."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to a POST request, without its body, which could contain secrets of an inner network."""

    status: int
    """The HTTP status. It may be that of a redirect, which is not followed."""
    retry_after: str | None
    """The header Retry-After as received, unchecked; None if it is missing."""


@dataclass(frozen=True, slots=True)
class Document:
    """The response to a GET request for a public document."""

    status: int
    content_type: str
    cache_control: str
    """This and `content_type` are the headers as received, empty if they are missing."""
    body: bytes = field(repr=False)
    """The body; of a larger one than requested, the beginning with one byte more than requested."""


class OutboundClient:
    """Sends requests to URLs that users and clients choose.

    `guard` decides to which URLs requests may be sent. `authorities` are certificate authorities in PEM; None for those
    of the system.
    """

    def __init__(self, guard: Guard, authorities: str | None = None) -> None:
        self._guard = guard
        # Created once, because reading the authorities of the system costs more than a request.
        self._tls = ssl.create_default_context(cadata=authorities)  # defence: WH18 verification
        self._tls.minimum_version = ssl.TLSVersion.TLSv1_2  # defence: WH18 tls-version

    async def post(self, url: str, *, headers: Mapping[str, str], body: bytes, within: float) -> Answer:
        """Send a POST request with this body, and return the response, within `within` seconds, look-up included.

        An error after the head of the response was received is ignored. Raises OutboundError.
        """
        wire = _Wire(within)
        try:
            async with asyncio.timeout(within):  # defence: WH4 timeout
                async with self._request(wire, "POST", url, headers, body) as response:
                    wire.end_of_head(_answer(response))  # defence: WH3 no-redirects
                    async for _ in response.aiter_stream():
                        pass
        except (httpcore.RemoteProtocolError, OSError, OutboundError) as fault:
            if wire.answer is None:
                raise _error(fault, wire) from fault
        assert wire.answer is not None, "there is a response or an error"  # noqa: S101 - for the type checker
        return wire.answer

    async def get(self, url: str, *, headers: Mapping[str, str], largest: int, within: float) -> Document:
        """Send a GET request, and return the response within `within` seconds, look-up included.

        If the body has more than `largest` bytes, its first `largest` + 1 are returned. Raises OutboundError.
        """
        wire, body = _Wire(within), bytearray()
        try:
            async with (
                asyncio.timeout(within),  # defence: O27 timeout
                self._request(wire, "GET", url, headers) as response,
            ):
                # Chunks add to the length of a document.
                wire.end_of_head(_answer(response), 2 * largest)
                async for part in response.aiter_stream():
                    body += part
                    if len(body) > largest:  # defence: O27 largest-document
                        break
        except (httpcore.RemoteProtocolError, OSError) as fault:
            raise _error(fault, wire) from fault
        found = {name.lower(): value.decode("latin-1") for name, value in response.headers}
        return Document(
            response.status,
            found.get(b"content-type", ""),
            found.get(b"cache-control", ""),
            bytes(body[: largest + 1]),
        )

    @asynccontextmanager
    async def _request(
        self, wire: "_Wire", method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncIterator[httpcore.Response]:
        target = self._guard.parse(url)
        # The only look-up: connections go to the addresses that were judged.
        wire.addresses = await self._guard.resolve(target)
        to = httpcore.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        sent: list[tuple[bytes | str, bytes | str]] = [
            ("Host", target.authority),
            *headers.items(),
            ("Accept-Encoding", "identity"),
            ("Connection", "close"),
        ]
        async with (
            # defence: WH19 no-proxy
            httpcore.AsyncHTTPConnection(to.origin, self._tls, network_backend=wire) as connection,
            # defence: WH16 same-bytes
            connection.stream(method, to, headers=sent, content=body) as response,
        ):
            yield response


class _Wire(httpcore.AsyncNetworkBackend, httpcore.AsyncNetworkStream):
    """The connection of one request: to the first of `addresses` that accepts it, and with bounds for what comes."""

    def __init__(self, within: float) -> None:
        self.addresses: Sequence[Address] = ()
        self.has_begun = False
        """Whether a byte of a response has come."""
        self.answer: Answer | None = None
        self._within = within
        self._remaining = LARGEST_HEAD

    def end_of_head(self, answer: Answer, largest: int = LARGEST_BODY) -> None:
        """Store the response after its head. At most `largest` bytes of the body, at least LARGEST_BODY, are read."""
        self.answer = answer
        self._remaining = max(largest, LARGEST_BODY)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first of `addresses` that accepts; `host` is not looked up again. Raises OSError."""
        addresses = self.addresses[:_MOST_ADDRESSES]
        error = OSError("no address")
        for address in addresses:
            try:
                # An address that does not respond leaves time for the others.
                async with asyncio.timeout(self._within / len(addresses)):
                    self._reader, self._writer = await asyncio.open_connection(
                        str(address),  # defence: WH2 judged-address
                        port,
                        limit=LARGEST_HEAD,
                    )
                    return self
            except OSError as fault:
                error = fault
        raise error

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Encrypt the connection; the certificate must be valid for the host of the URL."""
        try:
            await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except BaseException as fault:
            # httpcore knows of the connection only once it is encrypted.
            await self.aclose()
            if isinstance(fault, OSError):
                raise OutboundError(OutboundFailure.TLS) from fault
            raise
        return self

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return the next bytes. Raises OutboundError beyond the largest head or body."""
        if self._remaining <= 0:
            raise OutboundError(OutboundFailure.TOO_SLOW)
        received = await self._reader.read(min(max_bytes, self._remaining))
        self._remaining -= len(received)
        self.has_begun = self.has_begun or bool(received)
        return received

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send bytes. Raises WriteError, after which httpcore still reads a response that was received before."""
        try:
            self._writer.write(buffer)
            await self._writer.drain()
        except OSError as fault:
            raise httpcore.WriteError from fault

    async def aclose(self) -> None:
        """Close the connection at once, without waiting for the peer."""
        self._writer.transport.abort()


def _answer(response: httpcore.Response) -> Answer:
    found = (value for name, value in response.headers if name.lower() == b"retry-after")
    value = next(found, None)
    return Answer(response.status, None if value is None else value.decode("latin-1"))


def _error(fault: Exception, wire: _Wire) -> OutboundError:
    if isinstance(fault, OutboundError):
        return fault
    if isinstance(fault, TimeoutError):
        return OutboundError(OutboundFailure.TOO_SLOW if wire.has_begun else OutboundFailure.TIMEOUT)
    return OutboundError(OutboundFailure.TLS if isinstance(fault, ssl.SSLError) else OutboundFailure.CONNECT)
