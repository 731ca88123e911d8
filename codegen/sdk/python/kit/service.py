"""Ask the service about the caller of a request. Nothing is cached."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx

from ..models import ApiKey, ApiKeyVerdict, CurrentSession, MemberRole
from ..types import Unset
from .callers import Caller, caller_of_session, roles_of
from .errors import ApiError, Forbidden, RateLimited, Unauthenticated, unavailable
from .transport import RETRIES, Retries, RetryTransport

TIMEOUT = 2.0
"""Seconds for each of: connecting, sending, and waiting for the next bytes of the response."""
LONGEST_KEY = 512
SESSION, MEMBER_ROLE, VERIFY = "/get-session", "/organization/get-active-member-role", "/api-key/verify"

Headers = Mapping[str, str]
Permissions = Mapping[str, Sequence[str]]
NO_PERMISSIONS: Permissions = {}


def credentials(authorization: str | None, cookie: str | None, address: str | None) -> Headers:
    """Return the headers that identify the caller, and the IP address of the client.

    The service believes the address if its setting `trusted_proxies` names the application.
    """
    headers = {"Authorization": authorization, "Cookie": cookie, "X-Forwarded-For": address}
    return {name: value.encode("ascii", "replace").decode() for name, value in headers.items() if value}


class Gatewright:
    """The service, as an application uses it: one instance per process, safe for threads.

    `verifier` is the token with which the application verifies API keys. Methods whose names begin with `a` are for
    asynchronous applications, in one event loop.
    """

    def __init__(
        self, base_url: str, *, verifier: str = "", timeout: float = TIMEOUT, retries: Retries = RETRIES
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._verifier = {"Authorization": f"Bearer {verifier}"}
        self._settings: dict[str, Any] = {
            "base_url": self.base_url,
            "timeout": timeout,
            # Connections are shared between users. Cookies must not be.
            "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            "transport": RetryTransport(retries),
        }

    @cached_property
    def client(self) -> httpx.Client:
        """The client of all requests, which keeps connections and no cookies."""
        return httpx.Client(**self._settings)

    @cached_property
    def aclient(self) -> httpx.AsyncClient:
        """The client of all asynchronous requests."""
        return httpx.AsyncClient(**self._settings)

    def caller(self, headers: Headers, *, organization: bool = False) -> Caller:
        """Return the user of a session; with `organization`, also with the roles in the active organization.

        `headers` are those of `credentials`. Raises Unauthenticated, RateLimited, Unavailable and, for a user who has
        left the organization, Forbidden.
        """
        with _asking():
            caller = _caller(self.client.get(SESSION, headers=headers))
        if not organization or caller.organization_id is None:
            return caller
        with _asking(Forbidden):
            return _member(caller, self.client.get(MEMBER_ROLE, headers=headers, params=_named(caller)))

    async def acaller(self, headers: Headers, *, organization: bool = False) -> Caller:
        """Return the user of a session; see `caller`."""
        with _asking():
            caller = _caller(await self.aclient.get(SESSION, headers=headers))
        if not organization or caller.organization_id is None:
            return caller
        with _asking(Forbidden):
            return _member(
                caller, await self.aclient.get(MEMBER_ROLE, headers=headers, params=_named(caller))
            )

    def api_key(self, key: str | None, permissions: Permissions = NO_PERMISSIONS) -> ApiKey:
        """Return a valid API key with these permissions, such as `{"files": ["read"]}`.

        Raises Unauthenticated, Forbidden, RateLimited and Unavailable.
        """
        body = _key_request(key, permissions)
        with _verifying():
            verdict = _verdict(self.client.post(VERIFY, json=body, headers=self._verifier))
        return _valid(verdict)

    async def aapi_key(self, key: str | None, permissions: Permissions = NO_PERMISSIONS) -> ApiKey:
        """Return a valid API key with these permissions; see `api_key`."""
        body = _key_request(key, permissions)
        with _verifying():
            verdict = _verdict(await self.aclient.post(VERIFY, json=body, headers=self._verifier))
        return _valid(verdict)

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    async def aclose(self) -> None:
        """Close the connections of asynchronous requests."""
        await self.aclient.aclose()


@contextmanager
def _asking(*expected: type[ApiError]) -> Iterator[None]:
    """Raise the errors that concern the caller as they are, and Unavailable instead of all others."""
    try:
        yield
    except Unauthenticated as error:
        raise Unauthenticated(error.code, "Please sign in", cookies=error.cookies) from None
    except (ApiError, httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, (RateLimited, *expected)):
            raise
        raise unavailable() from error


@contextmanager
def _verifying() -> Iterator[None]:
    """Raise Unavailable for all errors: the service refuses no key by an error, but perhaps the verifier."""
    try:
        yield
    except (ApiError, httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        raise unavailable("API keys cannot be verified") from error


def _caller(response: httpx.Response) -> Caller:
    cookies = tuple(response.headers.get_list("set-cookie"))
    found = _json(response)
    # The service is configured with `require_authentication = false`.
    if found is None:
        raise Unauthenticated("UNAUTHORIZED", "Please sign in", cookies=cookies)
    return caller_of_session(CurrentSession.from_dict(found), cookies)


def _named(caller: Caller) -> dict[str, str]:
    """Return the parameters that name the organization, so that a switch between two requests does not matter."""
    return {"organizationId": caller.organization_id or ""}


def _member(caller: Caller, response: httpx.Response) -> Caller:
    cookies = (*caller.cookies, *response.headers.get_list("set-cookie"))
    role = MemberRole.from_dict(_json(response)).role
    return replace(caller, organization_roles=roles_of(role), cookies=cookies)


def _key_request(key: str | None, permissions: Permissions) -> dict[str, object]:
    if not key or len(key) > LONGEST_KEY:
        raise Unauthenticated("INVALID_API_KEY", "Invalid API key.")
    return {"key": key, "permissions": {name: list(actions) for name, actions in permissions.items()}}


def _verdict(response: httpx.Response) -> ApiKeyVerdict:
    return ApiKeyVerdict.from_dict(_json(response))


def _valid(verdict: ApiKeyVerdict) -> ApiKey:
    """Return the key. Raises Unauthenticated, Forbidden or RateLimited if it is refused."""
    if verdict.key is not None and verdict.valid:
        return verdict.key
    code = "INVALID_API_KEY" if verdict.error is None else verdict.error.code
    message = "Invalid API key." if verdict.error is None else verdict.error.message
    if code in ("RATE_LIMITED", "USAGE_EXCEEDED"):
        raise RateLimited(code, message, retry_after=_retry_after(verdict))
    if code == "KEY_PERMISSIONS_INSUFFICIENT":
        raise Forbidden(code, message)
    raise Unauthenticated(code, message)


def _retry_after(verdict: ApiKeyVerdict) -> int | None:
    """Return the seconds until the key works again, or None if it does not by itself."""
    if verdict.error is None or isinstance(verdict.error.details, Unset):
        return None
    wait = verdict.error.details.try_again_in
    return None if isinstance(wait, Unset) or wait is None else -(-wait // 1000)


def _json(response: httpx.Response) -> Any:
    """Return the body of a response. Raises ValueError for a redirect, which the service never sends here."""
    if response.status_code != 200:
        raise ValueError(f"unexpected status {response.status_code}")
    return response.json()
