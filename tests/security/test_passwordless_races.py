"""Links and codes used by many at once: on SQLite, and on PostgreSQL with two instances that share one database."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from itertools import cycle
from pathlib import Path

import httpx
import pytest

from tests.handlers.mailed import checked, code_for, link_to, open_link, use_code, wrong
from tests.handlers.steps import bearer, execute, join, set_user, works
from tests.handlers.test_user_disowning import not_me_token
from tests.security.conftest import UNLIMITED
from tests.security.limits import told
from tests.security.test_two_factor_races import PATIENT
from tests.service import PASSWORD, Service, close_service, open_service

SETTINGS = {
    **UNLIMITED,
    **PATIENT,
    "secrets": "s" * 32,
    "limits.network_failures": "0",
    "limits.account_failures": "0",
    "limits.sign_in_mail_burst": "0",
    "limits.sign_in_mail_daily": "0",
    "magic_links.sign_up": "false",
}
CROWDS = [20, pytest.param(50, marks=pytest.mark.long)]
KNOWN = pytest.mark.parametrize("is_known", [True, False])
ROUNDS = 5


@pytest.fixture(params=["sqlite", "postgresql"], scope="module")
async def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[list[Service]]:
    """One instance on SQLite, two on one PostgreSQL database."""
    directory: Path = tmp_path_factory.mktemp("race")
    url, number = f"sqlite:///{directory / 'gatewright.db'}", 1
    if request.param == "postgresql":
        url, number = request.getfixturevalue("cluster").create(migrated=True), 2
    instances = [await open_service(url, directory, SETTINGS) for _ in range(number)]
    yield instances
    for instance in instances:
        await close_service(instance)


@pytest.fixture
async def instances(opened: list[Service]) -> list[Service]:
    """The instances, with an empty database."""
    for instance in opened:
        await instance.reset()
    return opened


async def all_of(requests: Sequence[Awaitable[httpx.Response]]) -> list[httpx.Response]:
    return await asyncio.gather(*requests)


def turns(instances: list[Service], number: int) -> list[Service]:
    """Return the instances in turn, so many."""
    return [service for service, _ in zip(cycle(instances), range(number), strict=False)]


@pytest.mark.both_databases
@pytest.mark.threat("M2", "R21")
@pytest.mark.parametrize("number", CROWDS)
async def test_a_link_opens_one_session(instances: list[Service], number: int) -> None:
    service = instances[0]
    await join(service)
    await set_user(service, email_verified=True)
    await execute(service, "DELETE FROM session")
    token = await link_to(service)

    answers = await all_of([open_link(each, token) for each in turns(instances, number)])

    assert told(answers) == {"200": 1, "401 INVALID_TOKEN": number - 1}
    assert len(await service.rows("SELECT id FROM session")) == 1


@KNOWN
@pytest.mark.both_databases
@pytest.mark.threat("M18", "R21")
@pytest.mark.parametrize("number", CROWDS)
async def test_a_code_opens_one_session(instances: list[Service], number: int, is_known: bool) -> None:
    service = instances[0]
    if is_known:
        await join(service)
    digits = await code_for(service)

    answers = await all_of([use_code(each, digits) for each in turns(instances, number)])

    assert told(answers) == {"200": 1, "400 INVALID_OTP": number - 1}
    assert len(await service.rows("SELECT id FROM session")) == 1


@KNOWN
@pytest.mark.both_databases
@pytest.mark.threat("M10", "R21")
@pytest.mark.parametrize("number", CROWDS)
async def test_of_many_wrong_codes_three_are_compared(
    instances: list[Service], number: int, is_known: bool
) -> None:
    service = instances[0]
    if is_known:
        await join(service)
    digits = await code_for(service)

    answers = await all_of([use_code(each, wrong(digits)) for each in turns(instances, number)])

    assert told(answers) == {"400 INVALID_OTP": number - 1, "403 TOO_MANY_ATTEMPTS": 1}
    assert await service.rows("SELECT attempts FROM \"grant\" WHERE purpose = 'code-sign-in'") == []


@pytest.mark.both_databases
@pytest.mark.threat("N2", "R21")
@pytest.mark.parametrize("number", [50])
async def test_a_user_is_disowned_once(instances: list[Service], number: int) -> None:
    service = instances[0]
    await join(service)
    token = await not_me_token(service)

    body = {"token": token}
    answers = await all_of([each.post("/disown-account", body) for each in turns(instances, number)])

    assert told(answers) == {"200": 1, "400 INVALID_TOKEN": number - 1}
    assert len(await service.rows("SELECT id FROM audit WHERE event = 'user.disowned'")) == 1
    assert await service.rows('SELECT id FROM "user"') == []


@pytest.mark.threat("M10", "R21")
async def test_a_new_code_that_is_requested_meanwhile_can_be_used(instances: list[Service]) -> None:
    for _ in range(ROUNDS):
        digits = await code_for(instances[0])
        trying = [use_code(each, wrong(digits)) for each in turns(instances, 2)]
        newer, _ = await asyncio.gather(code_for(instances[-1]), all_of(trying))
        [row] = await instances[0].rows('SELECT attempts FROM "grant"')
        assert row.attempts <= 2
        assert await checked(instances[0], newer) == "200"


@pytest.mark.threat("M17", "R21")
@pytest.mark.parametrize("end", ["ban", "deletion"])
async def test_no_session_outlives_a_ban_or_a_deletion(instances: list[Service], end: str) -> None:
    service = instances[0]
    admin = await join(service, "root@example.com")
    await set_user(service, "root@example.com", role="admin")
    for number in range(ROUNDS):
        email = f"user{number}@example.com"
        session = await join(service, email)
        await set_user(service, email, email_verified=True)
        [user] = await service.rows('SELECT id FROM "user" WHERE email = :email', email=email)
        token = await link_to(service, email)
        ending = (
            instances[-1].post("/admin/ban-user", {"userId": user.id}, headers=admin)
            if end == "ban"
            else instances[-1].post("/delete-user", {"password": PASSWORD}, headers=session)
        )

        signed_in, ended = await all_of([open_link(service, token), ending])

        assert ended.status_code == 200
        assert signed_in.status_code in (200, 403)
        left = await service.rows("SELECT id FROM session WHERE user_id = :id", id=user.id)
        assert left == []
        if signed_in.status_code == 200:
            assert not await works(service, bearer(signed_in.json()["token"]))
