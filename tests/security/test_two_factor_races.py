"""Many at once: on SQLite, and on PostgreSQL with two instances that share one database."""

import asyncio
from collections.abc import AsyncIterator
from itertools import chain, cycle
from pathlib import Path

import httpx
import pytest

from tests.conftest import Headers
from tests.handlers import steps
from tests.handlers.steps import ADA, bearer
from tests.postgres import Cluster
from tests.security import second_factor
from tests.security.conftest import PATIENT
from tests.security.second_factor import (
    METHODS,
    WRONG_BACKUP_CODE,
    Owner,
    challenge,
    enrol,
    enter,
    mailed_code,
    right_code,
    session_count,
    told,
)
from tests.service import Service, close_service, open_service

pytestmark = pytest.mark.both_databases

DEAD = "401 INVALID_TWO_FACTOR_COOKIE"
SPENT = "400 TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE"
LOCKED = "429 ACCOUNT_TEMPORARILY_LOCKED"
NEVER_LOCKED = {"two_factor.lock_after": "1000", "limits.failures": "0"}
BACKUP_CODES = "SELECT id FROM backup_code WHERE live"


@pytest.fixture(params=["sqlite", "postgresql"], scope="module")
async def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[dict[bool, list[Service]]]:
    """The instances, by whether the second factor locks: one on SQLite, two on one PostgreSQL database."""
    by_lock = {}
    for locks in (True, False):
        directory: Path = tmp_path_factory.mktemp("race")
        url, number = f"sqlite:///{directory / 'gatewright.db'}", 1
        if request.param == "postgresql":
            cluster: Cluster = request.getfixturevalue("cluster")
            url, number = cluster.create(migrated=True), 2
        lock = {} if locks else NEVER_LOCKED
        overrides = {"secrets": "s" * 32, "limits.mail_burst": "0", **PATIENT, **lock}
        by_lock[locks] = [await open_service(url, directory, overrides) for _ in range(number)]
    yield by_lock
    for instance in chain(*by_lock.values()):
        await close_service(instance)


@pytest.fixture
async def locking(opened: dict[bool, list[Service]]) -> list[Service]:
    """Instances with the lock of two-factor accounts, and an empty database."""
    return await _emptied(opened[True])


@pytest.fixture
async def instances(opened: dict[bool, list[Service]]) -> list[Service]:
    """Instances that never lock, so that each answer tells of its code alone; and an empty database."""
    return await _emptied(opened[False])


async def _emptied(instances: list[Service]) -> list[Service]:
    for instance in instances:
        await instance.reset()
    return instances


async def at_once(
    instances: list[Service], method: str, codes: list[str], callers: list[Headers]
) -> list[httpx.Response]:
    """Enter the codes at the same time, each for its caller, at the instances in turn."""
    turns = zip(cycle(instances), codes, callers, strict=False)
    return await asyncio.gather(*(enter(service, method, code, caller) for service, code, caller in turns))


async def challenges(service: Service, number: int) -> list[Headers]:
    """Sign in so many times; give who waits for a code."""
    return [bearer(await challenge(service)) for _ in range(number)]


async def wrong_code(service: Service, owner: Owner, method: str, pending: Headers) -> str:
    """Return a code that the method refuses, where it has something to compare with."""
    if method == "backup-code":
        return WRONG_BACKUP_CODE
    mailed = await mailed_code(service, pending) if method == "otp" else ""
    return next(code for code in (owner.wrong_code(service), "000009", "000010") if code != mailed)


