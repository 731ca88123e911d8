"""Results of the rows that a statement gave; of many rows some at a time, so that others get their turn."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TypeVar

from server.reads.plans import Plan

Result = TypeVar("Result")

SLICE = 500
"""Rows made results of at once."""


async def singles(prepared: Plan[Result], rows: Sequence[Any]) -> dict[int, Result]:
    """Make the results of rows of which each answers another value."""
    return {row[0]: prepared.result(row[1:]) for row in rows}


async def lists(prepared: Plan[Result], rows: Sequence[Any]) -> dict[int, list[Result]]:
    """Make lists, in the order of the rows; others get their turn between many of them."""
    found: defaultdict[int, list[Result]] = defaultdict(list)
    for number, row in enumerate(rows, 1):
        found[row[0]].append(prepared.result(row[1:]))
        if number % SLICE == 0:
            await asyncio.sleep(0)
    return found


async def results(prepared: Plan[Result], rows: Sequence[Any]) -> list[Result]:
    """Make the results; of a long list some at a time, so that others get their turn between them."""
    found: list[Result] = []
    for start in range(0, len(rows), SLICE):
        if start:
            await asyncio.sleep(0)
        found += [prepared.result(row) for row in rows[start : start + SLICE]]
    return found
