"""Tasks that come round again and again until the service stops; a database that is away does not end them."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from domain.errors import Unavailable
from server.database_faults import is_retryable, is_unavailable

_log = structlog.get_logger(__name__)


async def repeat(
    name: str, job: Callable[[], Awaitable[object]], *, every: float, stop: asyncio.Event
) -> None:
    """Do `job` now and then every `every` seconds until `stop` is set; a turn that fails is logged."""
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