@pytest.mark.threat("V45", "R21")
@pytest.mark.parametrize("method", METHODS)
class TestWrongCodes:
    async def test_of_many_on_one_challenge_five_are_told(self, locking: list[Service], method: str) -> None:
        ada = await enrol(locking[0])
        pending = bearer(await challenge(locking[0]))
        wrong = await wrong_code(locking[0], ada, method, pending)

        answers = told(await at_once(locking, method, [wrong] * 20, [pending] * 20))

        told_wrong = answers["401 INVALID_CODE"] + answers["401 INVALID_BACKUP_CODE"]
        assert (told_wrong, answers[SPENT] + answers[DEAD]) == (5, 15)
        assert answers[SPENT] >= 1
        [(failures,)] = await locking[0].rows("SELECT failures FROM two_factor")
        assert failures == 5
        assert await locking[0].rows("SELECT 1 FROM \"grant\" WHERE purpose = 'challenge'") == []

    async def test_of_many_over_five_challenges_ten_are_told_and_one_notice_is_sent(
        self, locking: list[Service], method: str
    ) -> None:
        ada = await enrol(locking[0])
        callers = await challenges(locking[0], 5)
        wrong = [await wrong_code(locking[0], ada, method, caller) for caller in callers]
        before = await session_count(locking[0])

        answers = told(await at_once(locking, method, wrong * 5, callers * 5))

        told_wrong = answers["401 INVALID_CODE"] + answers["401 INVALID_BACKUP_CODE"]
        assert (told_wrong, answers[LOCKED]) == (10, 15)
        assert await session_count(locking[0]) == before
        await asyncio.gather(*(instance.inbox() for instance in locking))
        assert len(await locking[0].inbox(ADA, "second-factor-locked")) == 1

    async def test_a_right_one_among_them_wins_or_loses_and_never_twice(
        self, locking: list[Service], method: str
    ) -> None:
        ada = await enrol(locking[0])
        pending = bearer(await challenge(locking[0]))
        wrong = await wrong_code(locking[0], ada, method, pending)
        right = await right_code(locking[0], ada, method, pending)
        before = await session_count(locking[0])

        codes = [*[wrong] * 3, right, right, *[wrong] * 3]
        answers = told(await at_once(locking, method, codes, [pending] * 8))

        assert answers["200"] <= 1
        assert answers["401 INVALID_CODE"] + answers["401 INVALID_BACKUP_CODE"] + answers["200"] <= 5
        assert await session_count(locking[0]) == before + answers["200"]


class TestWrongCodesWithASession:
    """A mailed code has tries of its own; else the failure budget alone bounds them, and nothing is locked."""

    async def test_of_many_for_one_mailed_code_five_are_told(self, instances: list[Service]) -> None:
        ada = await enrol(instances[0])
        wrong = await wrong_code(instances[0], ada, "otp", ada.session)

        answers = told(await at_once(instances, "otp", [wrong] * 20, [ada.session] * 20))

        assert answers == {"401 INVALID_CODE": 5, SPENT: 1, "400 OTP_HAS_EXPIRED": 14}
        assert await instances[0].rows("SELECT 1 FROM \"grant\" WHERE purpose = 'mail-code'") == []
        assert await steps.works(instances[-1], ada.session)

    @pytest.mark.parametrize("method", ["totp", "backup-code"])
    async def test_of_many_ten_are_told_and_nothing_is_locked(
        self, locking: list[Service], method: str
    ) -> None:
        ada = await enrol(locking[0])
        wrong = await wrong_code(locking[0], ada, method, ada.session)

        answers = told(await at_once(locking, method, [wrong] * 20, [ada.session] * 20))

        told_wrong = answers["401 INVALID_CODE"] + answers["401 INVALID_BACKUP_CODE"]
        assert (told_wrong, answers["429 TOO_MANY_REQUESTS"]) == (10, 10)
        [row] = await locking[0].rows("SELECT failures, locked_until FROM two_factor")
        assert tuple(row) == (0, None)


