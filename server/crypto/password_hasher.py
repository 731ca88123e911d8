"""Password hashing in a bounded pool of threads."""

import base64
import unicodedata
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

import structlog
from argon2 import Type
from argon2.low_level import ARGON2_VERSION, hash_secret_raw
from passlib.context import CryptContext
from passlib.utils import MAX_PASSWORD_SIZE

from domain import tokens
from domain.passwords.strength import LONGEST_PASSWORD
from server.config.base import fill
from server.config.groups.password import PasswordSettings
from server.crypto.hash_pool import BoundedExecutor, PoolState
from server.observability.tracing import Span

_log = structlog.get_logger(__name__)

_SALT_BYTES = 16
_TAG_BYTES = 32


@dataclass(frozen=True, slots=True)
class HashingRules:
    """The cost of an argon2id hash, and the limits on concurrent and waiting hashes."""

    memory_kib: int = 19456
    time: int = 2
    """Passes over the memory."""
    parallelism: int = 1
    workers: int = 1
    """Number of threads that hash."""
    queue: int = 64
    """Most jobs that may wait for a thread."""
    wait: timedelta = timedelta(seconds=5)
    """The longest wait of a queued job."""
    nice: int = 10
    """The niceness that is added to hashing threads, so that the event loop runs first."""

    @classmethod
    def of(cls, password: PasswordSettings) -> Self:
        """Return the rules from the settings of passwords."""
        hashing = {name: getattr(password, f"hash_{name}") for name in ("workers", "queue", "wait", "nice")}
        return fill(cls, password, prefix="argon2_", **hashing)


def _normal(password: str) -> str:
    # Keyboards of different systems send different code points for the same character. Nothing is cut off.
    return unicodedata.normalize("NFKC", password)  # defence: V72 whole-password


def _fits(password: str) -> bool:
    """Return whether passlib accepts the length: NFKC expands one character to up to 18."""
    return len(password) <= int(MAX_PASSWORD_SIZE)


def _shape(hashed: str) -> tuple[str, list[int]]:
    """Return the algorithm with its parameters, and the lengths of salt and tag."""
    parameters, *values = hashed.rsplit("$", 2)
    return parameters, [len(value) for value in values]


def _random_hash(params: str) -> str:
    """Return a PHC string that belongs to no user: verifying against it costs as much as against a real hash."""
    values = (base64.b64encode(tokens.random_bytes(length)) for length in (_SALT_BYTES, _TAG_BYTES))
    salt, tag = (value.decode().rstrip("=") for value in values)
    return f"$argon2id$v={ARGON2_VERSION}${params}${salt}${tag}"


def _hash_code(code: str, salt: bytes, params: str) -> bytes:
    cost = dict(part.split("=") for part in params.split(","))
    return hash_secret_raw(
        code.encode(),
        salt,
        time_cost=int(cost["t"]),
        memory_cost=int(cost["m"]),
        parallelism=int(cost["p"]),
        hash_len=_TAG_BYTES,
        type=Type.ID,
    )


class PasswordHasher:
    """Hashing and verification in a bounded thread pool. Implements `domain.ports.Hasher`."""

    def __init__(self, rules: HashingRules, span: Span = nullcontext) -> None:
        """Create the hasher; no thread is started and nothing is hashed yet. `span` traces each hash."""
        self._argon2 = CryptContext(
            schemes=["argon2"],
            argon2__type="ID",
            argon2__memory_cost=rules.memory_kib,
            argon2__time_cost=rules.time,
            argon2__parallelism=rules.parallelism,
            argon2__salt_size=_SALT_BYTES,
            argon2__digest_size=_TAG_BYTES,
        )
        self._span = span
        self.threads = rules.workers
        self.hash_params = f"m={rules.memory_kib},t={rules.time},p={rules.parallelism}"
        self._dummy = _random_hash(self.hash_params)
        self._current = _shape(self._dummy)
        self._threads = BoundedExecutor(
            rules.workers, queue=rules.queue, wait=rules.wait.total_seconds(), nice=rules.nice
        )

    def admission(self) -> AbstractAsyncContextManager[None]:
        """Admit a few callers at a time, in order of arrival, to prepare a hash in the `async with` block.

        Raises Overloaded.
        """
        return self._threads.admission()

    async def hash(self, password: str) -> str:
        """Return the argon2id PHC string of the password's NFKC form. Raises Overloaded."""
        with self._span("hash"):
            return await self._threads.run(self._hash, password)

    async def verify(self, password: str, hashed: str | None) -> bool:
        """Return whether the password matches the hash. Raises Overloaded.

        For None or a broken hash it returns False after the time of a real check. For a password of more than 1,024
        code points it returns False at once.
        """
        # Before normalizing and hashing, whose cost grows with the length (as in Django, CVE-2013-1443).
        if len(password) > LONGEST_PASSWORD:  # defence: V72 R35 password-length
            return False
        with self._span("hash"):
            return await self._threads.run(self._verify, password, hashed)

    async def hash_code(self, code: str, salt: bytes, params: str) -> bytes:
        """Return 32 bytes of argon2id over a code at the cost of `params`, as in `m=19456,t=2,p=1`.

        Raises Overloaded.
        """
        with self._span("hash"):
            return await self._threads.run(_hash_code, code, salt, params)  # defence: V53 code-hash

    def needs_rehash(self, hashed: str) -> bool:
        """Return whether the hash is not argon2id with the current parameters and lengths."""
        return _shape(hashed) != self._current

    def state(self) -> PoolState:
        """Return the current load of the pool."""
        return self._threads.state()

    def close(self) -> None:
        """Finish running jobs and stop the threads; cancel queued jobs."""
        self._threads.close()

    def _hash(self, password: str) -> str:
        hashed: str = self._argon2.hash(_normal(password))
        return hashed

    def _verify(self, password: str, hashed: str | None) -> bool:
        if hashed is not None and _fits(_normal(password)):
            try:
                return self._matches(password, hashed)
            except (ValueError, TypeError, OverflowError, RuntimeError) as error:
                # These include passlib's own errors. The log must not contain the hash.
                _log.warning("password_hash.unreadable", reason=type(error).__name__)
        # The response for an unknown user must take as long as that for a known one.
        self._argon2.verify(_normal(password)[:MAX_PASSWORD_SIZE], self._dummy)  # defence: V71 dummy-hash
        return False

    def _matches(self, password: str, hashed: str) -> bool:
        normal = _normal(password)
        if hashed.startswith("$argon2"):
            return bool(self._argon2.verify(normal, hashed))
        # This costs a start 12 ms; a service whose users all signed up with it has no hash of another program.
        from server.crypto.foreign_hashes import matches  # noqa: PLC0415 - see above

        # Programs that do not normalize have hashed the password as typed.
        return matches(normal, hashed) or (password != normal and matches(password, hashed))
