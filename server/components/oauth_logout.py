"""Back-channel logout: notify OAuth clients that the session of a user has ended."""

from collections.abc import Iterable

from domain.backchannel_logout.policy import BackchannelLogoutPolicy
from server.components.component import Component, Core
from server.oauth.logout_queue import logout_queue
from server.outbox.queue import Queue


class BackchannelLogout(Component):
    """The component that sends logout tokens to OAuth clients when a session ends."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def queues(self) -> Iterable[Queue]:
        """Return the queue of logout tokens; none if back-channel logout is disabled."""
        core = self._core
        if core.policy[BackchannelLogoutPolicy].enabled:
            yield logout_queue(core.policy, core.port, core.run, core.clock, core.metrics)
