"""Wrong passwords of one user, some before the fault and the rest after it: those before it must still count."""

import asyncio
from dataclasses import dataclass

import httpx

FAILURES = 10
"""Wrong passwords that the limit permits: the default."""
_TIMEOUT = 60.0


@dataclass
class Guesses:
    """Guesses at the password of one user."""

    email: str
    compared: int = 0
    """How many the service has compared with the password."""

    async def begin(self, http: httpx.AsyncClient, url: str) -> None:
        """Guess half as often as the limit permits."""
        for _ in range(FAILURES // 2):
            await self._guess(http, url)

    async def excess(self, http: httpx.AsyncClient, url: str) -> int:
        """Guess until the limit refuses, and return how many were compared beyond it, over all. Raises TimeoutError."""
        async with asyncio.timeout(_TIMEOUT):
            while await self._guess(http, url) != httpx.codes.TOO_MANY_REQUESTS:
                pass
        return max(0, self.compared - FAILURES)

    async def _guess(self, http: httpx.AsyncClient, url: str) -> int:
        answer = await http.post(
            f"{url}/sign-in/email", json={"email": self.email, "password": "a wrong password"}
        )
        self.compared += answer.status_code == httpx.codes.UNAUTHORIZED
        return answer.status_code
