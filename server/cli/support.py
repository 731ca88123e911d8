"""Run rules and jobs for a command."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from domain.context import Context
from server.cli import check_config
from server.services import Services, opened

Result = TypeVar("Result")


def run(job: Callable[[Context], Awaitable[Result]]) -> Result:
    """Run one rule in a transaction of its own."""
    return run_services(lambda services: services.unit_of_work.run(job))


def run_services(job: Callable[[Services], Awaitable[Result]]) -> Result:
    """Run a job with open services."""
    settings = check_config.read()

    async def run() -> Result:
        async with opened(settings) as services:
            return await job(services)

    return asyncio.run(run())
