"""The context of a rule: one per request or background job, with one `now` and at most one transaction."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from ipaddress import IPv4Address, ip_address, ip_network
from typing import NamedTuple, Protocol, TypeVar

from domain.authenticators import Authenticators
from domain.errors import Refusal
from domain.identity_provider import Provider
from domain.policy import Policy
from domain.ports import (
    Cipher,
    Counters,
    Hasher,
    KeyUsage,
    Limit,
    Mailbox,
    Reads,
    Search,
    SigningKeys,
    Transaction,
)
from models import AuditRecord, OutboxRow
from models.queries import SessionRow, UserRow

Result = TypeVar("Result")


class StaleRead(Exception):
    """Rows read outside the transaction have changed since; the whole request is run again."""


class AlreadyDone(Exception):
    """The requested change is already in effect; nothing is written, and the response is the same."""


# Not frozen, though it is never changed: creating a frozen one takes three times as long, on every request.
@dataclass(slots=True)
class Client:
    """The origin of a request: the resolved network address, the cleaned User-Agent, the random request id."""

    address: str | None = None
    user_agent: str | None = None
    request_id: str = ""
    languages: str | None = None
    """The Accept-Language header, which is for emails that the request causes."""

    @property
    def network(self) -> str | None:
        """The network that limits are counted for: the IPv4 address, or the /64 of an IPv6 address; None if unknown."""
        return None if self.address is None else _network_of(self.address)


@lru_cache(maxsize=4096)
def _network_of(address: str) -> str:
    """Return an IPv4 address itself, and the /64 of an IPv6 address: providers assign a whole /64 to one customer."""
    parsed = ip_address(address)
    # defence: V63 ipv6-network
    return address if isinstance(parsed, IPv4Address) else str(ip_network((parsed, 64), strict=False))


@dataclass(slots=True)
class Caller:
    """The signed-in user of a request, as read by one statement, and the token that was sent."""

    token: str = field(repr=False)
    session: SessionRow
    user: UserRow
    by_cookie: bool


class Challenge(NamedTuple):
    """A sign-in that waits for its second factor, as read by one statement from a pending token."""

    digest: bytes
    user: UserRow
    remembered: bool
    attempts: int
    """The number of attempts made so far."""
    mailbox: bool = False
    """Whether the first factor was a link or code sent by email, so that another email cannot be the second."""
    email: str | None = None
    """The address that the first factor proved, if it was such a link or code."""


def _no_cookies(name: bytes) -> Sequence[str]:
    return ()


@dataclass(slots=True, eq=False)
class RequestCookies:
    """The cookies of a request other than the session's. Parsed on demand, because few rules need them."""

    values: Callable[[bytes], Sequence[str]] = _no_cookies
    """Returns the raw values of the cookies of an encoded name; a browser may have several, of different scopes."""
    pending_name: bytes = b""
    device_name: bytes = b""

    @property
    def pending(self) -> bool:
        """Whether a cookie with a pending token was sent, valid or not."""
        return bool(self.values(self.pending_name))

    @property
    def devices(self) -> Sequence[str]:
        """The tokens of trusted devices, unchecked."""
        return self.values(self.device_name)


_NOTHING = RequestCookies()


class IsolatedRunner(Protocol):
    """Runs a rule in its own context and transaction."""

    async def __call__(
        self,
        job: "Callable[[Context], Awaitable[Result]]",
        *,
        client: Client,
        caller: Caller | None,
        challenge: Challenge | None,
        request_cookies: RequestCookies,
    ) -> Result:
        """Return what the job returns, after its commit; only the job is run again on a database conflict.

        Raises the job's refusals, and Unavailable.
        """


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources that all requests share."""

    policy: Policy
    reads: Reads
    hasher: Hasher
    cipher: Cipher
    counters: Counters
    begin: Callable[[], Transaction]
    """Creates a transaction, which takes a connection when it is first used."""
    search: Search
    ready: Callable[[], Awaitable[bool]]
    """Returns whether the service can do its work, as /ready reports."""
    run_isolated: IsolatedRunner
    providers: Mapping[str, Provider]
    signing_keys: SigningKeys
    key_usage: KeyUsage
    authenticators: Authenticators
    mailbox: Mailbox | None = None
    """The emails that were sent, in development; otherwise None."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a hosted page is shown for: the browser's languages, and a form that was refused, if one was."""

    accept_language: str | None = None
    """The header Accept-Language."""
    submitted: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The fields of a form that is shown again."""
    refusal: Refusal | None = None
    """Why it is shown again."""


@dataclass(slots=True)
class Context:
    """The context of a rule. `db` begins the request's only transaction at its first use."""

    now: datetime
    resources: Resources
    client: Client
    caller: Caller | None
    challenge: Challenge | None = None
    cookies: RequestCookies = _NOTHING
    outbox: list[OutboxRow] = field(default_factory=list)
    """Emails queued by this transaction: written at commit, sent afterwards."""
    records: list[AuditRecord] = field(default_factory=list)
    """Audit events: successes are written at commit, all others whatever the transaction's outcome."""
    transaction: Transaction | None = None
    failures: dict[str, Mapping[str, Limit]] = field(default_factory=dict)
    """The limits that a failure counts against, by the name of its `FailureSubject`; fixed for the whole request."""
    hashes: dict[str, str] = field(default_factory=dict, repr=False)
    """The hashes that `hash_once` has computed, by password; kept if the request is run again."""
    verifier: str | None = None
    """The name of the service that verifies an API key."""
    is_navigation: Callable[[], bool] = lambda: False
    """Returns whether a browser opens, prefetches or embeds a page, as opposed to a request by a program."""

    page: PageRequest | None = None
    """Set for the operations that answer with hosted pages."""

    @property
    def policy(self) -> Policy:
        """The operator's policy."""
        return self.resources.policy

    @property
    def reads(self) -> Reads:
        """Single statements outside the transaction."""
        return self.resources.reads

    @property
    def hasher(self) -> Hasher:
        """The password hasher."""
        return self.resources.hasher

    @property
    def cipher(self) -> Cipher:
        """The cipher, also for keyed digests."""
        return self.resources.cipher

    @property
    def counters(self) -> Counters:
        """The counters behind rate limits."""
        return self.resources.counters

    @property
    def providers(self) -> Mapping[str, Provider]:
        """The configured identity providers, by id."""
        return self.resources.providers

    @property
    def authenticators(self) -> Authenticators:
        """The checks of responses of authenticators."""
        return self.resources.authenticators

    @property
    def db(self) -> Transaction:
        """The transaction of this request. No password may be hashed once it has begun."""
        if self.transaction is None:
            self.transaction = self.resources.begin()
        return self.transaction

    async def hash_once(self, password: str) -> str:
        """Return the hash of a new password, computed once even if the request is run again. Raises Overloaded."""
        if password not in self.hashes:
            self.hashes[password] = await self.hasher.hash(password)
        return self.hashes[password]

    async def in_new_transaction(self, job: "Callable[[Context], Awaitable[Result]]") -> Result:
        """Run a job of this request in its own context and transaction; return its result.

        For rules that call an external service between two transactions: the job is committed, and is not repeated if
        the rest of the request is run again. Never call it while `db` is open: no request holds two connections. Raises
        the job's refusals, and Unavailable.
        """
        return await self.resources.run_isolated(
            job,
            client=self.client,
            caller=self.caller,
            challenge=self.challenge,
            request_cookies=self.cookies,
        )

    @property
    def signed_in(self) -> Caller:
        """The caller of an operation that requires a session."""
        assert self.caller is not None, "the contract lets nobody in without a session"  # noqa: S101
        return self.caller
