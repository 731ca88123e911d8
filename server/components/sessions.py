"""Sessions: the number of a user's sessions below which a sign-in need not check the session limit."""

from collections.abc import Iterable

from domain.sessions.policy import SessionLimitThreshold
from server.components.component import Component
from server.config.base import Settings
from server.config.groups.password import PasswordSettings
from server.config.groups.session import SessionSettings
from server.crypto.hash_pool import MAX_PREPARING


class Sessions(Component):
    """The component that computes the threshold: the session limit less the number of sign-ins that may run at once."""

    @classmethod
    def policies(cls, settings: Settings) -> Iterable[object]:
        """Return the threshold: `session.max_per_user` less the sign-ins that may run at once; None without a limit."""
        most, password = settings[SessionSettings].max_per_user, settings[PasswordSettings]
        # So many sign-ins may have read the number of sessions and not yet added theirs.
        under_way = MAX_PREPARING + password.hash_queue + password.hash_workers
        return (SessionLimitThreshold(max(0, most - under_way) if most else None),)
