"""The states of an email in the outbox: created, claimed by lease, then delivered, deferred or failed."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    ColumnElement,
    String,
    bindparam,
    delete,
    func,
    select,
    update,
)
from sqlalchemy.sql.dml import ReturningUpdate
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.mail import events
from domain.mail.policy import MailPolicy
from domain.ports import Reads
from models import MailState, Outbox, OutboxRow, leased_rows
from models.queries import ReadStatement

Payload = dict[str, str | None]
"""The decrypted content of a row. An email has `to`, `name`, `locale`, `expires` (an ISO time or None), the texts of
the template's variables, and sometimes `not_me_link`; one that cannot be sent again has only `to`. An unresolved
request has `email`, `target`, and the client that made it: `address`, `user_agent`, `request_id`, `languages`."""

LEASE = timedelta(seconds=60)
# Doubled at each attempt: a hot loop would keep a mail server down that is just recovering.
FIRST_RETRY = timedelta(seconds=30)  # defence: R10 first-retry
LONGEST_RETRY = timedelta(hours=1)
UNRESOLVED_LIMIT = 10_000
PURPOSE = "outbox.payload"
MAIL = "mail"
"""The kind of rows in `Context.queued` for which the worker that sends emails is woken."""
DECOY_ADDRESS = "nobody@decoy.invalid"
"""The recipient of a decoy: an email that is prepared like any other and never sent, so that the time of the worker
does not reveal whether an email address is registered. The domain can have no mail server (RFC 6761, 6.4)."""

_COLUMNS = tuple(
    col(getattr(Outbox, name))
    for name in ("id", "template", "sender", "attempts", "created_at", "expires_at")
)

# Built once, because each statement object is compiled once.
_CLAIMED = leased_rows.is_claimed(Outbox)
_MARK = update(Outbox).where(*_CLAIMED).values(lease_until=None, updated_at=bindparam("now"))
_DELETE = delete(Outbox).where(*_CLAIMED).returning(col(Outbox.id))
# Links and codes in the payload are erased with the result; a failed email keeps them while it can be sent again.
_SENT = _MARK.values(state=MailState.SENT, payload=bindparam("kept"), last_error=None)
_FAILED = _MARK.values(
    state=MailState.FAILED, payload=bindparam("kept"), last_error=bindparam("reason")
).returning(col(Outbox.user_id))
WAITING = (MailState.UNRESOLVED, MailState.QUEUED)
"""The states of emails that are still to be sent."""
_DEFERRED = _MARK.values(next_attempt=bindparam("due"), last_error=bindparam("reason"))


@dataclass(frozen=True, slots=True)
class LeasedMail:
    """A row that this instance may work on until its lease expires."""

    id: str
    template: str
    sender: str
    attempts: int
    created_at: datetime
    expires_at: datetime
    payload: Payload | None = field(repr=False)
    """None if no configured key can decrypt it."""

    @property
    def is_decoy(self) -> bool:
        """Whether the email is prepared but not sent."""
        return self.payload is not None and self.payload.get("to") == DECOY_ADDRESS


@dataclass(frozen=True, slots=True)
class QueueState:
    """The number of rows in one state, and when the oldest was created (None without rows)."""

    state: MailState
    rows: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """The rows in one state: the statement that claims rows which are due, and the query for when the first is due."""

    state: MailState
    claim: ReturningUpdate[Any]
    first: ReadStatement[datetime]


_WAITING = ReadStatement(
    select(func.count(col(Outbox.id)), func.min(col(Outbox.created_at))).where(
        col(Outbox.state) == bindparam("value", type_=String())
    ),
    tuple,
)


async def waiting(reads: Reads) -> list[QueueState]:
    """Return the numbers of unresolved and of queued rows, each with the time of the oldest row. Raises Unavailable."""
    states = (MailState.UNRESOLVED, MailState.QUEUED)
    return [QueueState(state, *((await reads.one(_WAITING, state)) or (0, None))) for state in states]


def retry_delay(attempts: int) -> timedelta:
    """Return the delay after the given number of failed attempts: 30 s, doubling up to an hour."""
    # The exponent is capped, because a timedelta cannot hold an arbitrarily large product.
    return min(FIRST_RETRY * (1 << min(attempts - 1, 10)), LONGEST_RETRY)


def row(
    ctx: Context,
    state: MailState,
    template: str,
    sender: str,
    payload: Payload,
    *,
    user_id: str | None = None,
    expires_at: datetime | None = None,
) -> OutboxRow:
    """Return a new row that is due at once, with an encrypted payload; the caller stores it.

    Attempts to send it end after `mail.retry_for`, or at `expires_at` if that is sooner.
    """
    last = ctx.now + ctx.policy[MailPolicy].retry_for
    # defence: V87 outbox-row
    return OutboxRow(
        id=tokens.token(),
        state=state,
        template=template,
        sender=sender,
        user_id=user_id,
        payload=ctx.cipher.encrypt(PURPOSE, json.dumps(payload)),
        next_attempt=ctx.now,
        expires_at=last if expires_at is None else min(expires_at, last),
        created_at=ctx.now,
        updated_at=ctx.now,
    )


def unresolved() -> QueueFilter:
    """Return the filter for requests whose user has not been looked up yet."""
    return _filter(MailState.UNRESOLVED)


def mails_for(sender: str) -> QueueFilter:
    """Return the filter for emails of this sender."""
    return _filter(MailState.QUEUED, col(Outbox.sender) == sender)


def unroutable(senders: Collection[str]) -> QueueFilter:
    """Return the filter for emails queued for any other sender than `senders`, those that are configured."""
    return _filter(MailState.QUEUED, *(col(Outbox.sender) != sender for sender in senders))


async def next_due(ctx: Context, rows: QueueFilter) -> datetime | None:
    """Return the time at which the first row is due, None without rows. A leased row is due when its lease expires."""
    return await ctx.reads.one(rows.first, rows.state)


async def claim(ctx: Context, rows: QueueFilter, limit: int) -> list[LeasedMail]:
    """Claim up to `limit` due rows by one statement; no other instance can claim them until the lease expires."""
    until = ctx.now + LEASE
    claimed = await ctx.db.execute(rows.claim, now=ctx.now, until=until, most=limit)
    return [_leased_mail(ctx, row) for row in claimed]


async def delete_claimed(ctx: Context, claimed: LeasedMail) -> bool:
    """Delete a claimed row; return whether the claim was still valid.

    Call it in the transaction that queues the email made from the row.
    """
    return (await ctx.db.execute(_DELETE, **_claimed(claimed))).first() is not None


async def drop_excess(ctx: Context) -> int:
    """Delete the newest unresolved requests above `UNRESOLVED_LIMIT`; return how many were deleted."""
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
    return len(await ctx.db.execute(statement.execution_options(in_thread=True)))


async def mark_sent(ctx: Context, claimed: LeasedMail) -> None:
    """Mark an email as delivered, and erase its payload apart from the recipient."""
    kept = _sealed(ctx, _recipient_of(claimed.payload))
    await ctx.db.execute(_SENT, **_claimed(claimed), now=ctx.now, kept=kept)


async def mark_failed(ctx: Context, claimed: LeasedMail, reason: str) -> None:
    """Mark an email as failed; erase its payload apart from the recipient if the email cannot be sent again.

    `reason` contains no secret and no email address.
    """
    payload = claimed.payload
    kept = payload if can_be_sent_again(payload, ctx.now) else _recipient_of(payload)
    values = {"now": ctx.now, "reason": reason, "kept": _sealed(ctx, kept)}
    failed = (await ctx.db.execute(_FAILED, **_claimed(claimed), **values)).first()
    if failed is not None:
        events.mail_failed(ctx, failed.user_id, claimed.id, claimed.template, reason)


async def mark_deferred(ctx: Context, claimed: LeasedMail, reason: str) -> bool:
    """Schedule the next attempt of an email, and return True.

    If the row expires before that, mark the email as failed instead, and return False.
    """
    due = ctx.now + retry_delay(claimed.attempts)
    if due >= claimed.expires_at:
        await mark_failed(ctx, claimed, reason)
        return False
    await ctx.db.execute(_DEFERRED, **_claimed(claimed), now=ctx.now, due=due, reason=reason)
    return True


def can_be_sent_again(payload: Payload | None, now: datetime) -> bool:
    """Return whether an email with this payload can be sent again.

    It can if the payload has not been erased, and if the link or code in it, if any, has not expired.
    """
    if payload is None or len(payload) == 1:
        return False
    expires = payload.get("expires")
    return expires is None or datetime.fromisoformat(expires) > now


def recipient(payload: Payload | None) -> str | None:
    """Return the address of an email or of an unresolved request; None for a decoy and without a payload."""
    address = None if payload is None else payload.get("to", payload.get("email"))
    return None if address == DECOY_ADDRESS else address


def opened(ctx: Context, ciphertext: bytes | None) -> Payload | None:
    """Return the decrypted payload; None if it was erased, or if no configured key can decrypt it."""
    text = None if ciphertext is None else ctx.cipher.decrypt(PURPOSE, ciphertext)
    return None if text is None else json.loads(text)


def _recipient_of(payload: Payload | None) -> Payload | None:
    address = recipient(payload)
    return None if address is None else {"to": address}


def _sealed(ctx: Context, payload: Payload | None) -> bytes | None:
    return None if payload is None else ctx.cipher.encrypt(PURPOSE, json.dumps(payload))


def _filter(state: MailState, *conditions: ColumnElement[bool]) -> QueueFilter:
    of_state = col(Outbox.state) == bindparam("value", type_=String())
    first = leased_rows.first_due(Outbox, of_state, *conditions)
    columns = (*_COLUMNS, col(Outbox.payload))
    claim = leased_rows.claim(Outbox, col(Outbox.state) == state, *conditions, returning=columns)
    return QueueFilter(state, claim, ReadStatement(first, itemgetter(0)))


def _leased_mail(ctx: Context, row: Any) -> LeasedMail:
    return LeasedMail(**{**row._asdict(), "payload": opened(ctx, row.payload)})


def _claimed(claimed: LeasedMail) -> Mapping[str, object]:
    return leased_rows.claimed(claimed.id, claimed.attempts)