@pytest.mark.threat("V46", "R19")
class TestOneCode:
    @pytest.mark.parametrize("method", ["totp", "backup-code"])
    async def test_opens_one_session_and_the_losers_may_try_again(
        self, instances: list[Service], method: str
    ) -> None:
        """Each has a challenge of its own, so that only the code is contended for; losing takes one attempt of it."""
        ada = await enrol(instances[0])
        callers = await challenges(instances[0], 10)
        before = await session_count(instances[0])
        right = ada.code(instances[0]) if method == "totp" else ada.backup_codes[3]

        answers = await at_once(instances, method, [right] * 10, callers)

        wrong = "401 INVALID_CODE" if method == "totp" else "401 INVALID_BACKUP_CODE"
        assert told(answers) == {"200": 1, wrong: 9}
        assert await session_count(instances[0]) == before + 1
        assert len(await instances[0].rows(BACKUP_CODES)) == (10 if method == "totp" else 9)
        loser = next(
            caller for caller, answer in zip(callers, answers, strict=True) if answer.status_code == 401
        )
        again = await enter(instances[-1], "backup-code", ada.backup_codes[5], loser)
        assert steps.code(again) == "200"

    @pytest.mark.parametrize("method", METHODS)
    async def test_is_used_up_with_a_session_too(self, instances: list[Service], method: str) -> None:
        ada = await enrol(instances[0])
        before = await session_count(instances[0])
        right = await right_code(instances[0], ada, method, ada.session)

        answers = told(await at_once(instances, method, [right] * 20, [ada.session] * 20))

        used = {
            "totp": "401 INVALID_CODE",
            "otp": "400 OTP_HAS_EXPIRED",
            "backup-code": "401 INVALID_BACKUP_CODE",
        }
        assert answers == {"200": 1, used[method]: 19}
        assert await session_count(instances[0]) == before


@pytest.mark.threat("V46", "R19")
async def test_one_challenge_is_opened_once_and_the_losers_burn_no_code(instances: list[Service]) -> None:
    ada = await enrol(instances[0])
    pending = bearer(await challenge(instances[0]))
    before = await session_count(instances[0])

    answers = await asyncio.gather(
        at_once(instances, "backup-code", ada.backup_codes, [pending] * 10),
        at_once(instances, "totp", [ada.code(instances[0])] * 10, [pending] * 10),
    )

    by_backup, by_totp = (told(some) for some in answers)
    assert by_backup + by_totp == {"200": 1, DEAD: 19}
    assert await session_count(instances[0]) == before + 1
    assert len(await instances[0].rows(BACKUP_CODES)) == 10 - by_backup["200"]
    if by_backup["200"]:
        fresh = bearer(await challenge(instances[0]))
        assert (await enter(instances[0], "totp", ada.code(instances[0]), fresh)).status_code == 200


class TestEnrolment:
    async def test_is_confirmed_once(self, instances: list[Service]) -> None:
        """Twenty confirmations: the first switches two-factor on, the others only check the code."""
        session = await steps.join(instances[0])
        secret, backup_codes = await second_factor.begin(instances[0], session)
        owner = Owner(ADA, session, secret, backup_codes)
        right = owner.code(instances[0])

        answers = told(await at_once(instances, "totp", [right] * 20, [session] * 20))

        assert answers["200"] >= 1
        assert answers["200"] + answers["401 INVALID_CODE"] == 20
        assert len(await instances[0].rows(BACKUP_CODES)) == 10
        await asyncio.gather(*(instance.inbox() for instance in instances))
        assert len(await instances[0].inbox(ADA, "two-factor-changed")) == 1

    async def test_begun_many_times_leaves_one(self, instances: list[Service]) -> None:
        session = await steps.join(instances[0])
        turns = zip(cycle(instances), range(10), strict=False)

        begun = await asyncio.gather(*(second_factor.begin(service, session) for service, _ in turns))

        assert len(await instances[0].rows("SELECT id FROM backup_code")) == 10
        accepted = 0
        for secret, backup_codes in begun:
            code = Owner(ADA, session, secret, backup_codes).code(instances[0])
            accepted += (await enter(instances[0], "totp", code, session)).status_code == 200
        assert accepted == 1


async def test_a_pending_sign_in_is_finished_at_the_other_instance(instances: list[Service]) -> None:
    ada = await enrol(instances[0])
    pending = bearer(await challenge(instances[0]))

    answer = await enter(instances[-1], "totp", ada.code(instances[-1]), pending)

    assert await steps.works(instances[0], bearer(answer.json()["token"]))
