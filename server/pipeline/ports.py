"""What the pipeline is given by the rest of the server, and what it hands on: one `Call` per admitted
request."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from domain.context import Caller, Client
from domain.errors import Refusal
from handlers.reply import Header
from server.addresses import Addresses
from server.pipeline.head import Head
from server.pipeline.limiter import RequestLimiter

Handler = Callable[..., Awaitable[Any]]


# Not frozen, though nobody changes it: Python takes three times as long to make a frozen one, and every request does.
@dataclass(slots=True)
class Call:
    """An admitted request: who asks, for which operation, with which checked arguments."""

    operation_id: str
    """As in the contract: `sessions.revoke_others`."""
    handler: Handler
    arguments: dict[str, Any]
    """What the handler is called with beside `ctx`: `body`, and the parameters by their pythonic names."""
    method: str
    client: Client
    caller: Caller | None
    challenge: Any
    """The live two-factor challenge behind a pending token, as `Challenges` gave it; None when there is
    none."""
    head: Head
    """The headers; `head.cookie(name)` gives the raw value of any cookie that was sent along."""
    cookies: list[Header]
    """Set-Cookie headers for the answer, whatever it turns out to be; the endpoint may add to them."""

    @property
    def disable_refresh(self) -> bool:
        """Whether the caller asked not to extend the session: `?disableRefresh=true` (behaviour 3.5)."""
        asked = self.arguments.get("disable_refresh")
        return asked is True or (isinstance(asked, str) and asked.lower() == "true")


class Sessions(Protocol):
    """Where sessions are found."""

    async def find(self, token: str, *, by_cookie: bool) -> Caller | None:
        """Give the caller behind a token of 32 characters, None when no live session has it. Raises
        Unavailable."""


class Challenges(Protocol):
    """Where pending two-factor sign-ins are found."""

    async def find(self, token: str, *, by_cookie: bool) -> Any | None:
        """Give the challenge behind a token `2fa_…`, None when no live one has it. Raises Unavailable."""


class Endpoint(Protocol):
    """What runs a handler in a Context and commits."""

    def __call__(self, call: Call) -> Awaitable[Any]:
        """Give what the handler returned, after the commit. Raises refusals."""


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

    async def find(self, token: str, *, by_cookie: bool) -> None:
        """Find nothing."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything outside the pipeline that it asks during a request."""

    sessions: Sessions
    challenges: Challenges
    endpoint: Endpoint
    addresses: Addresses
    refusals: Refusals = field(default_factory=NoRefusals)
    limiter: RequestLimiter | None = None
    """None where requests have no limit."""
    observer: Observer | None = None
    """None where nobody counts."""
