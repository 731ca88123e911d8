"""Attacks on sign-in by the codes of devices."""

import asyncio

import httpx
import pytest
from sqlalchemy import text

from domain import tokens
from tests.conftest import Headers, MakeService
from tests.handlers.device_steps import (
    APPROVE,
    DENY,
    DEVICE,
    WRONG_CODE,
    add_television,
    approve,
    decide,
    error,
    poll,
    start,
)
from tests.handlers.people import add_person
from tests.handlers.steps import ADA, bearer, code, join, token_of, works
from tests.oauth import OAuthTestClient
from tests.security.limits import PROXIED, coming_from
from tests.security.second_factor import SESSION, cookie, enrol, sign_in
from tests.service import BASE_URL, Service

TRIES = 1_000
BUDGET = 100
"""Wrong codes of a network in `limits.network_failures_window`."""
NO_CONSENTS = text("DELETE FROM oauth_consent")


@pytest.fixture
async def television(service: Service) -> OAuthTestClient:
    """An application of the operator for devices."""
    return await add_television(service)


@pytest.fixture
async def ada(service: Service) -> Headers:
    """The session of a user."""
    return await join(service, ADA)


async def look(service: Service, user_code: str, headers: Headers | None = None) -> httpx.Response:
    """Read the request of a device."""
    return await service.get(DEVICE, params={"user_code": user_code}, headers=headers or {})


