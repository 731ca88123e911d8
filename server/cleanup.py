"""Clean-up: rows whose time is over are removed, by one instance at a time (behaviour 9.4).

Nothing depends on it but the size of the tables: whoever reads a row looks at its time.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import structlog
from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import InstrumentedAttribute
from sqlmodel import col

from domain.limits import KNOWN_FOR
from models import Audit, Counter, Grant, KnownNetwork, MailState, Outbox, Purpose, Session, TrustedDevice
from server import leases
from server.database import Database

EVERY = 300.0
"""Seconds from one sweep to the next."""

_BATCH = 500
"""Rows removed in one transaction."""

_PAUSE = 0.02
"""Seconds between two of them. Another process that waits for SQLite's lock sleeps and tries again: it needs a gap."""

_LEASE = "cleanup"

_TELLABLE = (Purpose.VERIFY, Purpose.CHANGE_EMAIL)
"""Grants kept for a while after their end, so that TOKEN_EXPIRED can be told from INVALID_TOKEN."""

FOR_EVER = timedelta(0)
"""As a retention: nothing goes."""

_TELLABLE_FOR = timedelta(days=7)
_SENT_FOR = timedelta(days=7)
_FAILED_FOR = timedelta(days=30)

_log = structlog.get_logger(__name__)


async def turn(
    database: Database, clock: Callable[[], datetime], holder: str, audit_retention: timedelta = FOR_EVER
) -> None:
    """Sweep once if `holder` has the lease, or gets it; of all instances one does.

    The lease is kept until the next turn, so that the others' turns in between find nothing to do.
    """
    if await leases.take(database, _LEASE, holder, now=clock(), seconds=EVERY):
        _log.info("cleanup.done", **await sweep(database, clock(), audit_retention))


async def sweep(database: Database, now: datetime, audit_retention: timedelta = FOR_EVER) -> dict[str, int]:
    """Remove every row whose time is over at `now`, in short transactions; give the number of rows by table."""
    finished = {**_finished(now), **_forgotten(now, audit_retention)}
    return {name: await _remove(database, *what) for name, what in finished.items()}


def _forgotten(now: datetime, retention: timedelta) -> Mapping[str, tuple[Any, ColumnElement[bool]]]:
    """Give which audit records may go."""
    return {"audit": (col(Audit.id), col(Audit.time) <= now - retention)} if retention else {}


def _finished(now: datetime) -> Mapping[str, tuple[Any, ColumnElement[bool]]]:
    """Give by table name the key, and the condition of the rows that may go."""
    tellable = col(Grant.purpose).in_(_TELLABLE)
    expired = col(Grant.expires_at) <= now
    told = col(Grant.expires_at) <= now - _TELLABLE_FOR
    sent = (col(Outbox.state) == MailState.SENT) & (col(Outbox.updated_at) <= now - _SENT_FOR)
    failed = (col(Outbox.state) == MailState.FAILED) & (col(Outbox.updated_at) <= now - _FAILED_FOR)
    return {
        "session": (col(Session.id), col(Session.expires_at) <= now),
        "grant": (col(Grant.digest), expired & (~tellable | told)),
        "outbox": (col(Outbox.id), sent | failed),
        "trusted_device": (col(TrustedDevice.id), col(TrustedDevice.expires_at) <= now),
        "counter": (col(Counter.key), col(Counter.window_end) <= now),
        "known_network": (col(KnownNetwork.network), col(KnownNetwork.last_success) <= now - KNOWN_FOR),
    }


async def _remove(
    database: Database, key: "InstrumentedAttribute[Any]", finished: ColumnElement[bool]
) -> int:
    """Remove the rows batch by batch; rows that a request is using just now are left for the next sweep."""
    batch = select(key).where(finished).limit(_BATCH).with_for_update(skip_locked=True).cte("batch")
    removal = delete(key.class_).where(key.in_(select(batch.c[key.key]))).returning(key)
    removed = 0
    while True:
        async with database.transaction() as session:
            rows = len(
                (await session.scalars(removal, execution_options={"synchronize_session": False})).all()
            )
        removed += rows
        if rows < _BATCH:
            return removed
        await asyncio.sleep(_PAUSE)
