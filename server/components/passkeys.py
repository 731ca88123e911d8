"""Passkeys: verification of the responses of authenticators, and a warning about passkeys that cannot be used."""

import structlog

from domain.authenticators import Authenticators
from domain.passkeys import passkeys
from domain.passkeys.policy import PasskeyPolicy
from server.components.component import Component, Core
from server.config.groups.passkeys import PasskeySettings
from server.crypto import authenticators

_log = structlog.get_logger(__name__)


class Passkeys(Component):
    """The component that registers the verification of passkeys."""

    def __init__(self, core: Core) -> None:
        self._core = core
        core.port.add(Authenticators, authenticators.Authenticators())

    async def start(self) -> None:
        """Log a warning with the number of passkeys of another domain, which browsers never offer for this one."""
        if not self._core.settings[PasskeySettings].enabled:
            return
        number = await self._core.run(passkeys.count_foreign)
        if number:
            _log.warning("passkeys.unusable", number=number, rp_id=self._core.policy[PasskeyPolicy].rp_id)
