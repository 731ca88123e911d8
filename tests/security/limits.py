"""Steps of those who try too often: guess, come from elsewhere, count what was told."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import cycle
from typing import Any

import httpx

from tests.conftest import Headers
from tests.handlers.steps import ADA, code
from tests.service import PASSWORD, Service

WRONG = "wrong horse battery"
TOLD = "401 INVALID_EMAIL_OR_PASSWORD"
CHECKED = "400 INVALID_PASSWORD"
LIMITED = "429 TOO_MANY_REQUESTS"
PROXIED = {"trusted_proxies": "127.0.0.1"}
"""The tests' client stands for a proxy, and says in X-Forwarded-For for whom it comes."""
PATIENT = {
    "password.hash_queue": "1000",
    "password.hash_wait": "60s",
    "database.timeout": "60s",
    "limits.requests": "0",
}
"""So that each of a hundred at once gets its answer, and from the limit that is looked at."""


def coming_from(address: str) -> Headers:
    """Return the header by which a trusted proxy says who comes."""
    return {"X-Forwarded-For": address}


async def guess(
    service: Service, email: str = ADA, *, address: str | None = None, **more: Any
) -> httpx.Response:
    """Sign in with a wrong password."""
    headers = {} if address is None else coming_from(address)
    return await service.post("/sign-in/email", {"email": email, "password": WRONG, **more}, headers=headers)


async def enter_password(service: Service, email: str = ADA, *, address: str | None = None) -> httpx.Response:
    """Sign in with the right password."""
    headers = {} if address is None else coming_from(address)
    return await service.post("/sign-in/email", {"email": email, "password": PASSWORD}, headers=headers)


async def spend(service: Service, number: int = 10, **options: Any) -> None:
    """Use up a failure budget."""
    answers = [await guess(service, **options) for _ in range(number)]
    assert told(answers) == {TOLD: number}, told(answers)


async def at_once(
    instances: Sequence[Service], number: int, step: Callable[..., Awaitable[httpx.Response]], **options: Any
) -> list[httpx.Response]:
    """Take a step so many times at the same time, at the instances in turn."""
    turns = zip(cycle(instances), range(number), strict=False)
    return await asyncio.gather(*(step(service, **options) for service, _ in turns))


def told(answers: Sequence[httpx.Response]) -> Counter[str]:
    """Count answers by status and code."""
    return Counter(code(answer) for answer in answers)


def wait(answer: httpx.Response) -> int:
    """Return how many seconds a refusal asks to wait, which both headers say alike."""
    assert code(answer) == LIMITED
    assert answer.headers["retry-after"] == answer.headers["x-retry-after"]
    return int(answer.headers["retry-after"])
