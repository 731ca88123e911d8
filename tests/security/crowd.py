"""Many requests at once, to instances that share a database."""

import asyncio
from collections.abc import Awaitable, Sequence
from itertools import cycle

import httpx
import pytest

from tests.service import Service

CROWDS = [20, pytest.param(50, marks=pytest.mark.long)]


async def all_of(requests: Sequence[Awaitable[httpx.Response]]) -> list[httpx.Response]:
    """Return the responses to requests that are sent at once."""
    return await asyncio.gather(*requests)


def turns(instances: list[Service], number: int) -> list[Service]:
    """Return the instances in turn, so many."""
    return [service for service, _ in zip(cycle(instances), range(number), strict=False)]
