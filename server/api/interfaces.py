"""Interfaces that the pipeline needs and the rest of the server implements."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from domain.context import Caller, Client
from domain.errors import Refusal
from domain.ports import Cipher
from server.api.client_address import ClientAddressResolver
from server.api.request import Operation, Request
from server.clock import Clock
from server.rate_limit.requests import RequestLimiter


class Sessions(Protocol):
    """The look-up of sessions."""

    async def find(self, sent: Sequence[str], now: datetime, *, by_cookie: bool) -> Caller | None:
        """Return the caller behind the one of these tokens of 32 characters whose session is live at `now`; None
        without such a token, and with several. Raises Unavailable."""

    def extension(self, request: Request, caller: Caller) -> datetime | None:
        """Return the new expiry of the caller's session if the request extends it, or None."""

    async def extend(self, request: Request, caller: Caller, expires_at: datetime) -> None:
        """Extend the caller's session; when that cannot be written, the request goes on with the session as it was."""


class Challenges(Protocol):
    """The look-up of pending two-factor sign-ins."""

    async def find(self, sent: Sequence[str], now: datetime, *, by_cookie: bool) -> Any | None:
        """Return the challenge behind the one of these tokens `2fa_…` that is live at `now`; None without such a token,
        and with several. Raises Unavailable."""


class ApiKeys(Protocol):
    """The credentials about API keys: keys themselves, and those of services that verify them."""

    @property
    def are_sessions(self) -> bool:
        """Whether operations that name a key in their security accept one."""

    async def find(self, key: str, request: Request) -> Caller:
        """Return the caller with a key, which is used once. Raises the reason why it is refused, and Unavailable."""

    def verifier(self, token: str) -> str | None:
        """Return the name of the service with a verifier token, or None."""


class Endpoint(Protocol):
    """The function that runs a handler in a Context and commits."""

    def __call__(self, operation: Operation, request: Request) -> Awaitable[Any]:
        """Return what the handler returned for an admitted request, after the commit. Raises refusals."""


class Refusals(Protocol):
    """The audit of refusals that the pipeline itself makes."""

    def note(self, refusal: Refusal, client: Client, caller: Caller | None, template: str | None) -> None:
        """Take note of a refusal at an operation, by its path in the contract, without keeping the answer waiting."""


class RequestHook(Protocol):
    """Called for every response."""

    def request(self, operation: str | None, status: int, seconds: float) -> None:
        """Take note of an answer, by the operationId; None where no operation was found."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Everything outside the pipeline that it asks during a request."""

    sessions: Sessions
    challenges: Challenges
    api_keys: ApiKeys
    endpoint: Endpoint
    addresses: ClientAddressResolver
    cipher: Cipher
    clock: Clock
    refusals: Refusals
    limiter: RequestLimiter | None = None
    """None where requests have no limit."""
    request_hooks: Sequence[RequestHook] = ()
    """Metrics and tracing."""
