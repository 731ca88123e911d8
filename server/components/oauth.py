"""The OAuth provider in a running service: the library behind its rules, and the erasure of old responses."""

from collections.abc import Iterable

from domain.oauth import refresh
from domain.oauth.engine import TokenEngine
from server.components.component import Component, Core, PeriodicJob
from server.config.groups.oauth import OAuthSettings
from server.oauth import engine

EVERY = 60.0
"""Seconds between two erasures: a response is kept for so much longer than `oauth.refresh_reuse_grace`."""


class OAuthProvider(Component):
    """Registers the engine of the token endpoint if the provider is on."""

    def __init__(self, core: Core) -> None:
        self._is_enabled = core.settings[OAuthSettings].enabled
        self._run = core.run
        if self._is_enabled:
            core.port.add(TokenEngine, engine.decide)

    def jobs(self) -> Iterable[PeriodicJob]:
        """Erase the responses of refreshes that can no longer be repeated."""
        if self._is_enabled:
            yield PeriodicJob("refresh_replays", self.forget_replays, EVERY)

    async def forget_replays(self) -> None:
        """Erase the responses once."""
        await self._run(refresh.forget_replays)
