"""Call operations of the service with timeouts and retries, and read lists page by page."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any, ParamSpec, TypeVar, cast, overload

import httpx

from ..client import AuthenticatedClient, Client
from ..models import Error
from ..types import Response
from .errors import ApiError, unavailable
from .transport import RETRIES, Retries, RetryTransport

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Item = TypeVar("Item")

TIMEOUT = 10.0
"""Seconds for each of: connecting, sending, and waiting for the next bytes of the response."""


@overload
def connect(base_url: str, *, timeout: float = ..., retries: Retries = ...) -> Client: ...
@overload
def connect(
    base_url: str, token: str, *, timeout: float = ..., retries: Retries = ...
) -> AuthenticatedClient: ...
def connect(
    base_url: str, token: str | None = None, *, timeout: float = TIMEOUT, retries: Retries = RETRIES
) -> Client | AuthenticatedClient:
    """Return a client with a timeout and retries, whose operations raise ApiError instead of returning an error.

    `token` is that of a session. A client without one keeps no cookies, so it stays without a session.
    """
    given: dict[str, Any] = {
        "base_url": base_url,
        "timeout": httpx.Timeout(timeout),
        "httpx_args": {"transport": RetryTransport(retries)},
    }
    return Client(**given) if token is None else AuthenticatedClient(token=token, **given)


def call(
    operation: Callable[Arguments, Response[Result | Error]],
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> Result:
    """Return the result of an operation such as `get_current.sync_detailed`. Raises ApiError."""
    try:
        return _result(operation(*arguments, **named))
    except (httpx.HTTPError, ValueError, KeyError) as error:
        raise unavailable("The service did not respond") from error


async def acall(
    operation: Callable[Arguments, Awaitable[Response[Result | Error]]],
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> Result:
    """Return the result of an operation such as `get_current.asyncio_detailed`. Raises ApiError."""
    try:
        return _result(await operation(*arguments, **named))
    except (httpx.HTTPError, ValueError, KeyError) as error:
        raise unavailable("The service did not respond") from error


def _result(response: Response[Result | Error]) -> Result:
    if isinstance(response.parsed, Error):  # of a client that `connect` has not made
        raise ApiError(response.parsed.code, response.parsed.message, status=response.status_code)
    return cast(Result, response.parsed)


def iterate(
    operation: Callable[Arguments, Response[Result | Error]],
    items: Callable[[Result], Sequence[Item]],
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> Iterator[Item]:
    """Yield the items of all pages: `iterate(list_users.sync_detailed, lambda page: page.users, client=admin)`.

    `items` returns the items of a page. A page is requested when the one before has been read. Raises ApiError.
    """
    while True:
        page = call(operation, *arguments, **named)
        found = items(page)
        yield from found
        following = _following(page, found, named)
        if following is None:
            return
        named.update(following)


async def aiterate(
    operation: Callable[Arguments, Awaitable[Response[Result | Error]]],
    items: Callable[[Result], Sequence[Item]],
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> AsyncIterator[Item]:
    """Yield the items of all pages of an operation such as `list_users.asyncio_detailed`; see `iterate`."""
    while True:
        page = await acall(operation, *arguments, **named)
        found = items(page)
        for item in found:
            yield item
        following = _following(page, found, named)
        if following is None:
            return
        named.update(following)


def _following(page: object, found: Sequence[object], named: dict[str, Any]) -> dict[str, Any] | None:
    """Return the parameters of the next page, or None after the last one."""
    if not found:
        return None
    if hasattr(page, "next_cursor"):
        return None if page.next_cursor is None else {"cursor": page.next_cursor}
    if hasattr(page, "total"):
        offset = (named.get("offset") or 0) + len(found)
        # A total that was not counted to its end says only that there are more.
        is_last = offset >= page.total and not getattr(page, "total_capped", False)
        return None if is_last else {"offset": offset}
    last: Any = found[-1]
    return {"before": last.id}
