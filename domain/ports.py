"""The interfaces through which rules use what is outside of `domain/`: queries, hashing, encryption, counters.

`server/` implements the interfaces.
"""

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from sqlalchemy import Executable
from sqlmodel import SQLModel

from models.queries import ReadStatement

Result = TypeVar("Result")
Other = TypeVar("Other")
Port = TypeVar("Port")


class Reads(Protocol):
    """Single queries outside any transaction. Every result is read after the call begins."""

    def one(self, query: ReadStatement[Result], value: object) -> Awaitable[Result | None]:
        """Run a query with the parameter `value`; return the first row, or None.

        Raises Unavailable if the database does not respond in time.
        """

    def two(
        self, first: ReadStatement[Result], value: object, second: ReadStatement[Other], other: object
    ) -> Awaitable[tuple[Result | None, Other | None]]:
        """Run two queries at once, with the parameters `value` and `other`; return the first row of each, or None.

        Both queries must have a `key`. Raises Unavailable if the database does not respond in time.
        """

    async def each(self, query: ReadStatement[Result], values: Sequence[object]) -> list[Result | None]:
        """Return, for each value, the row that has it as key, or None. The values are few, and not text.

        Raises Unavailable if the database does not respond in time.
        """

    async def all(self, query: ReadStatement[Result], value: object) -> list[Result]:
        """Run a query with the parameter `value`; return all rows in the query's order.

        Raises Unavailable if the database does not respond in time.
        """


class Rows(list[Any]):
    """The rows that a statement returned: named tuples, or objects of the type in the execution option `row`."""

    def first(self) -> Any:
        """Return the first row, or None."""
        return self[0] if self else None

    def scalar(self) -> Any:
        """Return the first column of the first row, or None if there are no rows."""
        return self[0][0] if self else None

    def scalars(self) -> list[Any]:
        """Return the first column of every row."""
        return [row[0] for row in self]


class Transaction(Protocol):
    """The transaction of a request; it begins at its first statement, and the caller that opened it commits it.

    A statement is a SQLAlchemy Core statement. A constant statement, with `bindparam` for its values, is compiled once.
    """

    @property
    def dialect(self) -> Literal["sqlite", "postgresql"]:
        """The SQL dialect, for the few statements that differ between databases."""

    async def execute(self, statement: Executable, /, **values: object) -> Rows:
        """Execute the deferred statements, then this statement with these named values; return its rows.

        An INSERT or UPDATE stores a value in the column of the same name, if there is one. Raises SQLAlchemy's
        IntegrityError if a row with a unique value already exists.
        """

    async def execute_many(self, statement: Executable, values: Sequence[Mapping[str, object]]) -> None:
        """Execute a statement once for each mapping of named values; all have the same names. Returns no rows."""

    def defer(self, statement: Executable, /, **values: object) -> None:
        """Defer a statement to the next statement or the commit; deferred statements are sent together.

        No two of them may write the same row. The call that executes them raises the IntegrityError of `execute`.
        """

    def add(self, row: SQLModel) -> None:
        """Defer the insertion of a row."""

    def require(self, statement: Executable, error: type[Exception], /, **values: object) -> None:
        """Require that this statement, which is executed before the deferred statements, returns a row.

        If it returns none, the call that executes the deferred statements raises `error`, and the transaction must be
        rolled back.
        """

    async def flush(self) -> None:
        """Execute deferred statements now."""

    def savepoint(self) -> AbstractAsyncContextManager[None]:
        """Begin a savepoint; an exception that leaves the block rolls back to it."""

    async def commit(self) -> None:
        """Execute deferred statements and commit."""

    async def close(self) -> None:
        """Roll back everything that was not committed."""


class SearchTimedOut(Exception):
    """A search has taken longer than it may."""


class Search(Protocol):
    """Searches that may read many rows, outside the transaction; transactions do not wait for them."""

    async def __call__(
        self,
        statements: Sequence[Executable],
        within: timedelta,
        *,
        is_scan: bool,
        planned_once: bool = False,
        **values: object,
    ) -> Sequence[Rows]:
        """Run all statements on one snapshot of the database; return the rows of each.

        `values` are the named parameters of the statements. `is_scan` means that a statement may read a whole table; a
        process runs one such search at a time. `planned_once` means that an index answers the statements in the same
        way whatever their values are, so that PostgreSQL need not plan them for each search.

        Raises SearchTimedOut if the search takes longer than `within`, including the wait for other scans, and
        Unavailable.
        """


class Database(Protocol):
    """The database of the service."""

    @property
    def reads(self) -> Reads:
        """Single queries outside any transaction."""

    @property
    def search(self) -> Search:
        """Searches that may read many rows."""

    def begin(self) -> Transaction:
        """Create a transaction, which acquires a connection at its first use."""


