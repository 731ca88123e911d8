"""Sessions: when the oldest sessions of a user have to be looked for."""

from collections.abc import Iterable

from domain.sessions.policy import SessionLimitThreshold
from server.components.component import Component
from server.config.settings import Settings
from server.crypto.hash_pool import MAX_PREPARING


class Sessions(Component):
    """Computes what depends on how many sign-ins are under way at once."""

    @classmethod
    def policies(cls, settings: Settings) -> Iterable[object]:
        """Return how many sessions are few: other sign-ins may end between the look at a user and their session."""
        most, password = settings.session.max_per_user, settings.password
        under_way = MAX_PREPARING + password.hash_queue + password.hash_workers
        return (SessionLimitThreshold(max(0, most - under_way) if most else None),)
