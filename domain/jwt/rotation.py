"""Create, rotate, retire and revoke signing keys.

Every rule begins with `_lock`, so that instances change keys one after the other even if their clocks differ. Key
pairs are generated before the transaction.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, Protocol

from sqlalchemy import bindparam, update
from sqlmodel import col

from domain.context import Context
from domain.errors import Unavailable
from domain.jwt import events
from domain.jwt.errors import SigningKeyAlreadyAnnounced, SigningKeyAlreadyRevoked, SigningKeyNotFound
from domain.jwt.policy import JwtPolicy
from models.lease import Lease
from models.signing_key import SIGNING_KEYS, SigningKey, SigningKeyRow
from models.statements import insert, table_of

LEASE = "signing-keys"
"""The lease of the instance that changes keys."""

PURPOSE = "signing_key.private_jwk"
"""The purpose under which private keys are encrypted."""

GRACE = timedelta(seconds=90)
"""How long a private key is kept after its last signature: clocks of instances differ by up to 60 seconds."""

_LOCK = (
    update(table_of(Lease))
    .where(col(Lease.name) == LEASE, col(Lease.holder) == bindparam("whose"))
    .values(holder=bindparam("whose"))
    .returning(col(Lease.name))
)
_CHANGE = update(table_of(SigningKey)).where(col(SigningKey.kid) == bindparam("whose"))
_ROWS = SIGNING_KEYS.execution_options(row=SigningKeyRow)


class KeyPair(NamedTuple):
    """A new key pair; both parts are JSON Web Keys as JSON text."""

    kid: str
    algorithm: str
    public_jwk: str
    private_jwk: str


Rule = Callable[[Mapping[str, KeyPair]], Callable[[Context], Awaitable[None]]]
"""Takes new key pairs by algorithm, and returns the job that stores them, such as `maintain` with its arguments."""


class KeyChanges(Protocol):
    """Runs rules that change keys, in one instance at a time."""

    @property
    def holder(self) -> str:
        """The name of this process in the lease."""

    async def change(
        self,
        algorithms: Iterable[str],
        rule: Rule,
        run: Callable[[Callable[[Context], Awaitable[None]]], Awaitable[None]] | None = None,
    ) -> bool:
        """Take the lease, generate a key pair for each algorithm, and run the job that `rule` returns for these pairs.

        `run` runs the job in a transaction of its own, by default as a job of the service itself. Returns False, and
        does nothing, if another instance holds the lease.
        """


class State(StrEnum):
    """The current state of a key."""

    ANNOUNCED = "announced"
    SIGNING = "signing"
    RETIRED = "retired"
    REVOKED = "revoked"
    GONE = "gone"


def state(row: SigningKeyRow, rows: Iterable[SigningKeyRow], now: datetime) -> State:
    """Return the state of the key `row` at `now`; `rows` are the keys of which the newest signs, `row` included."""
    if row.revoked_at is not None:
        return State.REVOKED
    if not row.is_published(now):
        return State.GONE
    if not row.has_begun(now):
        return State.ANNOUNCED
    return State.SIGNING if row is signing_key(rows, row.algorithm, now) else State.RETIRED


def signing_key(rows: Iterable[SigningKeyRow], algorithm: str, now: datetime) -> SigningKeyRow | None:
    """Return the key of an algorithm that signs at `now`: the newest of those in their signing period, or None."""
    current = (row for row in rows if row.algorithm == algorithm and row.private_jwk and row.signs(now))
    return max(current, key=lambda row: (row.signs_from, row.created_at), default=None)


def due(rows: Sequence[SigningKeyRow], policy: JwtPolicy, now: datetime) -> dict[str, datetime]:
    """Return the algorithms that need a new key, each with the time at which that key is to begin to sign.

    `rows` are the keys whose private part can be decrypted.

    Every key after the first is published `publish_ahead` before it signs, and the current key signs longer if
    necessary. Verifiers can therefore fetch every key before they need it.
    """
    starts = {algorithm: _next_start(rows, algorithm, policy, now) for algorithm in policy.algorithms}
    return {algorithm: start for algorithm, start in starts.items() if start is not None}


def _next_start(
    rows: Sequence[SigningKeyRow], algorithm: str, policy: JwtPolicy, now: datetime
) -> datetime | None:
    current = signing_key(rows, algorithm, now)
    if current is None:
        return now
    until = current.signs_until
    if until is None and policy.rotation_interval:
        until = current.signs_from + policy.rotation_interval
    if until is None or _announced(rows, algorithm, now) or now < until - policy.publish_ahead:
        return None
    # Verifiers cache the keys for `jwt.jwks_max_age` and must know a key before it signs.
    return max(until, now + policy.publish_ahead)  # defence: JWT8 announced


def _announced(rows: Iterable[SigningKeyRow], algorithm: str, after: datetime) -> SigningKeyRow | None:
    """Return the published key that will sign next."""
    later = (row for row in rows if row.algorithm == algorithm and row.private_jwk and row.signs_from > after)
    return min(later, key=lambda row: row.signs_from, default=None)


def to_retire(rows: Iterable[SigningKeyRow], now: datetime) -> list[SigningKeyRow]:
    """Return the keys whose private part can be erased: the last signature is at least `GRACE` ago."""
    # Another instance whose clock is behind may still sign with this key.
    # defence: JWT13 grace
    return [row for row in rows if row.private_jwk and row.signs_until and row.signs_until + GRACE <= now]


async def list_keys(ctx: Context) -> list[tuple[SigningKeyRow, State]]:
    """Return every key and its state, newest first."""
    rows = await _all(ctx)
    usable = _usable(ctx, rows)
    return [(row, state(row, usable if row in usable else rows, ctx.now)) for row in rows]


async def maintain(ctx: Context, pairs: Mapping[str, KeyPair], *, holder: str) -> None:
    """Store those key pairs (by algorithm) that are due, and erase the private parts of keys that no longer sign.

    `holder` is the name of this process in the lease. Raises Unavailable if another instance holds the lease.
    """
    await _lock(ctx, holder)
    rows = await _all(ctx)
    # Read again under the lock: another instance may have created the keys meanwhile.
    # defence: JWT11 still-due
    for algorithm, start in due(_usable(ctx, rows), ctx.policy[JwtPolicy], ctx.now).items():
        if algorithm in pairs:
            await _add(ctx, rows, pairs[algorithm], start)
    await _retire(ctx, rows)


async def rotate(ctx: Context, pairs: Iterable[KeyPair], *, holder: str, at_once: bool) -> None:
    """Store new keys, which begin to sign after `jwt.publish_ahead` or, with `at_once`, now.

    `holder` is the name of this process in the lease. Raises Unavailable if another instance holds the lease, and
    SigningKeyAlreadyAnnounced unless `at_once`.
    """
    await _lock(ctx, holder)
    rows = await _all(ctx)
    start = ctx.now if at_once else ctx.now + ctx.policy[JwtPolicy].publish_ahead
    for pair in pairs:
        announced = _announced(_usable(ctx, rows), pair.algorithm, ctx.now)
        if announced is not None and not at_once:
            raise SigningKeyAlreadyAnnounced(
                f"The next {pair.algorithm} key is already announced: {announced.kid}"
            )
        await _add(ctx, rows, pair, start, by_operator=ctx.is_operator)


async def find(ctx: Context, kid: str) -> SigningKeyRow:
    """Return the key with this id if it is not revoked. Raises SigningKeyNotFound, SigningKeyAlreadyRevoked."""
    row = next((row for row in await _all(ctx) if row.kid == kid), None)
    if row is None:
        raise SigningKeyNotFound(f"There is no signing key {kid}")
    if row.revoked_at is not None:
        raise SigningKeyAlreadyRevoked(f"The signing key {kid} is already revoked")
    return row


async def revoke(ctx: Context, kid: str, pairs: Mapping[str, KeyPair], *, holder: str) -> None:
    """Revoke the key with the id `kid`, and erase its private part.

    If no stored key of its algorithm can sign then, the pair in `pairs` (by algorithm) is stored and signs at once.
    `holder` is the name of this process in the lease. Raises Unavailable if another instance holds the lease,
    SigningKeyNotFound, SigningKeyAlreadyRevoked.
    """
    await _lock(ctx, holder)
    row = await find(ctx, kid)
    # The private part is deleted as well, so that no instance can sign with it again.
    await ctx.db.execute(_CHANGE, whose=kid, revoked_at=ctx.now, private_jwk=None)  # defence: JWT9 revoked
    events.signing_key_revoked(ctx, kid, row.algorithm)
    await maintain(ctx, pairs, holder=holder)


async def _lock(ctx: Context, holder: str) -> None:
    """Lock the lease until the transaction ends. Raises Unavailable unless `holder` has it."""
    if not await ctx.db.execute(_LOCK, whose=holder):  # defence: JWT11 lock
        raise Unavailable


async def _all(ctx: Context) -> list[SigningKeyRow]:
    return await ctx.db.execute(_ROWS)


def _usable(ctx: Context, rows: Iterable[SigningKeyRow]) -> list[SigningKeyRow]:
    """Return the keys that can be decrypted."""
    private = ((row, row.private_jwk) for row in rows)
    # defence: JWT10 usable
    return [row for row, sealed in private if sealed and ctx.cipher.decrypt(PURPOSE, sealed) is not None]


async def _add(
    ctx: Context, rows: Sequence[SigningKeyRow], pair: KeyPair, start: datetime, *, by_operator: bool = False
) -> None:
    """Store a key pair; keys of the same algorithm stop signing when it starts."""
    policy, usable = ctx.policy[JwtPolicy], _usable(ctx, rows)
    current = signing_key(usable, pair.algorithm, ctx.now)
    for row in usable:
        overlaps = row.signs_until is None or row.signs_until > start
        if row.algorithm == pair.algorithm and row.signs_from <= start and (overlaps or row is current):
            end = start + policy.keep
            await ctx.db.execute(_CHANGE, whose=row.kid, signs_until=start, published_until=end)
    successor = _announced(usable, pair.algorithm, start)
    interval = start + policy.rotation_interval if policy.rotation_interval else None
    until = interval if successor is None else successor.signs_from
    await ctx.db.execute(
        insert(SigningKey),
        kid=pair.kid,
        algorithm=pair.algorithm,
        public_jwk=pair.public_jwk,
        private_jwk=ctx.cipher.encrypt(PURPOSE, pair.private_jwk),  # defence: JWT2 encrypted
        created_at=ctx.now,
        signs_from=start,
        signs_until=until,
        published_until=None if until is None else until + policy.keep,
    )
    events.signing_key_created(ctx, pair.kid, pair.algorithm, by_operator=by_operator)
    if start <= ctx.now:
        events.signing_key_activated(ctx, pair.kid, pair.algorithm, by_operator=by_operator)


async def _retire(ctx: Context, rows: Collection[SigningKeyRow]) -> None:
    """Erase the private parts of keys that no longer sign; record that their successors have begun."""
    for old in to_retire(rows, ctx.now):
        await ctx.db.execute(_CHANGE, whose=old.kid, private_jwk=None)
        events.signing_key_retired(ctx, old.kid, old.algorithm)
        for row in rows:
            is_next = row.algorithm == old.algorithm and row.signs_from == old.signs_until
            # The activation of a key that signed at once was recorded when it was created.
            if is_next and row.created_at < row.signs_from and row.revoked_at is None:
                events.signing_key_activated(ctx, row.kid, row.algorithm)
