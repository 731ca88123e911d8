"""More passwords than can be hashed: R42 of the fault list. What limits are for is in tests/security.

How long the others wait meanwhile is measured by `python -m tests.bench.saturation`: here the crowd and they are one
client, which is busier than the service.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.conftest import Headers
from tests.faults.asking import LONG, OVERLOADED, PLAIN, Asker, asking, told
from tests.live import serving

WORKERS, QUEUE = 1, 16
SETTINGS = {
    **PLAIN,
    "password.hash_workers": str(WORKERS),
    "password.hash_queue": str(QUEUE),
    "password.hash_wait": "10m",
    "password.argon2_memory_kib": "19456",
    "password.argon2_time": "2",
    "mail.sender": "none",
}
"""Hashing as in production, which takes ten times longer than anything else that a request does; who is refused is
refused for the length of the queue, not for the time in it."""


@pytest.fixture
async def asker(tmp_path: Path) -> AsyncIterator[Asker]:
    """A client of a service that hashes one password at a time."""
    with serving(tmp_path, SETTINGS) as service:
        async with asking(service) as asker:
            yield asker


@pytest.mark.threat("R42")
class TestManyAtOnce:
    """Limits are switched off here, as a crowd of honest people would not meet them either."""

    async def test_what_cannot_be_hashed_is_refused_and_all_else_goes_on(self, asker: Asker) -> None:
        email, headers = await asker.join()
        flood = asyncio.gather(*(asker.sign_in(email) for _ in range(500)))

        others = [await look(asker, headers) for _ in range(20)]
        while LONG and not flood.done():
            others.append(await look(asker, headers))
        answers = told(await flood)

        assert {answer.status_code for answer in others} == {200}
        assert set(answers) == {"200", OVERLOADED}
        assert answers["200"] >= WORKERS + QUEUE
        assert (await asker.sign_in(email)).status_code == 200


async def look(asker: Asker, headers: Headers) -> httpx.Response:
    """Feel the pulse, and look at a session; give the answer."""
    assert (await asker.get("/ok")).status_code == 200
    return await asker.get("/get-session", headers)
