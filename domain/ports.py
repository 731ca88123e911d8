"""What stands outside the rules, as the rules see it: reading, hashing, encryption, counting. `server/` has each."""

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from sqlalchemy import Executable
from sqlmodel import SQLModel

from models.queries import ReadStatement

Result = TypeVar("Result")


class Reads(Protocol):
    """Single statements outside any transaction; what they return was read after the call began."""

    def one(self, query: ReadStatement[Result], value: object) -> Awaitable[Result | None]:
        """Return the first row for `value`, or None. Raises Unavailable when the database does not answer in time."""

    async def each(self, query: ReadStatement[Result], values: Sequence[object]) -> list[Result | None]:
        """Return for each of a few values, which are no text, the row whose key it is, or None.

        Raises Unavailable when the database does not answer in time.
        """

    async def all(self, query: ReadStatement[Result], value: object) -> list[Result]:
        """Return every row for `value`, in the query's order. Raises Unavailable when the database does not answer."""


class Rows(list[Any]):
    """The rows that a statement returned: named tuples, or what the statement's execution option `row` makes of one."""

    def first(self) -> Any:
        """Return the first row, or None."""
        return self[0] if self else None

    def scalar(self) -> Any:
        """Return the first column of the first row, or None without rows."""
        return self[0][0] if self else None

    def scalars(self) -> list[Any]:
        """Return the first column of every row."""
        return [row[0] for row in self]


class Transaction(Protocol):
    """The transaction of a request; it begins at its first statement, and the caller that opened it commits it.

    A statement is a SQLAlchemy Core statement. One that is kept, with `bindparam` where values go, is compiled once.
    """

    @property
    def dialect(self) -> Literal["sqlite", "postgresql"]:
        """The database's kind, for the few statements that each has in a form of its own."""

    async def execute(self, statement: Executable, /, **values: object) -> Rows:
        """Execute a statement with the values it names, after deferred statements; return its rows.

        An INSERT or UPDATE also sets the columns of those names. Raises SQLAlchemy's IntegrityError where a row with a
        unique value is there already.
        """

    async def execute_many(self, statement: Executable, values: Sequence[Mapping[str, object]]) -> None:
        """Execute a statement once for each of many values, which all have the same names; it returns nothing."""

    def defer(self, statement: Executable, /, **values: object) -> None:
        """Defer a statement to the next statement or the commit; deferred statements are sent together.

        No two of them may touch the same row. The call that executes them raises the IntegrityError of `execute`.
        """

    def add(self, row: SQLModel) -> None:
        """Defer the insertion of a row."""

    def require(self, statement: Executable, error: type[Exception], /, **values: object) -> None:
        """Execute deferred statements only if this statement, which is executed first, returns a row.

        Otherwise the call that executes them raises this exception; the transaction must then be rolled back.
        """

    async def flush(self) -> None:
        """Execute deferred statements now."""

    def savepoint(self) -> AbstractAsyncContextManager[None]:
        """Begin a savepoint; an exception that leaves the block undoes what was done in it."""

    async def commit(self) -> None:
        """Execute deferred statements and commit."""

    async def close(self) -> None:
        """Roll back what was not committed."""


class Hasher(Protocol):
    """Password hashing in a bounded pool of threads. Passwords go in as sent."""

    def admission(self) -> AbstractAsyncContextManager[None]:
        """Admit a few callers at a time, first come first served, to prepare what they will hash. Raises Overloaded.

        It is raised already where nothing more can be hashed. Nobody hashes within it.
        """

    async def hash(self, password: str) -> str:
        """Return the argon2id PHC string of the password's NFKC form. Raises Overloaded."""

    async def verify(self, password: str, hashed: str | None) -> bool:
        """Whether the password matches; with `hashed` None a dummy is verified at the same cost, and the answer is no.

        Over 1 024 code points the answer is no. Raises Overloaded.
        """

    @property
    def hash_params(self) -> str:
        """The argon2id parameters of the current policy, to be stored with a hash of a code."""

    async def hash_code(self, code: str, salt: bytes, params: str) -> bytes:
        """Return 32 bytes of argon2id over a code with this salt, at the cost it was stored with. Raises Overloaded."""

    def needs_rehash(self, hashed: str) -> bool:
        """Whether the hash is not current policy."""


class Cipher(Protocol):
    """Encryption at rest and keyed digests, one derived key per purpose."""

    def encrypt(self, purpose: str, text: str) -> bytes:
        """Encrypt under the newest secret."""

    def decrypt(self, purpose: str, ciphertext: bytes) -> str | None:
        """Decrypt under any of the secrets; None when none fits or the value was made for another purpose."""

    def digests(self, purpose: str, text: str) -> list[bytes]:
        """Return the HMAC-SHA256 under every secret, the newest first: the first to store, all to compare with."""


class Limit(NamedTuple):
    """A rate limit: how often something may happen within a fixed window."""

    key: bytes
    number: int
    """How often it may happen within the window."""
    window: timedelta
    unbounded: bool = False
    """Whether it is counted, but never too often."""


class LimitResult(NamedTuple):
    """The result of counting against limits."""

    spent_until: datetime | None = None
    """When to try again, where nothing was counted; otherwise None."""
    filled: frozenset[bytes] = frozenset()
    """The keys whose last one was this: told once per window and key, to one caller."""


class Counters(Protocol):
    """Counts in fixed windows that begin with the first count, shared by every instance.

    They stand in the database, or in another store, which changes at once whatever becomes of the transaction. A window
    that ends long after one that begins now is from before the clock was set back: it is over.
    """

    async def exceeded_until(
        self, counts: Sequence[Limit], now: datetime, db: Transaction | None = None
    ) -> list[datetime | None]:
        """Return for each the end of its window if its number is reached, else None. Raises Unavailable.

        `db` is the transaction of the request where it has begun: no request holds two connections.
        """

    async def hit(self, db: Transaction, counts: Sequence[Limit], now: datetime) -> LimitResult:
        """Count one on each, or on none of them if the number of one is reached. Raises Unavailable.

        Of any number of simultaneous calls exactly as many count as there is room for.
        """

    async def reset(self, db: Transaction, keys: Sequence[bytes]) -> None:
        """Reset the counters of these keys."""
