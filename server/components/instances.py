"""The running processes of the service: each writes a row with the time at which it was last seen."""

import os
import socket
from collections.abc import Iterable
from importlib.metadata import version

from domain import tokens
from domain.instances import instances
from domain.instances.instances import ThisInstance
from domain.settings.settings import SettingsInForce
from models.instance import upsert_instance
from server.components.component import Component, Core, PeriodicJob

EVERY = 15.0
"""Seconds between two writes; a process that misses three of them in a row is not listed."""


class Heartbeat(Component):
    """The component that writes the row of this process, so that administrators see which processes run."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._instance = ThisInstance(
            tokens.token(), socket.gethostname(), os.getpid(), version("gatewright"), core.clock()
        )
        core.port.add(ThisInstance, self._instance)
        core.port.add(Heartbeat, self)

    def jobs(self) -> Iterable[PeriodicJob]:
        """Return the job that writes the row."""
        yield PeriodicJob("instances", self.write, EVERY)

    async def write(self) -> None:
        """Write the row of this process with the current time and its settings."""
        database = self._core.database
        settings = instances.settings_text(self._core.port[SettingsInForce]())
        async with database.transaction() as transaction:
            await transaction.execute(
                upsert_instance(database.dialect),
                **self._instance._asdict(),
                last_seen_at=self._core.clock(),
                settings=settings,
            )
