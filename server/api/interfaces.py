"""Interfaces of the objects that the request pipeline calls, and that other modules of the server implement."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from domain.context import Caller, Client, Runner
from domain.errors import Refusal
from domain.ports import Cipher
from server.api.client_address import ClientAddressResolver
from server.api.request import Operation, Request
from server.clock import Clock
from server.rate_limit.requests import RequestLimiter


class Sessions(Protocol):
    """Looks up sessions by their tokens, and extends them."""

    async def find(self, sent: Sequence[str], now: datetime, *, by_cookie: bool) -> Caller | None:
        """Return the caller of the only session of these tokens that is live at `now`; None if none or several are.

        Each token has 32 characters; `by_cookie` is stored in the caller. Raises Unavailable.
        """

    def extension(self, request: Request, caller: Caller) -> datetime | None:
        """Return the new expiry of the caller's session if the request extends the session, else None."""

    async def extend(self, request: Request, caller: Caller, expires_at: datetime) -> None:
        """Extend the caller's session. If the write fails, the request continues with the unchanged session."""


class Challenges(Protocol):
    """Looks up pending two-factor sign-ins (challenges) by their tokens."""

    async def find(self, sent: Sequence[str], now: datetime, *, by_cookie: bool) -> Any | None:
        """Return the only challenge of these tokens (`2fa_…`) that is live at `now`; None if none or several are.

        `by_cookie` is whether a cookie held them. Raises Unavailable.
        """


class ApiKeys(Protocol):
    """Looks up API keys, and the tokens of services that verify API keys."""

    @property
    def are_sessions(self) -> bool:
        """Whether operations with an API key in their security requirement accept API keys."""

    async def find(self, key: str, request: Request) -> Caller:
        """Return the caller with this key, and count one use.

        Raises the refusal that says why a key is not accepted, and Unavailable.
        """

    def verifier(self, token: str) -> str | None:
        """Return the name of the service that has this verifier token; None for an unknown token."""


class Endpoint(Protocol):
    """A function that runs the handler of an operation in a transaction, and commits."""

    def __call__(self, operation: Operation, request: Request) -> Awaitable[Any]:
        """Run the handler for an admitted request, commit, and return the handler's result. Raises its refusals."""


class Refusals(Protocol):
    """Records the refusals (error responses) of requests."""

    def note(self, refusal: Refusal, client: Client, caller: Caller | None, template: str | None) -> None:
        """Record a refusal without delaying the response.

        `template` is the operation's path in the contract; None if no operation was found.
        """


class RequestHook(Protocol):
    """A hook that is called for every response."""

    def request(self, operation: str | None, status: int, seconds: float) -> None:
        """Record a response by its operationId, which is None if no operation was found."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The objects that the pipeline calls during a request."""

    sessions: Sessions
    challenges: Challenges
    api_keys: ApiKeys
    endpoint: Endpoint
    run: Runner
    """Runs jobs of the pipeline itself, such as recording a failed SCIM request, each in its own transaction."""
    addresses: ClientAddressResolver
    cipher: Cipher
    clock: Clock
    refusals: Refusals
    limiter: RequestLimiter | None = None
    """The request limit; None if requests are not limited."""
    request_hooks: Sequence[RequestHook] = ()
    """The hooks to call for every response: metrics and tracing, if enabled."""
