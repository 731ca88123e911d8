"""The context of a rule: one per request or background job, with one `now` and at most one transaction."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from domain.errors import Refusal
from domain.policy import Policy
from domain.ports import (
    Cipher,
    Database,
    Hasher,
    Limit,
    Ports,
    Reads,
    Transaction,
)
from models import AuditRecord, OutboxRow
from models.api_key import ApiKeyRow
from models.session import SessionRow
from models.user import UserRow

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


NO_CLIENT = Client()


@lru_cache(maxsize=4096)
def _network_of(address: str) -> str:
    """Return an IPv4 address itself, and the /64 of an IPv6 address: providers assign a whole /64 to one customer."""
    parsed = ip_address(address)
    # defence: V63 ipv6-network
    return address if isinstance(parsed, IPv4Address) else str(ip_network((parsed, 64), strict=False))


@dataclass(slots=True)
class Caller:
    """The user of a request, and the session or API key that was sent, as read by one statement."""

    token: str = field(repr=False)
    credential: SessionRow | ApiKeyRow
    user: UserRow
    by_cookie: bool

    @property
    def session(self) -> SessionRow:
        """The caller's session. Use it only in operations that accept no API keys."""
        assert isinstance(self.credential, SessionRow), "the contract accepts no API keys here"  # noqa: S101
        return self.credential

    @property
    def impersonated_by(self) -> str | None:
        """The id of the administrator who acts in the name of the user, or None."""
        return self.credential.impersonated_by if isinstance(self.credential, SessionRow) else None


class ConnectionActor(NamedTuple):
    """A single sign-on connection that acts in a request: its directory (SCIM) changes users, or a user signs in
    through the connection."""

    kind: Literal["directory", "connection"]
    connection_id: str


class Challenge(NamedTuple):
    """A sign-in that waits for its second factor, found by the pending token of the request."""

    digest: bytes
    user: UserRow
    remembered: bool
    attempts: int
    """The number of attempts made so far."""
    mailbox: bool = False
    """Whether the first factor was a link or code sent by email, so that another email cannot be the second."""
    email: str | None = None
    """The address that the first factor proved, if it was a link or code sent by email; otherwise None."""


def _no_cookies(name: bytes) -> Sequence[str]:
    return ()


def _is_not_navigation() -> bool:
    return False


@dataclass(slots=True, eq=False)
class RequestCookies:
    """The cookies of a request, parsed on demand because few rules need them."""

    values: Callable[[bytes], Sequence[str]] = _no_cookies
    """Returns the raw values of all cookies with a name. A browser may send several, of different domains and paths."""
    pending_name: bytes = b""
    device_name: bytes = b""

    @property
    def pending(self) -> bool:
        """Whether a cookie with a pending token was sent, valid or not."""
        return bool(self.values(self.pending_name))

    @property
    def devices(self) -> Sequence[str]:
        """The tokens in the cookies of trusted devices, not verified."""
        return self.values(self.device_name)


NO_COOKIES = RequestCookies()


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The data of a request for a hosted page: the browser's languages, and the form that is sent or shown again."""

    accept_language: str | None = None
    """The header Accept-Language."""
    form: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The validated fields of the form that the request submits; empty if it submits none."""
    submitted: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The fields of a form that is shown again, as they were sent."""
    refusal: Refusal | None = None
    """Why the form is shown again; None unless it was refused."""
    entries: str | None = None
    """The URL parameter that holds the fields of `submitted`, encrypted; None if the URL has none."""

    def carried(self, name: str) -> str | None:
        """Return a form field that each page of a flow passes on to the next, such as `callbackURL`, or None."""
        return self.form.get(name)


class RequestFacts(NamedTuple):
    """The data of a request, collected before its rule runs, or of a background job."""

    now: datetime
    """When the request was complete, or the job began: the one time that its checks and its rule use."""
    client: Client = NO_CLIENT
    caller: Caller | None = None
    challenge: Challenge | None = None
    cookies: RequestCookies = NO_COOKIES
    verifier: str | None = None
    """The name of the service that asks this one to verify an API key; None for all other requests."""
    page: PageRequest | None = None
    """Set for the operations that respond with hosted pages."""
    is_navigation: Callable[[], bool] = _is_not_navigation
    """Returns whether a browser opens, prefetches or embeds a page, as opposed to a request by a program."""
    query: bytes = b""
    """The query string, byte for byte as it was sent, because a signature may cover it."""


@dataclass(frozen=True, slots=True)
class Rollback(Generic[Result]):
    """The result of a job that refuses: the caller receives `result`, and the job's writes are rolled back."""

    result: Result


Job = Callable[["Context"], Awaitable[Result | Rollback[Result]]]
"""A rule whose arguments are all bound except its context."""


Completion = Callable[["Context", Sequence[Any]], Awaitable[None]]
"""Writes items that rules have collected; see `Context.before_commit` and `Context.after_refusal`."""


