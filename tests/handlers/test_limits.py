"""What limits look like from outside: which answers, when they end, what clears them (behaviour chapter 10)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conftest import MakeService
from tests.handlers.steps import (
    ADA,
    EVE,
    NEW_PASSWORD,
    bearer,
    code,
    join,
    refusal,
    remove_passwords,
    reset_token,
    set_user,
)
from tests.redis_server import RedisServer
from tests.security import second_factor
from tests.security.limits import (
    LIMITED,
    PROXIED,
    TOLD,
    WRONG,
    coming_from,
    enter_password,
    guess,
    spend,
    wait,
)
from tests.service import PASSWORD, Service, close_service, open_service

MESSAGE = "Too many requests. Please try again later."
HERE, ELSEWHERE = "192.0.2.1", "198.51.100.7"


class TestRequests:
    async def test_are_a_hundred_in_ten_seconds(self, service: Service) -> None:
        answers = [await service.get("/get-session") for _ in range(101)]

        assert [answer.status_code for answer in answers] == [401] * 100 + [429]
        assert refusal(answers[-1]) == (429, "TOO_MANY_REQUESTS", MESSAGE)
        assert wait(answers[-1]) == 10

    async def test_begin_anew_when_the_window_ends(self, make_service: MakeService) -> None:
        service = await make_service({"limits.requests": "15"})
        for _ in range(15):
            await service.get("/get-session")
            service.clock.advance(seconds=0.5)

        refused = wait(await service.get("/get-session"))
        service.clock.advance(seconds=refused)
        answers = [await service.get("/get-session") for _ in range(16)]

        assert refused == 3
        assert [answer.status_code for answer in answers] == [401] * 15 + [429]

    @pytest.mark.parametrize("number", [1, 11, 25])
    async def test_are_exactly_so_many_for_one_instance(self, make_service: MakeService, number: int) -> None:
        service = await make_service({"limits.requests": str(number)})

        answers = [await service.get("/get-session") for _ in range(number + 3)]

        assert [answer.status_code for answer in answers] == [401] * number + [429] * 3

    async def test_count_for_each_operation(self, make_service: MakeService) -> None:
        service = await make_service({"limits.requests": "1"})
        await service.get("/get-session")

        answers = [await service.get("/list-sessions"), await service.get("/get-session")]

        assert [answer.status_code for answer in answers] == [401, 429]

    async def test_that_find_no_operation_count_for_none(self, make_service: MakeService) -> None:
        service = await make_service({"limits.requests": "1"})

        for _ in range(3):
            assert (await service.get("/nowhere")).status_code == 404
            assert (await service.get("/sign-out")).status_code == 405
            assert (await service.client.options("/get-session")).status_code == 204
            assert (await service.get("/ok")).status_code == 200
            assert (await service.get("/ready")).status_code == 200

        assert (await service.get("/get-session")).status_code == 401

    async def test_are_refused_before_anybody_looks_who_calls(self, make_service: MakeService) -> None:
        service = await make_service({"limits.requests": "1"})
        ada = await join(service)
        await service.get("/get-session", headers=ada)

        refused = await service.get("/get-session", headers=ada)
        strange = await service.post("/sign-up/email", {}, headers={"Origin": "https://evil.test"})

        assert code(refused) == LIMITED
        assert code(strange) == LIMITED

    async def test_too_large_are_refused_as_that_first(self, make_service: MakeService) -> None:
        service = await make_service({"limits.requests": "1"})
        await service.post("/sign-out")

        answer = await service.client.post("/sign-out", content=b"x" * 70_000)

        assert answer.status_code == 413

    async def test_have_no_limit_when_it_is_off(self, make_service: MakeService) -> None:
        service = await make_service({"limits.enabled": "false"})

        assert {(await service.get("/get-session")).status_code for _ in range(150)} == {401}

    async def test_are_put_on_record_once_a_window(self, make_service: MakeService) -> None:
        service = await make_service({"limits.requests": "2"})
        for _ in range(6):
            await service.get("/get-session")
        await service.services.audit_writer.flush()

        [record] = await service.rows("SELECT event, address, details FROM audit")

        assert (record.event, record.address) == ("limit.reached", "127.0.0.1")
        assert "sessions.get_current" in str(record.details)

    async def test_begin_anew_when_the_clock_is_set_back(self, make_service: MakeService) -> None:
        service = await make_service({"limits.requests": "20"})
        for _ in range(21):
            await service.get("/get-session")
        service.clock.advance(hours=-1)

        answers = [await service.get("/get-session") for _ in range(21)]

        assert [answer.status_code for answer in answers] == [401] * 20 + [429]
        assert wait(answers[-1]) == 10

    async def test_cost_no_write_for_the_first_tenth(self, service: Service) -> None:
        for _ in range(10):
            await service.get("/get-session")
        before = await service.rows("SELECT key FROM counter")

        await service.get("/get-session")

        assert before == []
        assert len(await service.rows("SELECT key FROM counter")) == 1

    async def test_leave_little_behind(self, make_service: MakeService) -> None:
        service = await make_service({**PROXIED, "limits.requests": "5"})
        for minute in range(4):
            for number in range(10):
                await service.get("/get-session", headers=coming_from(f"192.0.{minute}.{number}"))
            service.clock.advance(minutes=1)

        limiter = service.services.limiter
        assert limiter is not None
        assert len(limiter.windows) <= 11


class TestFailures:
    async def test_ten_are_told_then_everything_waits_and_that_is_on_record_once(
        self, service: Service
    ) -> None:
        await join(service)
        await spend(service)

        answers = [await enter_password(service), *[await guess(service) for _ in range(3)]]

        assert [refusal(answer) for answer in answers] == [(429, "TOO_MANY_REQUESTS", MESSAGE)] * 4
        assert wait(answers[0]) == 900
        events = [row.event for row in await service.rows("SELECT event FROM audit")]
        assert (events.count("limit.reached"), events.count("sign_in.failed")) == (1, 10)

    async def test_are_told_to_be_malformed_without_being_counted(self, service: Service) -> None:
        session = (await second_factor.enrol(service)).session

        answers = [
            await service.post("/two-factor/verify-totp", {"code": sent}, headers=session)
            for sent in ("", "1" * 33) * 10
        ]

        assert {answer.status_code for answer in answers} == {400}
        await spend(service, 10)

    async def test_do_not_count_when_off(self, make_service: MakeService) -> None:
        service = await make_service({"limits.failures": "0"})
        await join(service)

        await spend(service, 12)

    async def test_have_other_numbers_when_set(self, make_service: MakeService) -> None:
        service = await make_service({"limits.failures": "2", "limits.failures_window": "30s"})
        await join(service)
        await spend(service, 2)

        assert wait(await guess(service)) == 30

    async def test_of_a_link_that_needs_no_password_do_not_count(self, service: Service) -> None:
        """A fresh session deletes its user without a password: there is nothing to be guessed."""
        ada = await join(service)
        await spend(service)

        answer = await service.post("/delete-user", headers=ada)

        assert code(answer) == "200"

    async def test_with_no_password_to_change_say_so_until_it_is_spent(self, service: Service) -> None:
        ada = await join(service)
        await remove_passwords(service)
        body = {"currentPassword": WRONG, "newPassword": NEW_PASSWORD}

        answers = [await service.post("/change-password", body, headers=ada) for _ in range(12)]

        assert {code(answer) for answer in answers} == {"400 CREDENTIAL_ACCOUNT_NOT_FOUND"}


class TestClearing:
    async def test_a_sign_in_begins_anew(self, service: Service) -> None:
        await join(service)
        await spend(service, 9)
        await enter_password(service)

        await spend(service, 10)

        assert code(await guess(service)) == LIMITED

    async def test_one_that_ends_pending_does_not(self, service: Service) -> None:
        await second_factor.enrol(service)
        await spend(service, 9)
        assert second_factor.is_pending(await enter_password(service))

        assert [code(await guess(service)) for _ in range(2)] == [TOLD, LIMITED]

    async def test_its_code_does(self, service: Service) -> None:
        ada = await second_factor.enrol(service)
        await spend(service, 9)
        pending = bearer(await second_factor.challenge(service))

        assert code(await second_factor.enter(service, "totp", ada.code(service), pending)) == "200"

        await spend(service, 10)

    async def test_one_that_is_refused_does_not(self, service: Service) -> None:
        await join(service)
        await spend(service, 9)
        await set_user(service, banned=True)
        assert code(await enter_password(service)) == "403 BANNED_USER"

        assert [code(await guess(service)) for _ in range(2)] == [TOLD, LIMITED]

    async def test_a_right_password_under_a_session_does_not(self, service: Service) -> None:
        ada = await join(service)
        await spend(service, 9)
        await service.post("/verify-password", {"password": PASSWORD}, headers=ada)

        assert [code(await guess(service)) for _ in range(2)] == [TOLD, LIMITED]

    async def test_a_reset_begins_anew(self, service: Service) -> None:
        await join(service)
        await spend(service)
        token = await reset_token(service)

        await service.post("/reset-password", {"token": token, "newPassword": NEW_PASSWORD})

        body = {"email": ADA, "password": NEW_PASSWORD}
        assert code(await service.post("/sign-in/email", body)) == "200"

    async def test_deletion_takes_the_known_networks_along(self, service: Service) -> None:
        ada = await join(service)
        before = await service.rows("SELECT network FROM known_network")

        await service.post("/delete-user", {"password": PASSWORD}, headers=ada)

        assert len(before) == 1
        assert await service.rows("SELECT network FROM known_network") == []


class TestKnownNetworks:
    async def test_are_stored_once_each_and_not_in_the_clear(self, make_service: MakeService) -> None:
        service = await make_service(PROXIED)
        await join(service)
        for address in (HERE, HERE, ELSEWHERE):
            await enter_password(service, address=address)

        networks = await service.rows("SELECT network FROM known_network")

        assert len(networks) == 3
        assert all(len(row.network) == 32 for row in networks)

    async def test_are_not_those_of_sign_ins_that_wait(self, make_service: MakeService) -> None:
        service = await make_service(PROXIED)
        await second_factor.enrol(service)
        before = await service.rows("SELECT network FROM known_network")

        await enter_password(service, address=HERE)

        assert await service.rows("SELECT network FROM known_network") == before

    async def test_are_told_of_wrong_codes_though_the_account_is_spent(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"limits.account_failures": "2"})
        session = (await second_factor.enrol(service)).session

        answers = [
            await service.post("/two-factor/verify-totp", {"code": "000000"}, headers=session)
            for _ in range(4)
        ]

        records = await service.rows("SELECT details FROM audit WHERE event = 'limit.reached'")
        assert [code(answer) for answer in answers] == ["401 INVALID_CODE"] * 4
        assert len(records) == 1


@pytest.fixture
async def on_redis(tmp_path: Path) -> AsyncIterator[tuple[Service, RedisServer]]:
    """A service that counts on a Redis of its own."""
    server = RedisServer()
    server.start()
    overrides = {"limits.store": server.url, "limits.requests": "20"}
    service = await open_service(f"sqlite:///{tmp_path / 'gatewright.db'}", tmp_path, overrides)
    yield service, server
    await close_service(service)
    server.stop()


@pytest.mark.long
class TestRedis:
    async def test_away_stops_what_has_a_budget_and_nothing_else(
        self, on_redis: tuple[Service, RedisServer]
    ) -> None:
        service, server = on_redis
        ada = await join(service)
        server.halt()

        stopped = [
            await enter_password(service),
            await guess(service),
            await service.post("/verify-password", {"password": PASSWORD}, headers=ada),
        ]
        looks = [await service.get("/get-session", headers=ada) for _ in range(40)]
        reset = await service.post("/request-password-reset", {"email": ADA})
        joined = await service.post("/sign-up/email", {"email": EVE, "name": "Eve", "password": PASSWORD})
        left = await service.post("/sign-out", headers=ada)

        assert {code(answer) for answer in stopped} == {"503 SERVICE_UNAVAILABLE"}
        assert {answer.status_code for answer in looks} == {200}
        assert [code(reset), code(joined), code(left)] == ["200"] * 3

    async def test_back_again_everything_works(self, on_redis: tuple[Service, RedisServer]) -> None:
        service, server = on_redis
        await join(service)
        server.halt()
        await enter_password(service)
        server.start()

        assert code(await enter_password(service)) == "200"
        await spend(service)
        assert code(await enter_password(service)) == LIMITED

    async def test_holds_every_count(self, on_redis: tuple[Service, RedisServer]) -> None:
        service, _ = on_redis
        await join(service)
        await spend(service)

        answers = [await service.get("/get-session") for _ in range(21)]

        assert [answer.status_code for answer in answers] == [401] * 20 + [429]
        assert await service.rows("SELECT key FROM counter") == []
