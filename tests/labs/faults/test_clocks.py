"""Instances whose clocks differ by five minutes, far more than they may, and a clock that jumps back (R20)."""

import math
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pyotp
import pytest
from sqlalchemy import text

from tests.conftest import MakeService, create_database
from tests.handlers import steps
from tests.handlers.steps import ADA, NEW_PASSWORD, bearer, code
from tests.labs.faults.places import LONG, Place, Visitor
from tests.postgres import Cluster
from tests.security import second_factor
from tests.security.second_factor import cookie
from tests.service import PASSWORD, START, Service, running_service
from tests.settings.api_keys import VERIFIER

SKEW = 300
ALLOWED = 45
"""Seconds; they may differ by a minute."""
LIMITS = {"limits.failures": "3", "limits.requests": "0"}
FAILURES_WINDOW = 900
LIBRARIES = sorted(Path("/usr/lib").glob("**/faketime/libfaketime.so.1"))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two instances on one database: one has the right time, as its users do, the other has not."""

    right: Service
    wrong: Service
    skew: int


@pytest.fixture(
    scope="module",
    params=[(dialect, skew) for dialect in ("sqlite", "postgresql") for skew in (SKEW, -SKEW)],
    ids=["sqlite-ahead", "sqlite-behind", "postgresql-ahead", "postgresql-behind"],
)
async def both(
    request: pytest.FixtureRequest, migrated_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Pair]:
    """The two instances, which all tests of this module share."""
    dialect, skew = request.param
    directory = tmp_path_factory.mktemp("clocks")
    url = create_database(request, dialect, directory, migrated_file)
    async with (
        running_service(url, directory, LIMITS) as right,
        running_service(url, directory, LIMITS) as wrong,
    ):
        yield Pair(right, wrong, skew)


@pytest.fixture
async def pair(both: Pair) -> Pair:
    """The two as if just started."""
    await both.right.reset()
    await both.wrong.reset()
    both.wrong.clock.advance(seconds=both.skew)
    return both


def lives(answer: httpx.Response) -> list[int]:
    """Return how many seconds the cookies of an answer are to live."""
    lines = answer.headers.get_list("set-cookie")
    return [
        int(part.partition("=")[2])
        for line in lines
        for part in line.split("; ")
        if part.startswith("Max-Age=")
    ]


@pytest.mark.threat("R20")
class TestClocks:
    """Clocks that differ, or jump back."""

    async def test_a_session_of_either_is_one_of_both(self, pair: Pair) -> None:
        for mine, others, email in (
            (pair.right, pair.wrong, ADA),
            (pair.wrong, pair.right, "eve@example.com"),
        ):
            session = await steps.join(mine, email)

            assert [await steps.works(service, session) for service in (mine, others)] == [True, True]
            await others.post("/sign-out", headers=session)
            assert [await steps.works(service, session) for service in (mine, others)] == [False, False]

    async def test_a_session_ends_early_or_late_by_the_difference_at_most(self, pair: Pair) -> None:
        session = await steps.join(pair.right, rememberMe=False)
        for service in (pair.right, pair.wrong):
            service.clock.advance(hours=24, seconds=-SKEW - 1)

        assert [await steps.works(service, session) for service in (pair.right, pair.wrong)] == [True, True]
        for service in (pair.right, pair.wrong):
            service.clock.advance(seconds=2 * SKEW + 2)
        assert [await steps.works(service, session) for service in (pair.wrong, pair.right)] == [False, False]

    async def test_no_cookie_is_dead_on_arrival(self, pair: Pair) -> None:
        await steps.join(pair.right)
        at_first = [await steps.sign_in(service) for service in (pair.right, pair.wrong)]
        token = cookie(second_factor.SESSION, at_first[0].json()["token"])
        for service in (pair.right, pair.wrong):
            service.clock.advance(hours=25)

        later = [await service.get("/get-session", headers=token) for service in (pair.wrong, pair.right)]

        assert [lives(answer) for answer in at_first] == [[7 * 86400]] * 2
        assert lives(later[0]) == [7 * 86400]
        assert all(seconds > 0 for seconds in lives(later[1]))

    async def test_mailed_tokens_work_at_the_other(self, pair: Pair) -> None:
        await steps.join(pair.right)
        token = await steps.reset_token(pair.right)

        answer = await pair.wrong.post("/reset-password", {"token": token, "newPassword": NEW_PASSWORD})

        assert code(answer) == "200"
        assert await steps.opens(pair.right, NEW_PASSWORD)

    async def test_an_authenticator_is_right_where_the_clock_is(self, pair: Pair) -> None:
        """The code of the present step and its neighbours, at the instance's own time, and never one twice."""
        ada = await second_factor.enrol(pair.right)
        pending = bearer(await second_factor.challenge(pair.right))
        shown = ada.code(pair.right)

        refused = await second_factor.enter(pair.wrong, "totp", shown, pending)
        accepted = await second_factor.enter(pair.right, "totp", shown, pending)
        again = bearer(await second_factor.challenge(pair.right))
        twice = await second_factor.enter(pair.right, "totp", shown, again)

        assert [code(answer) for answer in (refused, accepted, twice)] == [
            "401 INVALID_CODE",
            "200",
            "401 INVALID_CODE",
        ]

    async def test_a_limit_holds_at_both_as_far_as_clocks_may_differ(self, pair: Pair) -> None:
        """Beyond a minute a window of the future counts as one from before a clock was set back: nobody is shut out."""
        pair.wrong.clock.now = START + timedelta(seconds=math.copysign(ALLOWED, pair.skew))
        await steps.join(pair.right)
        for _ in range(3):
            await steps.sign_in(pair.right, password="wrong words here")

        answers = [await steps.sign_in(service) for service in (pair.right, pair.wrong)]

        assert [answer.status_code for answer in answers] == [429, 429]
        at_the_wrong = FAILURES_WINDOW - ALLOWED if pair.skew > 0 else FAILURES_WINDOW
        assert [int(answer.headers["retry-after"]) for answer in answers] == [FAILURES_WINDOW, at_the_wrong]

    async def test_api_keys_differ_by_no_more_than_the_clocks(self, pair: Pair) -> None:
        """Windows, refills and expiry; no instance says that a key can be used again in the past."""
        admin = await steps.join(pair.right)
        async with pair.right.services.database.transaction() as db:
            await db.execute(text("UPDATE \"user\" SET role = 'admin'"))
        window = {"rateLimitEnabled": True, "rateLimitMax": 1, "rateLimitTimeWindow": 1000 * SKEW}
        refilled = {"remaining": 1, "refillAmount": 1, "refillInterval": 1000 * SKEW}
        made = [
            (await pair.right.post("/api-key/create", body, headers=admin)).json()["key"]
            for body in (window, refilled, {"expiresIn": 86400})
        ]

        async def verify(service: Service, key: str) -> tuple[str, int]:
            answer = await service.post("/api-key/verify", {"key": key}, headers=bearer(VERIFIER))
            error = answer.json()["error"] or {"code": "", "details": {}}
            return error["code"], error.get("details", {}).get("tryAgainIn", 0)

        for key in made[:2]:
            assert await verify(pair.right, key) == ("", 0)
            for service in (pair.right, pair.wrong):
                refused, wait = await verify(service, key)
                is_over = service is pair.wrong and pair.skew >= SKEW
                assert bool(refused) != is_over
                assert is_over or 1 <= wait <= 1000 * 2 * SKEW
        for service in (pair.right, pair.wrong):
            service.clock.advance(days=1, seconds=-SKEW - 1)
            assert (await verify(service, made[2]))[0] == ""
            service.clock.advance(seconds=2 * SKEW + 1)
            assert (await verify(service, made[2]))[0] == "KEY_EXPIRED"

    async def test_a_clock_that_jumps_back_ends_nothing(self, service: Service) -> None:
        session = await steps.join(service)
        token = await steps.reset_token(service)
        service.clock.advance(seconds=-SKEW)

        assert await steps.works(service, session)
        assert lives(await steps.sign_in(service)) == [7 * 86400]
        answer = await service.post("/reset-password", {"token": token, "newPassword": NEW_PASSWORD})
        assert code(answer) == "200"
        assert service.clock.now < START

    async def test_a_clock_that_jumps_back_does_not_shut_a_client_out(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"limits.requests": "20"})
        for _ in range(20):
            await service.get("/get-session")
        spent = await service.get("/get-session")
        service.clock.advance(seconds=-SKEW)

        again = await service.get("/get-session")

        assert (spent.status_code, again.status_code) == (429, 401)

    @pytest.mark.skipif(
        not LIBRARIES, reason="libfaketime is not installed (on Debian: apt-get install libfaketime)"
    )
    @pytest.mark.parametrize("skew", [SKEW, pytest.param(-SKEW, marks=LONG)])
    async def test_as_processes_of_their_own(self, cluster: Cluster, tmp_path: Path, skew: int) -> None:
        place = Place(tmp_path, cluster.create(migrated=True))
        shifted = {
            "LD_PRELOAD": str(LIBRARIES[0]),
            "FAKETIME": f"{skew:+}",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

        with place.serving() as right, place.serving(variables=shifted) as wrong:
            async with Visitor(right) as here, Visitor(wrong) as there:
                session, other = await here.join(ADA), await there.join("eve@example.com")
                begun = await there.get("/get-session", other)
                secret, _ = await here.enrol(session)
                pending = (await there.sign_in(ADA)).json()["token"]
                entered = [
                    await visitor.post("/two-factor/verify-totp", pending, code=pyotp.TOTP(secret).now())
                    for visitor in (there, here)
                ]
                mailed = await there.reset_token(place, "eve@example.com")
                changed = await here.post("/reset-password", token=mailed, newPassword=NEW_PASSWORD)

                assert [await visitor.is_live(session) for visitor in (here, there)] == [True, True]
                assert [answer.status_code for answer in entered] == [401, 200]
                assert changed.status_code == 200
                assert [await there.opens("eve@example.com", one) for one in (PASSWORD, NEW_PASSWORD)] == [
                    False,
                    True,
                ]
        moved = datetime.fromisoformat(begun.json()["session"]["createdAt"]) - datetime.now(UTC)
        assert moved.total_seconds() == pytest.approx(skew, abs=60)
        assert [*right.output.faults(), *wrong.output.faults()] == []