class Runner(Protocol):
    """Runs rules, each in its own context and transaction: `server.unit_of_work.UnitOfWork.run`."""

    def __call__(self, job: Job[Result], facts: RequestFacts | None = None) -> Awaitable[Result]:
        """Run a job, commit its transaction, and return its result. Without `facts` it is a job of the service itself.

        After a database conflict the job runs again with a new `now`. Raises the job's refusals, and Unavailable if the
        database does not respond.
        """


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources that all requests share."""

    policy: Policy
    database: Database
    port: Ports
    clock: Callable[[], datetime]
    run: Runner


@dataclass(slots=True)
class Context:
    """The context of a rule. `db` begins the request's only transaction at its first use."""

    resources: Resources
    facts: RequestFacts
    hashes: dict[str, str] = field(default_factory=dict, repr=False)
    """The hashes that `hash_once` has computed, by password; kept if the request is run again."""
    outbox: list[OutboxRow] = field(default_factory=list)
    """Emails queued by this transaction: written at commit, sent afterwards."""
    records: list[AuditRecord] = field(default_factory=list)
    """Audit events: successes are written at commit, all others whatever the transaction's outcome."""
    before_commit: "defaultdict[Completion, list[Any]]" = field(default_factory=partial(defaultdict, list))
    """The items that rules have collected, by the function that writes them. Each function is called once, before the
    commit."""
    after_refusal: "defaultdict[Completion, list[Any]]" = field(default_factory=partial(defaultdict, list))
    """Items that are written even if the request is refused, by the function that writes them. Each function is called
    in a new transaction, after this one has ended."""
    queued: set[str] = field(default_factory=set)
    """The kinds of rows that this transaction has queued for the outbox worker, which is woken after the commit."""
    transaction: Transaction | None = None
    connection_actor: ConnectionActor | None = None
    """The connection that acts, set by the rule that has authenticated its directory or identity provider."""
    failures: dict[str, Mapping[str, Limit]] = field(default_factory=dict)
    """The limits that a failure counts against, by the name of its `FailureSubject`; fixed for the whole request."""

    @property
    def now(self) -> datetime:
        """The time at which this attempt to run the rule began."""
        return self.facts.now

    @property
    def client(self) -> Client:
        """The origin of the request; an empty one for a background job."""
        return self.facts.client

    @property
    def caller(self) -> Caller | None:
        """The signed-in user with their session or API key; None for an anonymous request or a background job."""
        return self.facts.caller

    @property
    def signed_in(self) -> Caller:
        """The caller. Use it only in operations that require a caller."""
        assert self.facts.caller is not None, "the contract requires a session for this operation"  # noqa: S101
        return self.facts.caller

    @property
    def is_operator(self) -> bool:
        """Whether the operator acts, on the command line or by the configuration: no request, and no user."""
        return self.caller is None and self.connection_actor is None and self.client is NO_CLIENT

    @property
    def is_directory(self) -> bool:
        """Whether the directory (SCIM) of a single sign-on connection acts."""
        return self.connection_actor is not None and self.connection_actor.kind == "directory"

    @property
    def challenge(self) -> Challenge | None:
        """The sign-in that waits for its second factor, if there is one."""
        return self.facts.challenge

    @property
    def cookies(self) -> RequestCookies:
        """The cookies of the request."""
        return self.facts.cookies

    @property
    def policy(self) -> Policy:
        """The operator's policy."""
        return self.resources.policy

    @property
    def port(self) -> Ports:
        """The adapters by the interface that they implement: `ctx.port[SigningKeys]`."""
        return self.resources.port

    @property
    def reads(self) -> Reads:
        """Single statements outside the transaction."""
        return self.resources.database.reads

    @property
    def hasher(self) -> Hasher:
        """The password hasher."""
        return self.resources.port[Hasher]

    @property
    def cipher(self) -> Cipher:
        """The cipher, also for keyed digests."""
        return self.resources.port[Cipher]

    @property
    def db(self) -> Transaction:
        """The transaction of this request. No password may be hashed once it has begun."""
        if self.transaction is None:
            self.transaction = self.resources.database.begin()
        return self.transaction

    async def hash_once(self, password: str) -> str:
        """Return the hash of a new password, computed once even if the request is run again. Raises Overloaded."""
        if password not in self.hashes:
            self.hashes[password] = await self.hasher.hash(password)
        return self.hashes[password]

    async def in_new_transaction(self, job: Job[Result]) -> Result:
        """Run a job of this request in its own context and transaction; return its result.

        For rules that call an external service between two transactions: the job is committed, and is not repeated when
        the request's own transaction runs again. Never call it while `db` is open: no request holds two connections.
        Raises the job's refusals, and Unavailable.
        """
        return await self.resources.run(job, self.facts._replace(now=self.resources.clock()))
