"""What the pipeline is given by the rest of the server."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from domain.context import Caller, Client
from domain.errors import Refusal
from server.addresses import Addresses
from server.clock import Clock
from server.pipeline.limiter import RequestLimiter
from server.pipeline.request import Operation, Request


class Sessions(Protocol):
    """Where sessions are found."""

    async def find(self, token: str, now: datetime, *, by_cookie: bool) -> Caller | None:
        """Give the caller behind a token of 32 characters, None when no session that is live at `now` has it. Raises
        Unavailable."""


class Challenges(Protocol):
    """Where pending two-factor sign-ins are found."""

    async def find(self, token: str, now: datetime, *, by_cookie: bool) -> Any | None:
        """Give the challenge behind a token `2fa_…`, None when none that is live at `now` has it. Raises
        Unavailable."""


class Endpoint(Protocol):
    """What runs a handler in a Context and commits."""

    def __call__(self, operation: Operation, request: Request) -> Awaitable[Any]:
        """Give what the handler returned for an admitted request, after the commit. Raises refusals."""


class Refusals(Protocol):
    """Where refusals are put on record that no rule has made."""

    def note(self, refusal: Refusal, client: Client, caller: Caller | None, template: str | None) -> None:
        """Take note of a refusal at an operation, by its path in the contract, without keeping the answer waiting."""


class Observer(Protocol):
    """Who wants to know of every answer."""

    def request(self, operation: str | None, status: int, seconds: float) -> None:
        """Take note of an answer, by the operationId; None where no operation was found."""


@dataclass(frozen=True, slots=True)
class Observers:
    """Several of them."""

    every: Sequence[Observer]

    def request(self, operation: str | None, status: int, seconds: float) -> None:
        """Tell each of an answer."""
        for observer in self.every:
            observer.request(operation, status, seconds)


class NoRefusals:
    """For a service that keeps no record."""

    def note(self, refusal: Refusal, client: Client, caller: Caller | None, template: str | None) -> None:
        """Forget it."""


class NoChallenges:
    """For a service without two-factor sign-in: no pending token is live."""

    async def find(self, token: str, now: datetime, *, by_cookie: bool) -> None:
        """Find nothing."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything outside the pipeline that it asks during a request."""

    sessions: Sessions
    challenges: Challenges
    endpoint: Endpoint
    addresses: Addresses
    clock: Clock
    refusals: Refusals = field(default_factory=NoRefusals)
    limiter: RequestLimiter | None = None
    """None where requests have no limit."""
    observer: Observer | None = None
    """None where nobody counts."""
