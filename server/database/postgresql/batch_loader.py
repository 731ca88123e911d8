"""Look-ups by a key, combined into one statement for many callers."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from domain.errors import Unavailable
from server.database.batch import Batcher
from server.database.compile import CompiledStatement
from server.database.errors import is_retryable, is_unavailable
from server.database.pool import Pool
from server.database.postgresql.engine import Driver

Answer = TypeVar("Answer")

_ATTEMPTS = 3
"""Attempts of a read that conflicts with another transaction."""


def _of_values(values: Sequence[object]) -> Mapping[str, object]:
    return {"value": values}


class BatchLoader(Batcher[object, Answer | None], Generic[Answer]):
    """Combines concurrent look-ups by one query into one statement."""

    def __init__(
        self,
        compiled: CompiledStatement[Any],
        pool: Pool[Driver],
        collect: Callable[[Sequence[Any]], Awaitable[Mapping[int, Answer]]],
        *,
        largest: int,
        timeout: float,
        arguments: Callable[[Sequence[Any]], Mapping[str, object]] = _of_values,
    ) -> None:
        """Create an empty queue of look-ups.

        `compiled` is a statement for many values. `arguments` makes its parameters from the values. `collect` makes the
        results from its rows, by the position (from 1) of the value. `largest` is the maximum number of look-ups in one
        statement, `timeout` the limit of each in seconds.
        """
        super().__init__(largest)
        self.compiled = compiled
        self.collect = collect
        self._pool = pool
        self._timeout = timeout
        self._arguments = arguments

    async def _serve_batch(self) -> None:
        lookups = self._take()
        if not lookups:
            return
        try:
            values = list({value: None for value, _, _ in lookups})
            # The first caller has waited longest; with its deadline for all, no caller waits longer than allowed.
            deadline = lookups[0].since + self._timeout
            rows = await fetch(self._pool, self.compiled, self._arguments(values), deadline)
            results = {
                values[position - 1]: answer for position, answer in (await self.collect(rows)).items()
            }
        except BaseException as error:
            for pending in lookups:
                pending.fail(_seen(error))
            if not isinstance(error, Exception):
                raise
        else:
            for pending in lookups:
                pending.succeed(results.get(pending.item))


async def fetch(
    pool: Pool[Driver], compiled: CompiledStatement[Any], values: Mapping[str, object], deadline: float
) -> list[Any]:
    """Return the rows; retry a read that conflicts with another transaction, such as a migration.

    A connection is dropped after any fault, so that the next statement starts afresh.
    """
    arguments = compiled.arguments(values)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            async with pool.connection(deadline) as connection:
                # defence: R3 read-timeout
                rows: list[Any] = await connection.fetch(
                    compiled.sql, *arguments, timeout=max(0.001, deadline - time.monotonic())
                )
                return rows
        except Exception as error:
            if attempt == _ATTEMPTS or not is_retryable(error):
                raise
    raise AssertionError("the last attempt returns or raises")


def is_outage(error: BaseException) -> bool:
    """Return whether the state of the database made a read fail; a standby reports conflicts with recovery."""
    return is_unavailable(error) or is_retryable(error)  # defence: R7 lost-read


def _seen(error: BaseException) -> Exception:
    """Return the error for one caller: a defect unchanged, otherwise a new Unavailable."""
    if isinstance(error, Exception) and not is_outage(error):
        return error
    unavailable = Unavailable()  # A new instance for each caller, because an exception stores its traceback.
    unavailable.__cause__ = error
    return unavailable
