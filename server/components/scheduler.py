"""Periodic tasks, which run until the service stops, also while the database is unavailable.

A lease (table `lease`) decides which of several instances runs a task.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from domain.errors import Unavailable
from models import lease
from server.database.database import Database
from server.database.errors import is_retryable, is_unavailable

_log = structlog.get_logger(__name__)


async def run_periodically(
    name: str, job: Callable[[], Awaitable[object]], *, every: float, stop: asyncio.Event
) -> None:
    """Run `job` at once, and again `every` seconds after each run, until `stop` is set; a failed run is logged."""
    while not stop.is_set():
        try:
            await job()
        except Exception as fault:
            _report(name, fault)
        await _wait(stop, every)


def _report(name: str, fault: Exception) -> None:
    if isinstance(fault, Unavailable) or is_unavailable(fault) or is_retryable(fault):
        _log.warning(f"{name}.postponed", reason=type(fault).__name__)
    else:
        _log.error(f"{name}.failed", exc_info=fault)


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return


async def take_lease(database: Database, name: str, holder: str, *, now: datetime, seconds: float) -> bool:
    """Take or extend the lease of the task `name` for `holder`, for `seconds` from `now`; return whether it succeeded.

    It fails if another holder has a lease that has not expired.
    """
    taking = lease.take(database.dialect, name, holder, now=now, until=now + timedelta(seconds=seconds))
    async with database.transaction() as session:
        return bool(await session.execute(taking))