@pytest.mark.threat("O19")
class TestGuessing:
    async def test_wrong_codes_have_a_budget_of_the_network(self, make_service: MakeService) -> None:
        service = await make_service({**PROXIED, "limits.requests": "0"})
        television = await add_television(service)
        user_code = (await start(service, television))["user_code"]
        ada = await join(service, ADA)
        here, there = coming_from("203.0.113.7"), coming_from("198.51.100.9")

        told = [code(await look(service, WRONG_CODE, here)) for _ in range(BUDGET)]
        told += [code(await decide(service, WRONG_CODE, {**ada, **here}, path)) for path in (APPROVE, DENY)]

        assert told == ["400 INVALID_USER_CODE"] * BUDGET + ["429 TOO_MANY_REQUESTS"] * 2
        assert code(await look(service, user_code, here)) == "429 TOO_MANY_REQUESTS"
        assert code(await decide(service, user_code, {**ada, **here})) == "429 TOO_MANY_REQUESTS"
        assert code(await look(service, user_code, there)) == "200"

    async def test_a_thousand_tries(self, make_service: MakeService) -> None:
        service = await make_service({"limits.requests": "0"})

        async def guess() -> str:
            return code(await look(service, tokens.user_code()))

        told = [
            one for _ in range(TRIES // 40) for one in await asyncio.gather(*(guess() for _ in range(40)))
        ]

        assert told.count("400 INVALID_USER_CODE") == BUDGET
        assert told.count("429 TOO_MANY_REQUESTS") == TRIES - BUDGET

    async def test_wrong_codes_do_not_lock_the_user_out(self, make_service: MakeService) -> None:
        service = await make_service({**PROXIED, "limits.requests": "0", "limits.failures": "3"})
        ada = await join(service, ADA)
        for number in range(5):
            await decide(service, WRONG_CODE, {**ada, **coming_from(f"203.0.113.{number}")})

        assert (await sign_in(service)).status_code == 200

    async def test_codes_are_drawn_without_bias(self) -> None:
        letters = "".join(tokens.user_code().replace("-", "") for _ in range(5_000))

        assert set(letters) == set("BCDFGHJKLMNPQRSTVWXZ")
        assert max(abs(letters.count(letter) - 2_000) for letter in set(letters)) < 300

    async def test_the_database_has_digests_only(self, service: Service, television: OAuthTestClient) -> None:
        started = await start(service, television)

        [row] = await service.rows("SELECT device_code, user_code FROM device_request")

        plain = started["user_code"].replace("-", "")
        assert row.device_code == tokens.digest(started["device_code"])
        assert row.user_code not in {
            tokens.digest(plain),
            tokens.digest(started["user_code"]),
            plain.encode(),
        }
        assert len(row.user_code) == 32


@pytest.mark.threat("O19")
class TestPace:
    async def test_a_fast_device_is_slowed_down_for_good(
        self, service: Service, television: OAuthTestClient
    ) -> None:
        device_code = (await start(service, television))["device_code"]
        told = []
        for seconds in (0, 4, 9, 15, 14, 20):
            service.clock.advance(seconds=seconds)
            told.append(error(await poll(service, television, device_code)).removeprefix("400 "))

        slow, pending = "slow_down", "authorization_pending"
        assert told == [pending, slow, slow, pending, slow, pending]

    async def test_the_pace_holds_after_the_approval(
        self, service: Service, television: OAuthTestClient, ada: Headers
    ) -> None:
        started = await start(service, television)
        await poll(service, television, started["device_code"])
        await approve(service, started["user_code"], ada)

        assert error(await poll(service, television, started["device_code"])) == "400 slow_down"
        service.clock.advance(seconds=10)
        assert error(await poll(service, television, started["device_code"])) == "200"

    async def test_other_clients_do_not_slow_a_device_down(
        self, service: Service, television: OAuthTestClient, ada: Headers
    ) -> None:
        other = await add_television(service)
        started = await start(service, television)
        for _ in range(3):
            assert error(await poll(service, other, started["device_code"])) == "400 invalid_grant"
        await approve(service, started["user_code"], ada)

        assert error(await poll(service, television, started["device_code"])) == "200"


@pytest.mark.threat("O19")
async def test_a_link_approves_nothing(service: Service, television: OAuthTestClient, ada: Headers) -> None:
    started = await start(service, television)
    for path in (APPROVE, DENY):
        assert (
            await service.get(path, params={"userCode": started["user_code"]}, headers=ada)
        ).status_code == 405
    await look(service, started["user_code"], ada)

    assert error(await poll(service, television, started["device_code"])) == "400 authorization_pending"


@pytest.mark.threat("O19")
async def test_who_asks_for_what_is_for_users_only(service: Service, television: OAuthTestClient) -> None:
    started = await start(service, television)

    assert set((await look(service, started["user_code"])).json()) == {"user_code", "status"}


@pytest.mark.threat("O6")
@pytest.mark.parametrize("path", [APPROVE, DENY])
async def test_a_page_of_another_site_decides_nothing(
    service: Service, television: OAuthTestClient, ada: Headers, path: str
) -> None:
    started = await start(service, television)
    by_cookie = cookie(SESSION, token_of(ada))

    for origin, told in (("https://evil.test", "INVALID_ORIGIN"), ("null", "MISSING_OR_NULL_ORIGIN")):
        answer = await decide(service, started["user_code"], {**by_cookie, "Origin": origin}, path)
        assert code(answer) == f"403 {told}"

    assert error(await poll(service, television, started["device_code"])) == "400 authorization_pending"
    own = {**by_cookie, "Origin": BASE_URL}
    assert (await decide(service, started["user_code"], own, path)).status_code == 200


@pytest.mark.threat("O7")
async def test_a_sign_in_that_waits_for_its_second_factor_approves_nothing(
    service: Service, television: OAuthTestClient
) -> None:
    await enrol(service)
    pending = (await sign_in(service)).json()["token"]
    started = await start(service, television)

    assert code(await decide(service, started["user_code"], bearer(pending))) == "401 UNAUTHORIZED"


@pytest.mark.threat("O7")
async def test_the_device_has_the_factors_of_the_session_that_approved(
    service: Service, television: OAuthTestClient
) -> None:
    owner = await enrol(service)
    service.clock.advance(minutes=1)
    pending = bearer((await sign_in(service)).json()["token"])
    proved = await service.post("/two-factor/verify-totp", {"code": owner.code(service)}, headers=pending)
    started = await start(service, television)
    await approve(service, started["user_code"], bearer(proved.json()["token"]))

    assert error(await poll(service, television, started["device_code"])) == "200"

    rows = await service.rows("SELECT method, amr FROM session WHERE method IN ('device', 'totp')")
    assert {row.method: row.amr for row in rows} == {"device": "pwd otp mfa", "totp": "pwd otp mfa"}


@pytest.mark.threat("O7")
async def test_an_administrator_decides_nothing_in_the_name_of_a_user(
    service: Service, television: OAuthTestClient
) -> None:
    admin, user = await add_person(service, "admin"), await add_person(service)
    answer = await service.post("/admin/impersonate-user", {"userId": user.id}, headers=admin.headers)
    acting = bearer(answer.json()["session"]["token"])
    started = await start(service, television)

    for path in (APPROVE, DENY):
        told = code(await decide(service, started["user_code"], acting, path))
        assert told == "403 NOT_ALLOWED_WHILE_IMPERSONATING"


@pytest.mark.threat("O10")
async def test_a_device_gets_no_more_than_its_client_may(
    service: Service, television: OAuthTestClient
) -> None:
    for more in ({"scope": "openid offline_access"}, {"scope": "admin"}, {"resource": "https://api.example"}):
        answer = await service.client.post(
            "/device/code", data={**television.form, "scope": "openid", **more}
        )
        assert error(answer) in ("400 invalid_scope", "400 invalid_target")


@pytest.mark.threat("O16")
class TestEnd:
    @pytest.mark.both_databases
    async def test_an_approval_ends_with_its_session(
        self, service: Service, television: OAuthTestClient, ada: Headers
    ) -> None:
        started = await start(service, television)
        await approve(service, started["user_code"], ada)

        await service.post("/sign-out", headers=ada)

        assert error(await poll(service, television, started["device_code"])) == "400 invalid_grant"

    async def test_an_approval_is_worth_nothing_once_the_session_has_expired(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"oauth.device.expires_in": "1h", "session.expires_in": "30m"})
        television = await add_television(service)
        ada = await join(service, ADA)
        started = await start(service, television)
        await approve(service, started["user_code"], ada)
        service.clock.advance(minutes=31)

        assert error(await poll(service, television, started["device_code"])) == "400 invalid_grant"

    async def test_a_banned_user_signs_no_device_in(
        self, service: Service, television: OAuthTestClient
    ) -> None:
        admin, user = await add_person(service, "admin"), await add_person(service)
        started = await start(service, television)
        await approve(service, started["user_code"], user.headers)
        await service.post("/admin/ban-user", {"userId": user.id}, headers=admin.headers)

        assert error(await poll(service, television, started["device_code"])) == "400 invalid_grant"

    async def test_a_revoked_consent_ends_the_approval(
        self, service: Service, television: OAuthTestClient, ada: Headers
    ) -> None:
        started = await start(service, television)
        await approve(service, started["user_code"], ada)
        async with service.services.database.begin() as db:
            await db.execute(NO_CONSENTS)
            await db.commit()

        assert error(await poll(service, television, started["device_code"])) == "400 invalid_grant"


@pytest.mark.threat("O20")
class TestPhishing:
    async def test_the_owner_hears_of_it_and_can_end_it(
        self, service: Service, television: OAuthTestClient, ada: Headers
    ) -> None:
        started = await start(service, television)
        await approve(service, started["user_code"], ada)
        stranger = bearer((await poll(service, television, started["device_code"])).json()["access_token"])

        assert len(await service.inbox(ADA, "device-authorized")) == 1
        await service.post("/revoke-other-sessions", headers=ada)
        assert not await works(service, stranger)

    async def test_other_clients_get_no_session(self, service: Service, ada: Headers) -> None:
        shop = await add_television(service, gets_session=False)
        started = await start(service, shop)
        await approve(service, started["user_code"], ada)

        assert error(await poll(service, shop, started["device_code"])) == "400 unauthorized_client"
        assert len(await service.rows("SELECT id FROM session")) == 1
