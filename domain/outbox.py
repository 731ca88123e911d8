"""The life of an outbox row: made, claimed by lease, then delivered, postponed or given up (behaviour 8.1).

A claim counts as an attempt, and the number of attempts proves it: whoever claims the row after the lease has
run out makes it another number, so that a late note of the first holder touches nothing.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement, String, Update, bindparam, delete, func, select, update
from sqlmodel import col

from domain import audit, secrets
from domain.context import Context
from domain.ports import Reads
from models import MailState, Outbox
from models.queries import Query

Payload = dict[str, str | None]
"""Of a mail: to, name, link, code, expires (ISO time), and of some until (ISO time) or switched (on, off).
Of an unresolved request: email, target, and who asked: address, user_agent, request_id."""

LEASE = timedelta(seconds=60)
FIRST_RETRY = timedelta(seconds=30)
LONGEST_RETRY = timedelta(hours=1)
UNRESOLVED_LIMIT = 10_000
PURPOSE = "outbox.payload"

_COLUMNS = tuple(
    col(getattr(Outbox, name))
    for name in ("id", "template", "sender", "attempts", "created_at", "expires_at")
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A row that this instance may work on until its lease runs out."""

    id: str
    template: str
    sender: str
    attempts: int
    created_at: datetime
    expires_at: datetime
    payload: Payload | None = field(repr=False)
    """None when no key fits any more."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many rows of one state wait, and since when the oldest does; None when there is none."""

    state: MailState
    rows: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Kind:
    """Rows that are worked on together: how to claim them, and the read that tells when the first is due."""

    state: MailState
    conditions: tuple[ColumnElement[bool], ...]
    first: Query[datetime]


_WAITING = Query(
    select(func.count(col(Outbox.id)), func.min(col(Outbox.created_at))).where(
        col(Outbox.state) == bindparam("value", type_=String())
    ),
    tuple,
)


async def waiting(reads: Reads) -> list[Waiting]:
    """Give what is not done yet, by state. Raises Unavailable."""
    states = (MailState.UNRESOLVED, MailState.QUEUED)
    return [Waiting(state, *((await reads.one(_WAITING, state)) or (0, None))) for state in states]


def retry_delay(attempts: int) -> timedelta:
    """Give how long to wait after the given number of failed attempts: 30 s, doubling up to an hour."""
    return min(FIRST_RETRY * (1 << min(attempts - 1, 10)), LONGEST_RETRY)


def row(
    ctx: Context, template: str, sender: str, payload: Payload, expires_at: datetime | None = None
) -> Outbox:
    """Make a row that is due at once; it is given up after `mail.retry_for`, or at `expires_at` if sooner."""
    last = ctx.now + ctx.policy.mail_retry_for
    return Outbox(
        id=secrets.token(),
        template=template,
        sender=sender,
        payload=ctx.cipher.encrypt(PURPOSE, json.dumps(payload)),
        next_attempt=ctx.now,
        expires_at=last if expires_at is None else min(expires_at, last),
        created_at=ctx.now,
        updated_at=ctx.now,
    )


def unresolved() -> Kind:
    """The requests for which a user is still to be found."""
    return _kind(MailState.UNRESOLVED)


def mails_for(sender: str) -> Kind:
    """The mails that go out through this sender."""
    return _kind(MailState.QUEUED, col(Outbox.sender) == sender)


def strays(senders: Collection[str]) -> Kind:
    """The mails filed for a sender that was configured then, and is none of these."""
    return _kind(MailState.QUEUED, *(col(Outbox.sender) != sender for sender in senders))


async def next_due(ctx: Context, kind: Kind) -> datetime | None:
    """Give when the first row of a kind may be tried; one that is leased, when its lease runs out."""
    return await ctx.reads.one(kind.first, kind.state)


