"""Whatever may be used once is used by many at once: on one file, and at two instances on one server (R19).

Codes and sign-ins that wait for one: test_two_factor_races.py.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path

import httpx
import pytest

from tests.handlers import steps
from tests.handlers.steps import ADA, NEW_PASSWORD, change_token, code, join, token_in
from tests.handlers.test_emails import follow, join_verified
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.labs.provider.steps import as_user, begin, deliver, error_of, visit
from tests.security import second_factor
from tests.security.second_factor import enrol
from tests.service import Service, close_service, open_service

pytestmark = pytest.mark.both_databases

SETTINGS = {
    "secrets": "s" * 32,
    "limits.enabled": "false",
    "two_factor.lock_after": "1000",
    "two_factor.challenge_attempts": "100",
    "delete_user.confirm_by_mail": "true",
    "database.timeout": "60s",
    "password.hash_queue": "1000",
    "password.hash_wait": "60s",
}
"""Nothing is counted and nobody hurries: every answer tells of the one thing alone."""

Use = Callable[[Service], Awaitable[httpx.Response]]
"""Uses the one thing at an instance."""


@pytest.fixture(params=["sqlite", "postgresql"], scope="module")
async def opened(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    provider_process: ProviderProcess,
) -> AsyncIterator[list[Service]]:
    """One instance on SQLite, two on PostgreSQL."""
    directory: Path = tmp_path_factory.mktemp("twice")
    url, number = f"sqlite:///{directory / 'gatewright.db'}", 1
    if request.param == "postgresql":
        url, number = request.getfixturevalue("cluster").create(migrated=True), 2
    settings = {**SETTINGS, **social_settings(provider_process)}
    instances = [await open_service(url, directory, settings) for _ in range(number)]
    yield instances
    for instance in instances:
        await close_service(instance)


@pytest.fixture
async def instances(opened: list[Service], provider: ProviderProcess) -> list[Service]:
    """The instances with an empty database."""
    for instance in opened:
        await instance.reset()
    return opened


async def reset(service: Service, provider: ProviderProcess) -> Use:
    """A mailed token that sets a new password."""
    await join(service)
    body = {"token": await steps.reset_token(service), "newPassword": NEW_PASSWORD}
    return lambda one: one.post("/reset-password", body)


async def change_of_address(service: Service, provider: ProviderProcess) -> Use:
    """A mailed link to a new address."""
    ada = await join_verified(service)
    token = await change_token(service, ada)
    return lambda one: follow(one, token, ada)


async def deletion(service: Service, provider: ProviderProcess) -> Use:
    """A mailed link that deletes the user."""
    ada = await join(service)
    assert code(await service.post("/delete-user", headers=ada)) == "200"
    token = token_in(await steps.last_link(service, "delete-account", ADA))
    return lambda one: one.get("/delete-user/callback", params={"token": token}, headers=ada)


async def state(service: Service, provider: ProviderProcess) -> Use:
    """The way back from a provider."""
    as_user(provider, ADA, "1001")
    flow = await begin(service)
    back = await visit(flow)
    return lambda one: deliver(one, back, flow)


async def trust(service: Service, provider: ProviderProcess) -> Use:
    """A trusted device's cookie, which is replaced at each sign-in."""
    ada = await enrol(service)
    trusted = second_factor.cookie(second_factor.TRUST, await second_factor.trusted_device(service, ada))
    return lambda one: second_factor.sign_in(one, headers=trusted)


def told(answers: Iterable[httpx.Response]) -> Counter[str]:
    """Count what was said: `used` once, and of the rest what they were told instead."""
    return Counter(_told(answer) for answer in answers)


def _told(answer: httpx.Response) -> str:
    if answer.status_code == 302:
        return error_of(answer) or "used"
    if answer.status_code == 200:
        return "asked for a code" if second_factor.is_pending(answer) else "used"
    return code(answer)


THINGS = [
    (reset, {"400 INVALID_TOKEN"}),
    (change_of_address, {"401 INVALID_TOKEN"}),
    (deletion, {"401 UNAUTHORIZED", "404 INVALID_TOKEN"}),
    (state, {"state_mismatch"}),
    (trust, {"asked for a code"}),
]


@pytest.mark.threat("R19", "V52", "V58")
class TestDoneTwice:
    """Of N at once one succeeds, and the rest are told what those are told who come later."""

    @pytest.mark.parametrize(("thing", "rest"), THINGS, ids=lambda one: getattr(one, "__name__", ""))
    async def test_one_succeeds(
        self,
        instances: list[Service],
        provider: ProviderProcess,
        thing: Callable[[Service, ProviderProcess], Awaitable[Use]],
        rest: set[str],
    ) -> None:
        use = await thing(instances[0], provider)

        answers = await asyncio.gather(*(use(one) for one in instances * (20 // len(instances))))

        counted = told(answers)
        assert (counted.pop("used"), counted.total()) == (1, 19)
        assert set(counted) <= rest
