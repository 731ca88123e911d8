"""Run functions of `domain`, or jobs that need the services, for a command."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from domain.context import Context
from server.cli import check_config
from server.services import Services, opened

Result = TypeVar("Result")


def run(job: Callable[[Context], Awaitable[Result]]) -> Result:
    """Open the services, run one rule in a transaction of its own, and return its result.

    Raises the refusals of the rule, ConfigurationError, DatabaseAbsent and SchemaRefused.
    """
    return run_services(lambda services: services.unit_of_work.run(job))


def run_services(job: Callable[[Services], Awaitable[Result]]) -> Result:
    """Open the services, run a job with them, and return its result.

    Raises the errors of the job, ConfigurationError, DatabaseAbsent and SchemaRefused.
    """
    settings = check_config.read()

    async def run() -> Result:
        async with opened(settings) as services:
            return await job(services)

    return asyncio.run(run())