async def claim(ctx: Context, kind: Kind, limit: int) -> list[Claim]:
    """Take up to `limit` due rows by one statement; until the lease runs out no other instance has them."""
    due = (
        select(col(Outbox.id))
        .where(col(Outbox.state) == kind.state, *kind.conditions, col(Outbox.next_attempt) <= ctx.now)
        .order_by(col(Outbox.next_attempt))
        .limit(limit)
        .with_for_update(skip_locked=True)
        .cte("due")
    )
    until = ctx.now + LEASE
    taken = (
        update(Outbox)
        .where(col(Outbox.id).in_(select(due.c.id)))
        .values(attempts=col(Outbox.attempts) + 1, next_attempt=until, lease_until=until, updated_at=ctx.now)
        .returning(*_COLUMNS, col(Outbox.payload))
        .execution_options(synchronize_session=False)
    )
    return [_claim(ctx, columns) for columns in (await ctx.db.execute(taken)).mappings()]


async def take(ctx: Context, claimed: Claim) -> bool:
    """Delete a claimed row; whether it was still ours. What replaces it belongs into the same transaction."""
    statement = delete(Outbox).where(*_still(claimed)).returning(col(Outbox.id))
    return (await ctx.db.execute(statement.execution_options(synchronize_session=False))).first() is not None


async def drop_excess(ctx: Context) -> int:
    """Delete the unresolved requests beyond the limit, the newest; give how many they were."""
    oldest_first = (
        select(col(Outbox.id))
        .where(col(Outbox.state) == MailState.UNRESOLVED)
        .order_by(col(Outbox.created_at), col(Outbox.id))
    )
    statement = (
        delete(Outbox)
        .where(col(Outbox.id).in_(oldest_first.offset(UNRESOLVED_LIMIT)))
        .returning(col(Outbox.id))
    )
    return len((await ctx.db.execute(statement.execution_options(synchronize_session=False))).all())


async def note_sent(ctx: Context, claimed: Claim) -> None:
    """Note the delivery and erase the payload."""
    await ctx.db.execute(_note(ctx, claimed).values(state=MailState.SENT, payload=None, last_error=None))


async def note_failed(ctx: Context, claimed: Claim, reason: str) -> None:
    """Give a mail up and erase its payload. `reason` holds no secret and no address."""
    failed = _note(ctx, claimed).values(state=MailState.FAILED, payload=None, last_error=reason)
    if (found := (await ctx.db.execute(failed.returning(col(Outbox.user_id)))).first()) is not None:
        audit.mail_failed(ctx, found.user_id, claimed.id, claimed.template, reason)


async def note_postponed(ctx: Context, claimed: Claim, reason: str) -> bool:
    """Plan the next attempt; when none is left before the row expires, give it up and answer no."""
    due = ctx.now + retry_delay(claimed.attempts)
    if due >= claimed.expires_at:
        await note_failed(ctx, claimed, reason)
        return False
    await ctx.db.execute(_note(ctx, claimed).values(next_attempt=due, last_error=reason))
    return True


def _kind(state: MailState, *conditions: ColumnElement[bool]) -> Kind:
    of_state = col(Outbox.state) == bindparam("value", type_=String())
    rows = select(col(Outbox.next_attempt)).where(of_state, *conditions)
    first = rows.order_by(col(Outbox.next_attempt)).limit(1)
    return Kind(state, conditions, Query(first, itemgetter(0)))


def _claim(ctx: Context, columns: Mapping[Any, Any]) -> Claim:
    facts = {str(name): value for name, value in columns.items()}
    sealed = facts.pop("payload")
    text = None if sealed is None else ctx.cipher.decrypt(PURPOSE, sealed)
    return Claim(**facts, payload=None if text is None else json.loads(text))


def _still(claimed: Claim) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return col(Outbox.id) == claimed.id, col(Outbox.attempts) == claimed.attempts


def _note(ctx: Context, claimed: Claim) -> Update:
    statement = update(Outbox).where(*_still(claimed)).values(lease_until=None, updated_at=ctx.now)
    return statement.execution_options(synchronize_session=False)
