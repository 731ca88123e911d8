"""HTTP calls to providers, limited in time and size, without redirects and without proxies from the environment.

Authlib's client decompresses a whole response before its size can be checked. Therefore its messages are used
(`messages.py`), but not its transport.
"""

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx
import orjson

from server.config.base import Settings
from server.config.groups.social import SocialSettings
from server.identity_providers.urls import is_valid_url
from server.json_depth import depth

_HEADERS = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": "gatewright"}
_UNCOMPRESSED = ("", "identity")
# Adding 32 makes zlib detect gzip and zlib headers automatically.
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_DOWN = frozenset({408, 425, 429})
"""Statuses below 500 that mean that the provider is unavailable, not that the request is wrong."""

DEEPEST = 100
"""Most levels of nested arrays and objects in a provider's response."""


class ProviderError(Exception):
    """A provider is unavailable or its response is invalid. The message contains no part of the response."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A provider's response with a status below 500. `body` is the parsed JSON; None if a refusal is not JSON."""

    status: int
    body: Any = field(repr=False)

    @property
    def is_success(self) -> bool:
        """Return whether the status is 2xx."""
        return 200 <= self.status < 300

    @property
    def members(self) -> dict[str, Any]:
        """Return the JSON object of the response. Raises ProviderError if it is not an object."""
        if not isinstance(self.body, dict):
            raise ProviderError("the answer is no JSON object")
        return self.body


def make_client(transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    """Return the HTTP client for all providers of a service. It stores no cookies.

    It trusts the certificate authorities of the system, unless `transport` is given, which decides that itself. There
    is no limit on connections, so that no call waits for calls to another provider.
    """
    return httpx.AsyncClient(
        verify=ssl.create_default_context(),
        transport=transport,
        headers=_HEADERS,
        # httpx has no option to disable cookies; a policy without allowed domains refuses all of them.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        timeout=None,  # noqa: S113 - each call as a whole has one
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
        follow_redirects=False,  # defence: V59 no-redirects
        # Otherwise httpx would send calls through the proxies of HTTP_PROXY and similar variables.
        trust_env=False,
    )


@dataclass(frozen=True, slots=True)
class Calls:
    """An HTTP client with limits on each call.

    `timeout` limits a whole call, in seconds; `max_response` limits the decompressed response, in bytes.
    """

    client: httpx.AsyncClient
    timeout: float
    max_response: int
    loopback_http: bool

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> Reply:
        """Send a GET request and return the response.

        Raises ProviderError if there is no response in time, or its status is a redirect or a fault of the server.
        """
        return await self._call("GET", url, headers or {}, None)

    async def post(self, url: str, form: str, headers: Mapping[str, str] | None = None) -> Reply:
        """Send an encoded form with POST and return the response. Raises ProviderError in the same cases as `get`."""
        typed = {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})}
        return await self._call("POST", url, typed, form.encode())

    async def _call(self, method: str, url: str, headers: Mapping[str, str], content: bytes | None) -> Reply:
        if not is_valid_url(url, loopback_http=self.loopback_http):
            raise ProviderError("the address is not https")
        try:
            async with (
                asyncio.timeout(self.timeout),  # defence: R14 call-timeout
                self.client.stream(method, url, headers=headers, content=content) as answer,
            ):
                _check_status(answer.status_code)
                return _reply(answer.status_code, await self._read(answer))
        except TimeoutError:
            raise ProviderError(f"no answer within {self.timeout:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ValueError) as fault:
            raise ProviderError(f"the call failed ({type(fault).__name__})") from fault

    async def _read(self, answer: httpx.Response) -> bytes:
        """Return the decompressed body.

        At most `max_response` bytes and one piece from the network are in memory at a time.
        """
        body = bytearray()
        async for piece in _inflated(answer, self.max_response + 1):
            body += piece
            if len(body) > self.max_response:  # defence: R15 response-size
                raise ProviderError(f"the answer is longer than {self.max_response} bytes")
        return bytes(body)


def calls_by(settings: Settings, client: httpx.AsyncClient) -> Calls:
    """Return an HTTP client for providers, with the limits of these settings."""
    return Calls(
        client,
        timeout=settings[SocialSettings].http_timeout.total_seconds(),
        max_response=settings[SocialSettings].max_response,
        loopback_http=settings.profile == "development",
    )


@asynccontextmanager
async def calls_of(settings: Settings) -> AsyncIterator[Calls]:
    """Yield an HTTP client for a command, with the same limits as in the service; it is closed at the end."""
    async with make_client() as client:
        yield calls_by(settings, client)


async def _inflated(answer: httpx.Response, most: int) -> AsyncIterator[bytes]:
    """Yield the decompressed pieces of a body as they arrive, each of at most `most` bytes."""
    encoding = answer.headers.get("Content-Encoding", "").strip().lower()
    if encoding in _UNCOMPRESSED:
        async for piece in answer.aiter_raw():
            yield piece
        return
    if encoding not in {"gzip", "x-gzip", "deflate"}:
        raise ProviderError("the answer is in an encoding that was not asked for")
    inflating = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        async for piece in answer.aiter_raw():
            if inflating.eof:
                raise ProviderError("the answer goes on after its end")
            yield inflating.decompress(piece, most)  # defence: R15 inflated-size
    except zlib.error:
        raise ProviderError("the answer is not compressed as it says") from None
    if not inflating.eof:
        raise ProviderError("the answer ends too early")


def _check_status(status: int) -> None:
    if 300 <= status < 400:
        raise ProviderError(f"the answer is a redirect ({status})")
    if status >= 500 or status in _DOWN:
        raise ProviderError(f"the answer has status {status}")


def _reply(status: int, body: bytes) -> Reply:
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        if 200 <= status < 300:
            raise ProviderError("the answer is no JSON") from None
        return Reply(status, None)
    if depth(said) > DEEPEST:
        raise ProviderError("the answer is nested too deeply")
    return Reply(status, said)
