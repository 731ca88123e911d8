"""The OAuth provider: the check of token requests by Authlib, and the erasure of stored token responses."""

from collections.abc import Iterable

from domain.oauth import refresh
from domain.oauth.engine import Presented, TokenEngine
from domain.oauth_clients.parameters import OAuthParameters
from models.discovery import lazy_import
from models.oauth_client import ClientRow
from server.components.component import Component, Core, PeriodicJob
from server.config.groups.oauth import OAuthSettings

EVERY = 60.0
"""Seconds between two erasures. A response may be kept for this time longer than `oauth.refresh_reuse_grace`."""


class OAuthProvider(Component):
    """The component that registers the check of token requests and erases old token responses, if OAuth is enabled."""

    def __init__(self, core: Core) -> None:
        self._is_enabled = core.settings[OAuthSettings].enabled
        self._run = core.run
        if self._is_enabled:
            core.port.add(TokenEngine, _decide)

    def jobs(self) -> Iterable[PeriodicJob]:
        """Return the job that erases stored responses of refreshes that can no longer be repeated."""
        if self._is_enabled:
            yield PeriodicJob("refresh_replays", self.forget_replays, EVERY)

    async def forget_replays(self) -> None:
        """Erase the stored responses of refreshes that can no longer be repeated."""
        await self._run(refresh.forget_replays)


def _decide(client: ClientRow, parameters: OAuthParameters, presented: Presented | None = None) -> str:
    """Decide on a request for tokens; Authlib is loaded at the first one."""
    scopes: str = lazy_import("server.oauth.engine").decide(client, parameters, presented)
    return scopes
