"""Sign-ins that wait for their second factor, as the pipeline looks for them."""

from dataclasses import dataclass
from datetime import datetime

from domain import challenges
from domain.context import Challenge
from server.requests import Requests


@dataclass(frozen=True, slots=True)
class PendingSignIns:
    """Finds the sign-ins that wait for their second factor, for the pipeline."""

    requests: Requests

    async def find(self, token: str, now: datetime, *, by_cookie: bool) -> Challenge | None:
        """Give the live challenge behind a pending token, or None (behaviour 3.2)."""
        return await challenges.find(self.requests.database.reads, token, now)
