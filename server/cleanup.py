"""Clean-up: rows whose time is over are removed, by one instance at a time (behaviour 9.4).

Nothing depends on it but the size of the tables: whoever reads a row looks at its time.
"""

import asyncio
import time
from collections import Counter as Counts
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog
from sqlalchemy import ColumnElement, delete, select, true
from sqlalchemy.sql.dml import ReturningDelete
from sqlmodel import col

from domain.limits import KNOWN_FOR
from models import Audit, Counter, Grant, KnownNetwork, MailState, Outbox, Purpose, Session, TrustedDevice
from models.base import EPOCH
from server import leases
from server.database import Database

EVERY = 300.0
"""Seconds from one sweep to the next."""

_BATCH = 500
"""Rows removed in one transaction."""

_PAUSE = 0.02
"""Seconds between two of them. Another process that waits for SQLite's lock sleeps and tries again: it needs a gap."""

_REST = 3
"""How many times as long as a batch took nothing is removed after it: the database is there for requests, and nobody
waits for this."""

_LEASE = "cleanup"

_TELLABLE = (Purpose.VERIFY, Purpose.CHANGE_EMAIL)
"""Grants kept for a while after their end, so that TOKEN_EXPIRED can be told from INVALID_TOKEN."""

FOR_EVER = timedelta(0)
"""As a retention: nothing goes."""

_TELLABLE_FOR = timedelta(days=7)
_SENT_FOR = timedelta(days=7)
_FAILED_FOR = timedelta(days=30)

_UNCHANGED = {"synchronize_session": False}

_log = structlog.get_logger(__name__)


async def turn(
    database: Database, clock: Callable[[], datetime], holder: str, audit_retention: timedelta = FOR_EVER
) -> None:
    """Sweep once if `holder` has the lease, or gets it; of all instances one does.

    The lease is kept until the next turn, so that the others' turns in between find nothing to do. A sweep that lasts
    longer prolongs it.
    """

    async def is_ours() -> bool:
        return await leases.take(database, _LEASE, holder, now=clock(), seconds=EVERY)

    if await is_ours():
        _log.info("cleanup.done", **await sweep(database, clock(), audit_retention, go_on=is_ours))


async def _always() -> bool:
    return True


async def sweep(
    database: Database,
    now: datetime,
    audit_retention: timedelta = FOR_EVER,
    go_on: Callable[[], Awaitable[bool]] = _always,
) -> dict[str, int]:
    """Remove every row whose time is over at `now`, in short transactions; give the number of rows by table.

    After each full batch `go_on` says whether to do the rest as well.
    """
    removed: Counts[str] = Counts()
    for finished in (*_finished(now), *_forgotten(now, audit_retention)):
        async for number in _batches(database, finished):
            removed[finished.key.class_.__tablename__] += number
            if number == _BATCH and not await go_on():
                return dict(removed)
    return dict(removed)


@dataclass(frozen=True, slots=True)
class _Finished:
    """Rows that may go: those whose moment, by which an index orders them, has come, if they are of the kind meant."""

    key: Any
    moment: Any
    until: datetime
    kind: ColumnElement[bool] = field(default_factory=true)


def _forgotten(now: datetime, retention: timedelta) -> Sequence[_Finished]:
    """Give which audit records may go."""
    return [_Finished(col(Audit.id), col(Audit.time), now - retention)] if retention else []


def _finished(now: datetime) -> Sequence[_Finished]:
    """Give which rows of the other tables may go. A mail's last claim ran out within a minute of what was noted."""
    tellable = col(Grant.purpose).in_(_TELLABLE)
    told = col(Grant.expires_at) <= now - _TELLABLE_FOR
    state, claimed = col(Outbox.state), col(Outbox.next_attempt)
    return [
        _Finished(col(Session.id), col(Session.expires_at), now),
        _Finished(col(Grant.digest), col(Grant.expires_at), now, ~tellable | told),
        _Finished(col(Outbox.id), claimed, now - _SENT_FOR, state == MailState.SENT),
        _Finished(col(Outbox.id), claimed, now - _FAILED_FOR, state == MailState.FAILED),
        _Finished(col(TrustedDevice.id), col(TrustedDevice.expires_at), now),
        _Finished(col(Counter.key), col(Counter.window_end), now),
        _Finished(col(KnownNetwork.network), col(KnownNetwork.last_success), now - KNOWN_FOR),
    ]


async def _batches(database: Database, finished: _Finished) -> AsyncIterator[int]:
    """Remove the rows batch by batch, and give the size of each.

    Rows that a request is using just now are left for the next sweep.
    """
    since = EPOCH
    while True:
        begun = time.monotonic()
        async with database.transaction() as session:
            moments = (await session.scalars(_removal(finished, since), execution_options=_UNCHANGED)).all()
        yield len(moments)
        if len(moments) < _BATCH:
            return
        since = max(moments)
        await asyncio.sleep(max(_PAUSE, _REST * (time.monotonic() - begun)))


def _removal(finished: _Finished, since: datetime) -> ReturningDelete[Any]:
    """Give the statement that removes the oldest batch and tells their moments.

    The next one begins where this one ended: what is gone still stands in the index, until PostgreSQL's own clean-up.
    """
    key, moment = finished.key, finished.moment
    due = select(key).where(moment >= since, moment <= finished.until, finished.kind).order_by(moment)
    batch = due.limit(_BATCH).with_for_update(skip_locked=True).cte("batch")
    return delete(key.class_).where(key.in_(select(batch.c[key.key]))).returning(moment)