class SentMail(NamedTuple):
    """An email that was sent, as the mailbox of the development profile shows it."""

    id: str
    template: str
    to: str
    subject: str
    text: str
    html: str
    link: str | None
    code: str | None
    sent_at: datetime


class Mailbox(Protocol):
    """The last emails that this process has sent, for development."""

    def newest_first(self) -> Sequence[SentMail]:
        """Return the emails, newest first."""

    def find(self, mail_id: str) -> SentMail | None:
        """Return the email with this id, or None."""


class Readiness(Protocol):
    """The readiness of the service, as /ready reports it."""

    async def __call__(self) -> bool:
        """Return whether requests can be served."""


class Hasher(Protocol):
    """Password hashing in a bounded pool of threads. Passwords are passed as sent."""

    def admission(self) -> AbstractAsyncContextManager[None]:
        """Return a context in which a caller prepares the input of a hash, such as a database read.

        A few callers at a time enter it, in order of arrival. Entering raises Overloaded if the queue for hashing is
        full. Do not hash inside the block.
        """

    async def hash(self, password: str) -> str:
        """Return the argon2id PHC string of the password's NFKC form. Raises Overloaded."""

    async def verify(self, password: str, hashed: str | None) -> bool:
        """Return whether the password matches; if `hashed` is None, verify a dummy at the same cost and return
        False.

        Returns False for more than 1,024 code points. Raises Overloaded.
        """

    @property
    def threads(self) -> int:
        """The number of hashes that run at the same time."""

    @property
    def hash_params(self) -> str:
        """The argon2id parameters of the current policy, to be stored with a hash of a code."""

    async def hash_code(self, code: str, salt: bytes, params: str) -> bytes:
        """Return the argon2id hash (32 bytes) of a code with this salt. Raises Overloaded.

        `params` are the `hash_params` that were stored with the code.
        """

    def needs_rehash(self, hashed: str) -> bool:
        """Return whether the hash has other parameters than the current policy, so that it should be replaced."""


class Cipher(Protocol):
    """Encryption of stored values, and keyed digests. Each `purpose` has its own key, derived from the secrets."""

    def encrypt(self, purpose: str, text: str) -> bytes:
        """Encrypt a text under the newest secret. `decrypt` needs the same `purpose`."""

    def decrypt(self, purpose: str, ciphertext: bytes) -> str | None:
        """Decrypt under any of the secrets; None if none fits or the value was made for another purpose."""

    def digests(self, purpose: str, text: str) -> list[bytes]:
        """Return the HMAC-SHA256 under every secret, newest first: store the first, compare with all."""


class Limit(NamedTuple):
    """A rate limit: how often something may happen within a fixed window."""

    key: bytes
    number: int
    """How often it may happen within the window."""
    window: timedelta
    unbounded: bool = False
    """Whether it is counted without ever being exceeded."""


class LimitResult(NamedTuple):
    """The result of counting against limits."""

    spent_until: datetime | None = None
    """When to retry, if a limit was already reached and so nothing was counted; otherwise None."""
    filled: frozenset[bytes] = frozenset()
    """The keys whose limit this call has reached. In each window, one caller gets a key here."""


class Counters(Protocol):
    """Counters in fixed windows that begin with the first count, shared by every instance.

    They are stored in the database, or in another store, where changes take effect at once even if the transaction is
    rolled back. If the clock was set back after a window began, the window would end too late. A window that ends much
    later than one that began now therefore counts as over.
    """

    async def exceeded_until(
        self, counts: Sequence[Limit], now: datetime, db: Transaction | None = None
    ) -> list[datetime | None]:
        """Return, for each limit, the end of its window if it is reached, else None. Raises Unavailable.

        `db` is the transaction of the request if it has begun: no request holds two connections.
        """

    async def hit(self, db: Transaction, counts: Sequence[Limit], now: datetime) -> LimitResult:
        """Increment every counter, or none if one is at its limit. Raises Unavailable.

        Of any number of simultaneous calls, exactly as many count as the limit allows.
        """

    async def reset(self, db: Transaction, keys: Sequence[bytes]) -> None:
        """Reset the counters of these keys."""


class Ports:
    """The adapters of this process, each found by the interface that it implements, as policies are by their class."""

    def __init__(self) -> None:
        self._adapters: dict[type, Any] = {}

    def add(self, interface: type[Port], adapter: Port) -> None:
        """Register the adapter of an interface, replacing an earlier one."""
        self._adapters[interface] = adapter

    def __getitem__(self, interface: type[Port]) -> Port:
        """Return the adapter of an interface. Raises KeyError if none is registered."""
        adapter: Port = self._adapters[interface]
        return adapter

    def get(self, interface: type[Port]) -> Port | None:
        """Return the adapter of an optional interface, or None."""
        return self._adapters.get(interface)
