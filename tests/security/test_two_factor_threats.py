"""Attacks on the second factor by forgeries, planted tokens, guesses and ways around it."""

import pytest

from tests.conftest import Carry, Headers, MakeService
from tests.handlers import steps
from tests.handlers.steps import ADA, EVE, NEW_PASSWORD, UNKNOWN, bearer, code, token_of, works
from tests.security.second_factor import (
    METHODS,
    PENDING,
    SESSION,
    TRUST,
    WRONG_BACKUP_CODE,
    Owner,
    also,
    challenge,
    cookie,
    enter,
    flipped,
    is_pending,
    lock,
    mailed_code,
    right_code,
    session_count,
    set_cookies,
    sign_in,
    spend,
    told,
    trusted_device,
)
from tests.service import Service

DEAD = "401 INVALID_TWO_FACTOR_COOKIE"
SPENT = "400 TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE"
LOCKED = "429 ACCOUNT_TEMPORARILY_LOCKED"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """The service without the limits of chapter 10: what stops guessing here is the second factor's own defence."""
    return await make_service({"limits.enabled": "false"})


async def opens(service: Service, headers: Headers, method: str, code_: str) -> bool:
    """Return whether a code completes the sign-in."""
    answer = await enter(service, method, code_, headers)
    return answer.status_code == 200 and await works(service, bearer(answer.json()["token"]))


@pytest.mark.threat("V26")
class TestForgedCookies:
    """A cookie proves something only if the service made it, for this user, and it still lives."""

    @pytest.mark.parametrize("method", METHODS)
    async def test_no_token_but_the_given_one_is_a_pending_sign_in(
        self, service: Service, ada: Owner, carry_pending: Carry, method: str
    ) -> None:
        token = await challenge(service)
        right = await right_code(service, ada, method, carry_pending(token))
        forged = (
            flipped(token),
            token.lower(),
            token.removeprefix("2fa_"),
            f"2fa_{token}",
            token + "x",
            "2fa_",
            "2FA_" + "x" * 32,
            "2fa_" + "x" * 31,
            "%",
        )
        callers = [
            {},
            cookie(SESSION, "x" * 32),
            *(carry_pending(value) for value in forged if value != token),
        ]

        answers = [await enter(service, method, right, caller) for caller in callers]

        assert told(answers) == {DEAD: len(answers)}
        opened = await enter(service, method, right, carry_pending(token))
        session = opened.json()["token"]
        assert await works(service, cookie(SESSION, session))
        assert not await works(service, cookie(SESSION, flipped(session)))
        assert not await works(service, bearer(flipped(session)))

    async def test_an_invented_trust_cookie_is_ignored_and_cleared(
        self, service: Service, ada: Owner
    ) -> None:
        trusted, pending = await trusted_device(service, ada), await challenge(service)
        user = await steps.user_of(service, ada.session)
        invented = (flipped(trusted), "x" * 32, user["id"], trusted + "x", "true", "%", "")
        other_secrets = (token_of(ada.session), pending, pending.removeprefix("2fa_"))

        for value in (*invented, *other_secrets):
            answer = await sign_in(service, headers=cookie(TRUST, value))

            assert is_pending(answer), value
            assert set_cookies(answer).get(TRUST, "") == ""
        assert not is_pending(await sign_in(service, headers=cookie(TRUST, trusted)))


@pytest.mark.threat("V34")
class TestPlantedTokens:
    """A token that the caller brought along never becomes valid."""

    @pytest.mark.parametrize("method", METHODS)
    async def test_a_planted_session_cookie_is_not_adopted(
        self, service: Service, ada: Owner, carry_pending: Carry, method: str
    ) -> None:
        eve, pending = token_of(await steps.join(service, EVE)), carry_pending(await challenge(service))
        planted = {"totp": eve, "otp": token_of(ada.session), "backup-code": UNKNOWN}[method]
        right = await right_code(service, ada, method, pending)

        answer = await enter(service, method, right, also(pending, SESSION, planted))

        token = answer.json()["token"]
        assert token != planted
        assert set_cookies(answer)[SESSION] == token
        assert (await steps.user_of(service, bearer(token)))["email"] == ADA
        assert (await steps.user_of(service, bearer(eve)))["email"] == EVE
        assert not await works(service, bearer(UNKNOWN))

    async def test_a_planted_pending_token_is_not_adopted(
        self, service: Service, ada: Owner, carry_pending: Carry
    ) -> None:
        planted = f"2fa_{UNKNOWN}"

        answer = await sign_in(service, headers=cookie(PENDING, planted))

        assert answer.json()["token"] != planted
        assert code(await enter(service, "totp", ada.code(service), carry_pending(planted))) == DEAD


@pytest.mark.threat("V44")
class TestGuessedCodes:
    """Codes cannot be guessed: five tries a sign-in, ten in a row lock the second factor of the account."""

    async def test_attempts_are_shared_by_the_methods_and_not_renewed_by_a_mail(
        self, service: Service, ada: Owner, carry_pending: Carry
    ) -> None:
        pending = carry_pending(await challenge(service))
        await mailed_code(service, pending)
        wrong = {method: ada.wrong_code(service) for method in METHODS}
        wrong["backup-code"] = WRONG_BACKUP_CODE

        answers = [
            await enter(service, method, wrong[method], pending) for method in (*METHODS, "totp", "otp")
        ]
        fresh = await mailed_code(service, pending)
        sixth = await enter(service, "otp", fresh, pending)

        assert told(answers) == {"401 INVALID_CODE": 4, "401 INVALID_BACKUP_CODE": 1}
        assert code(sixth) == SPENT

    async def test_a_right_code_resets_the_count_and_a_right_password_does_not(
        self, service: Service, ada: Owner
    ) -> None:
        for _ in range(3):
            await spend(service, ada, times=4)
            pending = bearer(await challenge(service))
            assert await opens(service, pending, "backup-code", ada.backup_codes.pop())
        for _ in range(5):
            await spend(service, ada, times=2)

        answer = await enter(service, "totp", ada.code(service), bearer(await challenge(service)))

        assert code(answer) == LOCKED


@pytest.mark.threat("V48")
async def test_an_intruder_in_a_session_cannot_lock_the_owner_out(service: Service, ada: Owner) -> None:
    """Wrong codes with a session do not count for the lock, and enrolling takes the password."""
    for _ in range(12):
        await enter(service, "totp", ada.wrong_code(service), ada.session)
        await enter(service, "backup-code", WRONG_BACKUP_CODE, ada.session)

    assert await opens(service, bearer(await challenge(service)), "totp", ada.code(service))


@pytest.mark.threat("V50")
class TestWaysAround:
    """No other way leads around the second factor."""

    async def test_a_reset_password_still_needs_a_code_and_leaves_the_lock(
        self, service: Service, ada: Owner
    ) -> None:
        await lock(service, ada)
        token = await steps.reset_token(service)

        reset = await service.post("/reset-password", {"token": token, "newPassword": NEW_PASSWORD})
        signed_in = await steps.sign_in(service, password=NEW_PASSWORD)
        locked = await enter(service, "totp", ada.code(service), bearer(signed_in.json()["token"]))

        assert code(reset) == "200"
        assert set(reset.json()) == {"status", "user"}
        assert reset.json()["user"]["twoFactorEnabled"] is True
        assert not {SESSION, PENDING, TRUST} & set(set_cookies(reset))
        assert "set-auth-token" not in reset.headers
        assert is_pending(signed_in)
        assert code(locked) == LOCKED
        assert await session_count(service) == 0
        service.clock.advance(minutes=15)
        signed_in = await steps.sign_in(service, password=NEW_PASSWORD)
        assert await opens(service, bearer(signed_in.json()["token"]), "totp", ada.code(service))

    async def test_links_of_mails_do_not_sign_in(self, service: Service, ada: Owner) -> None:
        await service.post("/change-email", {"newEmail": "ada@new.test"}, headers=ada.session)
        link = steps.local(await steps.last_link(service, "change-email"))
        before = await session_count(service)

        answer = await service.get(link)

        assert code(answer) == "200"
        assert set_cookies(answer) == {}
        assert "token" not in answer.json()
        assert await session_count(service) == before
        assert is_pending(await sign_in(service, "ada@new.test"))
