"""The operations of openapi/paths/two_factor.yaml, through the public door."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import httpx
import pyotp
import pytest
import structlog
from sqlalchemy import update

from domain.context import RequestFacts
from domain.two_factor import verification
from domain.two_factor.errors import InvalidTwoFactorCookie
from domain.two_factor.totp import PERIOD
from models import BackupCode, Session, TrustedDevice, TwoFactor
from tests.conftest import Carry, Headers, MakeService
from tests.handlers.steps import (
    ADA,
    AT,
    CLEARED,
    EVE,
    NEW_PASSWORD,
    bearer,
    code,
    count,
    execute,
    join,
    reduced,
    refusal,
    remove_passwords,
    reset_token,
    set_user,
    token_of,
    user_of,
    verify,
    works,
)
from tests.security.second_factor import (
    METHODS,
    PENDING,
    SESSION,
    TRUST,
    WRONG_BACKUP_CODE,
    also,
    begin,
    challenge,
    cookie,
    enrol,
    enrol_again,
    enter,
    lock,
    mailed_code,
    right_code,
    secret_in,
    session_count,
    set_cookies,
    spend,
    trusted_device,
)
from tests.security.second_factor import (
    sign_in as password_sign_in,
)
from tests.service import PASSWORD, Service

PENDING_CLEARED = "service.two-factor=; Path=/; SameSite=Lax; Max-Age=0; HttpOnly; Secure"
PROTECTED = ("enable", "disable", "get-totp-uri", "generate-backup-codes")
"""The operations that change or show the second factor."""
WRONG_CODE = (401, "INVALID_CODE", "Invalid code")
WRONG_PASSWORD = (400, "INVALID_PASSWORD", "Invalid password")
NO_CHALLENGE = (401, "INVALID_TWO_FACTOR_COOKIE", "Invalid two factor cookie")
SPENT = (400, "TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE", "Too many attempts. Please request a new code.")

NO_CODES: tuple[Any, ...] = ("", "x" * 33, 123456, 1.5, None, True, [], {}, ["492039"], "49\x002039")


async def act(
    service: Service, name: str, headers: Headers, password: str = PASSWORD, **more: Any
) -> httpx.Response:
    """Send the password to an operation that wants it."""
    return await service.post(f"/two-factor/{name}", {"password": password, **more}, headers=headers)


def totp(secret: str, service: Service, steps: int = 0) -> str:
    """Return what an authenticator shows now, or so many steps later."""
    return pyotp.TOTP(secret).at(int(service.clock.now.timestamp()) + PERIOD * steps)


@pytest.mark.operation("two_factor.enable")
class TestEnable:
    @pytest.mark.threat("V48", "V53")
    async def test_opens_an_enrolment_that_changes_nothing_yet(self, service: Service) -> None:
        ada = await join(service)

        answer = (await act(service, "enable", ada)).json()

        assert list(answer) == ["method", "totpURI", "backupCodes"]
        assert answer["method"] == "totp"
        assert len(set(answer["backupCodes"])) == 10
        assert not (await user_of(service, ada))["twoFactorEnabled"]
        assert (await password_sign_in(service)).json()["user"] is not None
        assert await service.inbox(template="two-factor-changed") == []
        stored = repr(
            [await service.rows(f"SELECT * FROM {table}") for table in ("two_factor", "backup_code")]
        )
        for shown in (secret_in(answer["totpURI"]), *answer["backupCodes"]):
            assert shown not in stored
            assert shown.replace("-", "") not in stored

    async def test_shows_the_name_of_the_service_otherwise(self, make_service: MakeService) -> None:
        named = await make_service({"app_name": "Ada: her house"})
        issuers = [(await begin_uri(named))["issuer"]]
        named = await make_service({"two_factor.issuer": "Shop"})
        issuers.append((await begin_uri(named))["issuer"])

        assert issuers == ["Ada her house", "Shop"]

    async def test_refuses_an_issuer_that_apps_would_misread(self, service: Service) -> None:
        ada = await join(service)

        for issuer in ("a:b", "x" * 65, "a\nb", "a\x7fb", "\x00", 1, None, ["a"]):
            answer = await act(service, "enable", ada, issuer=issuer)
            assert code(answer) == "400 VALIDATION_ERROR", issuer
        assert await count(service, TwoFactor) == 0

    async def test_done_again_replaces_what_is_not_confirmed(self, service: Service) -> None:
        ada = await join(service)
        first, codes = await begin(service, ada)
        second, _ = await begin(service, ada)

        refused = await enter(service, "totp", totp(first, service), ada)
        confirmed = await enter(service, "totp", totp(second, service), ada)
        old_code = await enter(service, "backup-code", codes[0], ada)

        assert (code(refused), code(confirmed)) == ("401 INVALID_CODE", "200")
        assert code(old_code) == "401 INVALID_BACKUP_CODE"

    @pytest.mark.threat("V48", "V52", "V53")
    async def test_beside_a_live_secret_leaves_it_until_the_new_one_is_confirmed(
        self, service: Service
    ) -> None:
        ada = await enrol(service)
        device = await trusted_device(service, ada)
        again, codes = await begin(service, ada.session)

        service.clock.advance(seconds=PERIOD)
        old = await enter(service, "totp", ada.code(service), bearer(await challenge(service)))
        early = await enter(service, "backup-code", codes[0], ada.session)
        live = await enter(service, "backup-code", ada.backup_codes[0], ada.session)
        confirmed = await enter(service, "totp", totp(again, service), ada.session)
        new = await enter(service, "totp", totp(again, service), bearer(await challenge(service)))
        dead = await enter(service, "backup-code", ada.backup_codes[1], ada.session)
        promoted = await enter(service, "backup-code", codes[0], ada.session)
        asked = await password_sign_in(service, headers=cookie(TRUST, device))

        assert [answer.status_code for answer in (old, early, live)] == [200, 401, 200]
        assert [answer.status_code for answer in (confirmed, new, dead, promoted)] == [200, 200, 401, 200]
        assert asked.json()["twoFactorRedirect"]
        assert len(await service.inbox(template="two-factor-changed")) == 1

    async def test_with_mail_codes_is_on_at_once(self, service: Service) -> None:
        ada = await join(service)
        await verify(service)

        answer = await act(service, "enable", ada, method="otp")
        pending = (await password_sign_in(service)).json()

        assert (answer.json()["method"], answer.json()["totpURI"]) == ("otp", None)
        assert (await user_of(service, ada))["twoFactorEnabled"]
        assert pending["twoFactorMethods"] == ["otp"]
        assert len(await service.inbox(template="two-factor-changed")) == 1
        used = await enter(service, "backup-code", answer.json()["backupCodes"][3], bearer(pending["token"]))
        assert used.status_code == 200

    async def test_with_mail_codes_keeps_a_live_secret_and_replaces_the_codes(self, service: Service) -> None:
        ada = await enrol(service)

        fresh = (await act(service, "enable", ada.session, method="otp")).json()["backupCodes"]

        old = await enter(service, "backup-code", ada.backup_codes[0], ada.session)
        new = await enter(service, "backup-code", fresh[0], ada.session)
        authenticator = await enter(service, "totp", ada.code(service), bearer(await challenge(service)))
        assert [answer.status_code for answer in (old, new, authenticator)] == [401, 200, 200]

    @pytest.mark.threat("V32")
    async def test_with_mail_codes_wants_a_sender_and_a_proven_address(
        self, make_service: MakeService
    ) -> None:
        told = []
        for overrides in ({}, {"two_factor.otp_enabled": "false"}, {"mail.sender": "none"}):
            service = await make_service(overrides)
            ada = await join(service)
            assert refusal(await act(service, "enable", ada, "x", method="otp")) == WRONG_PASSWORD
            told.append(refusal(await act(service, "enable", ada, method="otp")))

        off = (400, "OTP_NOT_CONFIGURED", "OTP is not available")
        assert told == [(403, "EMAIL_NOT_VERIFIED", "Email not verified"), off, off]


async def begin_uri(service: Service) -> dict[str, str]:
    ada = await join(service)
    uri = (await act(service, "enable", ada)).json()["totpURI"]
    return dict(httpx.URL(uri).params)


class TestPassword:
    @pytest.mark.threat("V49", "V51")
    async def test_is_wanted_and_nothing_changes_without(self, service: Service) -> None:
        """A session that a code has opened a moment ago does without it no more than another user's does."""
        owner = await enrol(service)
        opened = await enter(service, "totp", owner.code(service), bearer(await challenge(service)))
        ada, eve = bearer(opened.json()["token"]), await join(service, EVE, NEW_PASSWORD)
        who = {"userId": opened.json()["user"]["id"], "email": ADA}

        for name in PROTECTED:
            path = f"/two-factor/{name}"
            nobody = await service.post(path, {"password": PASSWORD, **who})
            with_adas = await service.post(path, {"password": PASSWORD, **who}, headers=eve)
            await service.post(path, {"password": NEW_PASSWORD, **who}, headers=eve)
            assert refusal(await act(service, name, ada, "wrong")) == refusal(with_adas) == WRONG_PASSWORD
            assert code(nobody) == "401 UNAUTHORIZED"
        body = {"currentPassword": "wrong", "newPassword": NEW_PASSWORD}
        assert refusal(await service.post("/change-password", body, headers=ada)) == WRONG_PASSWORD

        assert (await user_of(service, ada))["twoFactorEnabled"]
        service.clock.advance(seconds=PERIOD)
        pending = bearer(await challenge(service))
        assert secret_in((await act(service, "get-totp-uri", ada)).json()["totpURI"]) == owner.secret
        assert code(await enter(service, "totp", owner.code(service), pending)) == "200"
        assert code(await enter(service, "backup-code", owner.backup_codes[0], ada)) == "200"

    async def test_of_a_user_who_has_none_is_wrong_until_a_reset_has_given_one(
        self, service: Service
    ) -> None:
        ada = await join(service)
        await remove_passwords(service)

        for name in PROTECTED:
            assert refusal(await act(service, name, ada)) == WRONG_PASSWORD
        assert refusal(await act(service, "enable", ada, method="otp")) == WRONG_PASSWORD
        assert await count(service, TwoFactor) == 0
        await service.post("/reset-password", {"token": await reset_token(service), "newPassword": PASSWORD})

        session = bearer((await password_sign_in(service)).json()["token"])
        assert (await act(service, "enable", session)).status_code == 200


@pytest.mark.operation("two_factor.disable")
class TestDisable:
    @pytest.mark.threat("V52", "V53")
    async def test_deletes_everything(self, service: Service) -> None:
        owner = await enrol(service)
        device, pending = await trusted_device(service, owner), await challenge(service)
        mailed = await mailed_code(service, owner.session)

        answer = await act(service, "disable", also(owner.session, TRUST, device))

        assert answer.json() == {"status": True}
        assert set_cookies(answer) == {TRUST: ""}
        assert not (await user_of(service, owner.session))["twoFactorEnabled"]
        for table in (TwoFactor, BackupCode, TrustedDevice):
            assert await count(service, table) == 0
        assert refusal(await enter(service, "totp", "123456", bearer(pending))) == NO_CHALLENGE
        assert code(await enter(service, "otp", mailed, owner.session)) == "400 OTP_HAS_EXPIRED"
        assert await service.rows("SELECT 1 FROM \"grant\" WHERE purpose = 'mail-code'") == []
        assert (await password_sign_in(service)).json()["user"] is not None
        assert len(await service.inbox(template="two-factor-changed")) == 2

    async def test_when_off_already_answers_alike(self, service: Service) -> None:
        ada = await join(service)
        await begin(service, ada)

        answer = await act(service, "disable", ada)

        assert answer.json() == {"status": True}
        assert (await count(service, TwoFactor), await count(service, BackupCode)) == (0, 0)
        assert await service.inbox(template="two-factor-changed") == []


@pytest.mark.operation("two_factor.get_totp_uri")
class TestGetTotpUri:
    async def test_repeats_the_open_enrolment_then_the_live_secret(self, service: Service) -> None:
        ada = await join(service)
        first = (await act(service, "enable", ada, issuer="Shop")).json()["totpURI"]
        waiting = (await act(service, "get-totp-uri", ada)).json()
        await enter(service, "totp", totp(secret_in(first), service), ada)
        live = (await act(service, "get-totp-uri", ada)).json()
        second = (await act(service, "enable", ada)).json()["totpURI"]
        beside = (await act(service, "get-totp-uri", ada)).json()

        assert waiting == live == {"totpURI": first}
        assert beside == {"totpURI": second} != live


class TestNothingSetUp:
    """What is asked of a user without a second factor, or without this one."""

    @pytest.mark.threat("V48")
    async def test_is_refused(self, service: Service) -> None:
        off = (400, "TWO_FACTOR_NOT_ENABLED", "Two factor isn't enabled")
        no_totp = (400, "TOTP_NOT_ENABLED", "TOTP not enabled")
        no_codes = (400, "BACKUP_CODES_NOT_ENABLED", "Backup codes aren't enabled")
        ada = await join(service)

        assert refusal(await service.post("/two-factor/send-otp", headers=ada)) == off
        assert refusal(await act(service, "get-totp-uri", ada)) == no_totp
        assert refusal(await enter(service, "totp", "123456", ada)) == no_totp
        _, codes = await begin(service, ada)
        assert refusal(await act(service, "generate-backup-codes", ada)) == off
        assert refusal(await enter(service, "backup-code", codes[0], ada)) == no_codes
        await act(service, "disable", ada)
        await verify(service)
        await act(service, "enable", ada, method="otp")
        assert refusal(await act(service, "get-totp-uri", ada)) == no_totp

    async def test_costs_no_attempt_of_a_sign_in(self, service: Service) -> None:
        ada = await join(service)
        await verify(service)
        await act(service, "enable", ada, method="otp")
        await execute(service, "DELETE FROM backup_code")
        pending = bearer(await challenge(service))

        async def told() -> list[str]:
            return [code(await enter(service, method, "123456", pending)) for method in METHODS]

        unspent = [await told() for _ in range(6)]
        await execute(service, "UPDATE \"grant\" SET attempts = 5 WHERE purpose = 'challenge'")
        spent = await told()
        await execute(service, "UPDATE \"grant\" SET attempts = 4 WHERE purpose = 'challenge'")

        expected = ["400 TOTP_NOT_ENABLED", "400 OTP_HAS_EXPIRED", "400 BACKUP_CODES_NOT_ENABLED"]
        assert [*unspent, spent] == [expected] * 7
        assert code(await enter(service, "otp", await mailed_code(service, pending), pending)) == "200"


class TestPendingSignIn:
    @pytest.mark.threat("V43")
    @pytest.mark.parametrize("path", ["email", "username"])
    async def test_is_answered_in_place_of_a_session(self, service: Service, path: str) -> None:
        ada = await enrol(service, username="ada_l")
        earlier = cookie(SESSION, token_of(ada.session))

        name = {"email": ADA} if path == "email" else {"username": "ada_l"}
        body = {**name, "password": PASSWORD, "callbackURL": "/welcome"}
        answer = await service.post(f"/sign-in/{path}", body, headers=earlier)

        token = answer.json()["token"]
        assert answer.json() == {
            "redirect": False, "token": token, "url": None, "user": None, "twoFactorRedirect": True,
            "twoFactorMethods": ["totp", "otp"], "pending": True,
        }  # fmt: skip
        assert answer.headers.get_list("set-cookie") == [
            f"service.two-factor={token}; Path=/; SameSite=Lax; Max-Age=600; HttpOnly; Secure",
            CLEARED,
        ]
        assert "set-auth-token" not in answer.headers
        assert await session_count(service) == 1
        assert await works(service, earlier)
        [row] = await service.rows("SELECT * FROM \"grant\" WHERE purpose = 'challenge'")
        assert token.removeprefix("2fa_") not in repr(row)

    @pytest.mark.threat("V33")
    async def test_a_banned_user_is_refused_at_the_second_step(
        self, service: Service, carry_pending: Carry
    ) -> None:
        ada = await enrol(service)
        pending = carry_pending(await challenge(service))
        code_of = {method: await right_code(service, ada, method, pending) for method in METHODS}

        await set_user(service, banned=True)

        expected = (403, "BANNED_USER", "You have been banned from this application")
        for method in METHODS:
            assert refusal(await enter(service, method, code_of[method], pending)) == expected
        assert refusal(await service.post("/two-factor/send-otp", headers=pending)) == expected


class TestVerified:
    """What the three methods have in common."""

    @pytest.mark.threat("V46")
    @pytest.mark.parametrize("method", METHODS)
    async def test_a_pending_sign_in_becomes_a_session(
        self, service: Service, carry_pending: Carry, method: str
    ) -> None:
        ada = await enrol(service)
        pending = carry_pending(await challenge(service))
        entered = await right_code(service, ada, method, pending)

        answer = await enter(service, method, entered, pending, trustDevice=True)

        token = answer.json()["token"]
        user = await user_of(service, bearer(token))
        extra = {"twoFactorEnabled": True} if method == "backup-code" else {}
        assert answer.json()["user"] == {**reduced(user), **extra}
        assert answer.headers["set-auth-token"] == token
        cookies = set_cookies(answer)
        trusted = await password_sign_in(service, headers=cookie(TRUST, cookies.pop(TRUST)))
        assert trusted.json()["user"] is not None
        cleared = {PENDING: ""} if "Cookie" in pending else {}
        assert cookies == {SESSION: token, **cleared}
        assert refusal(await enter(service, method, entered, pending)) == NO_CHALLENGE

    @pytest.mark.threat("V52")
    @pytest.mark.parametrize("method", METHODS)
    async def test_the_remember_choice_is_that_of_the_sign_in_and_trust_is_asked_for(
        self, service: Service, method: str
    ) -> None:
        ada = await enrol(service)
        body = {"email": ADA, "password": PASSWORD, "rememberMe": False}
        pending = bearer((await service.post("/sign-in/email", body)).json()["token"])
        right = await right_code(service, ada, method, pending)

        answer = await enter(service, method, right, pending, trustDevice="false")

        session = await service.get("/get-session", headers=bearer(answer.json()["token"]))
        assert session.json()["session"]["expiresAt"] == "2026-01-02T12:00:00.000Z"
        assert "Max-Age" not in answer.headers["set-cookie"]
        assert set(set_cookies(answer)) == {SESSION}
        assert await count(service, TrustedDevice) == 0

    @pytest.mark.threat("V46", "V51", "V52")
    @pytest.mark.parametrize("method", METHODS)
    async def test_under_a_session_only_checks(self, service: Service, method: str) -> None:
        """No session, no trust, and no fresh session come of it."""
        ada = await enrol(service)
        service.clock.advance(days=1, seconds=1)

        entered = await right_code(service, ada, method, ada.session)
        answer = await enter(service, method, entered, ada.session, trustDevice=True)
        again = await enter(service, method, entered, ada.session)
        deleted = await service.post("/delete-user", headers=ada.session)

        assert answer.json()["token"] == token_of(ada.session)
        assert "set-cookie" not in answer.headers
        assert await session_count(service) == 1
        assert await count(service, TrustedDevice) == 0
        used = {
            "totp": "401 INVALID_CODE",
            "otp": "400 OTP_HAS_EXPIRED",
            "backup-code": "401 INVALID_BACKUP_CODE",
        }
        assert code(again) == used[method]
        assert code(deleted) == "400 SESSION_EXPIRED"

    @pytest.mark.threat("V44")
    @pytest.mark.parametrize("method", METHODS)
    async def test_five_wrong_codes_end_the_sign_in(
        self, service: Service, carry_pending: Carry, method: str
    ) -> None:
        ada = await enrol(service)
        pending = carry_pending(await challenge(service))
        right = await right_code(service, ada, method, pending)
        wrong = WRONG_BACKUP_CODE if method == "backup-code" else "12345"

        told = [code(await enter(service, method, wrong, pending)) for _ in range(5)]
        spent = await enter(service, method, right, pending)
        after = await enter(service, method, right, pending)

        assert set(told) == {f"401 INVALID_{'BACKUP_' if method == 'backup-code' else ''}CODE"}
        assert refusal(spent) == SPENT
        assert (PENDING_CLEARED in spent.headers.get_list("set-cookie")) == ("Cookie" in pending)
        assert refusal(after) == NO_CHALLENGE
        assert (
            await service.rows("SELECT purpose FROM \"grant\" WHERE purpose IN ('challenge', 'mail-code')")
            == []
        )

    @pytest.mark.threat("V44")
    async def test_ten_wrong_codes_in_a_row_lock(
        self, make_service: MakeService, carry_pending: Carry
    ) -> None:
        service = await make_service({"limits.failures": "0"})
        ada, eve = await enrol(service), await enrol(service, EVE)
        pending = carry_pending(await challenge(service))
        await lock(service, ada, carry_pending)

        service.clock.advance(seconds=0.5)
        locked = await enter(service, "totp", ada.code(service), pending)
        with_backup_code = await enter(service, "backup-code", ada.backup_codes[0], pending)
        mail = await service.post("/two-factor/send-otp", headers=pending)
        others = await enter(service, "totp", eve.code(service), carry_pending(await challenge(service, EVE)))

        message = "Too many failed verification attempts. Please try again later."
        for answer in (locked, with_backup_code, mail):
            assert refusal(answer) == (429, "ACCOUNT_TEMPORARILY_LOCKED", message)
            assert (answer.headers["retry-after"], answer.headers["x-retry-after"]) == ("900", "900")
        assert code(others) == "200"
        assert await works(service, ada.session)
        service.clock.advance(minutes=14, seconds=59)
        early = await enter(service, "totp", ada.code(service), carry_pending(await challenge(service)))
        assert code(early) == "429 ACCOUNT_TEMPORARILY_LOCKED"
        service.clock.advance(seconds=0.5)
        await spend(service, ada, carry_pending)
        late = await enter(service, "totp", ada.code(service), carry_pending(await challenge(service)))
        assert code(late) == "200"
        assert len(await service.inbox(template="second-factor-locked")) == 1

    async def test_refusals_come_in_their_order(self, service: Service, carry_pending: Carry) -> None:
        """Behaviour 6.3: the challenge, the ban, the lock, the budget, the method, the attempts, the code."""
        session = await join(service)
        await verify(service)
        await act(service, "enable", session, method="otp")
        *wasted, pending = [carry_pending(await challenge(service)) for _ in range(3)]
        for spent in wasted:
            for _ in range(5):
                await enter(service, "backup-code", WRONG_BACKUP_CODE, spent)

        async def told() -> set[str]:
            return {code(await enter(service, method, "x", pending)) for method in METHODS}

        await set_user(service, banned=True)
        banned = await told()
        await set_user(service, banned=False)
        locked = await told()
        await execute(service, "UPDATE two_factor SET locked_until = NULL")
        limited = await told()
        mailed = await mailed_code(service, pending)  # A code may be asked for: it has no budget of failures.
        await execute(service, "DELETE FROM counter")
        await execute(service, "UPDATE \"grant\" SET attempts = 5 WHERE purpose = 'challenge'")
        not_set_up = await enter(service, "totp", "x", pending)
        none_left = await enter(service, "otp", mailed, pending)
        await set_user(service, banned=True)

        assert banned == {"403 BANNED_USER"}
        assert locked == {"429 ACCOUNT_TEMPORARILY_LOCKED"}
        assert limited == {"429 TOO_MANY_REQUESTS"}
        assert code(not_set_up) == "400 TOTP_NOT_ENABLED"
        assert refusal(none_left) == SPENT
        assert await told() == {"401 INVALID_TWO_FACTOR_COOKIE"}

    async def test_a_lock_leaves_sessions_alone_and_ends_with_the_second_factor(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"limits.failures": "0"})
        ada = await enrol(service)
        await lock(service, ada)

        for method in METHODS:
            right = await right_code(service, ada, method, ada.session)
            assert code(await enter(service, method, right, ada.session)) == "200"
            pending = bearer(await challenge(service))
            locked = await enter(service, "backup-code", ada.backup_codes[1], pending)
            assert code(locked) == "429 ACCOUNT_TEMPORARILY_LOCKED"
        await act(service, "disable", ada.session)
        again = await enrol_again(service, ADA, ada.session)

        pending = bearer(await challenge(service))
        assert code(await enter(service, "totp", again.code(service), pending)) == "200"

    @pytest.mark.threat("V52")
    async def test_sign_out_and_revocation_leave_a_sign_in_that_waits_and_the_device(
        self, service: Service
    ) -> None:
        ada = await enrol(service)
        device = await trusted_device(service, ada)
        pending = cookie(PENDING, await challenge(service))

        left = await service.post("/sign-out", headers=also(pending, TRUST, device))
        await service.post("/revoke-sessions", headers=ada.session)

        assert set_cookies(left) == {SESSION: ""}
        assert code(await enter(service, "totp", ada.code(service), pending)) == "200"
        assert (await password_sign_in(service, headers=cookie(TRUST, device))).json()["user"] is not None

    @pytest.mark.parametrize(
        "ask",
        [
            verification.verify_totp,
            verification.verify_otp,
            verification.verify_backup_code,
            verification.send_otp,
        ],
    )
    async def test_a_session_that_ends_meanwhile_is_no_credential(
        self, service: Service, ask: Callable[..., Awaitable[object]]
    ) -> None:
        ada = await enrol(service)
        found = service.services.sessions.find([token_of(ada.session)], service.clock.now, by_cookie=False)
        caller = await found
        await service.post("/sign-out", headers=ada.session)
        wanted = {} if ask is verification.send_otp else {"code": ada.code(service), "trust_device": False}

        with pytest.raises(InvalidTwoFactorCookie):
            await service.services.unit_of_work.run(
                partial(ask, **wanted), RequestFacts(service.clock.now, caller=caller)
            )

    @pytest.mark.threat("V24")
    @pytest.mark.parametrize("method", METHODS)
    async def test_a_code_has_a_form_and_what_has_not_costs_nothing(
        self, service: Service, method: str
    ) -> None:
        ada = await enrol(service)
        pending = bearer(await challenge(service))

        for value in NO_CODES:
            answer = await service.post(f"/two-factor/verify-{method}", {"code": value}, headers=pending)
            assert code(answer) == "400 VALIDATION_ERROR", value
            assert "[body.code]" in answer.json()["message"]

        right = await right_code(service, ada, method, pending)
        assert code(await enter(service, method, right, pending)) == "200"


@pytest.mark.operation("two_factor.verify_totp")
class TestVerifyTotp:
    @pytest.mark.threat("V48")
    async def test_confirms_an_enrolment(self, service: Service) -> None:
        ada = await join(service)
        secret, _ = await begin(service, ada)

        wrong = await enter(service, "totp", totp(secret, service, 3), ada)
        still_off = (await password_sign_in(service)).json()["user"] is not None
        answer = await enter(service, "totp", totp(secret, service), ada)

        user = await user_of(service, ada)
        assert (code(wrong), still_off) == ("401 INVALID_CODE", True)
        assert user["twoFactorEnabled"]
        assert answer.json() == {"status": True, "token": token_of(ada), "user": reduced(user)}
        assert len(await service.inbox(ADA, "two-factor-changed")) == 1

    @pytest.mark.threat("V47")
    async def test_a_step_counts_once_and_no_earlier_one_after_it(self, service: Service) -> None:
        ada = await enrol(service)
        told = []
        for steps in (0, 0, -1, 1, 1, 0):
            pending = bearer(await challenge(service))
            told.append((await enter(service, "totp", ada.code(service, steps), pending)).status_code)

        assert told == [200, 401, 401, 200, 401, 401]

    async def test_a_secret_nobody_can_decrypt_is_a_fault_and_no_wrong_code(self, service: Service) -> None:
        ada = await enrol(service)
        pending = bearer(await challenge(service))
        async with service.services.database.transaction() as db:
            await db.execute(update(TwoFactor).values(secret=b"sealed under a key that is gone"))

        with structlog.testing.capture_logs() as logged:
            told = [await enter(service, "totp", ada.code(service), pending) for _ in range(6)]
        shown = await act(service, "get-totp-uri", ada.session)

        expected = (503, "SERVICE_UNAVAILABLE", "Service unavailable")
        assert {refusal(answer) for answer in (*told, shown)} == {expected}
        assert [entry["event"] for entry in logged] == ["two_factor.secret_undecipherable"] * 6
        assert (await enter(service, "backup-code", ada.backup_codes[0], pending)).status_code == 200


@pytest.mark.operation("two_factor.send_otp")
class TestSendOtp:
    @pytest.mark.threat("V25")
    async def test_mails_a_code_and_shows_it_nowhere(self, service: Service, carry_pending: Carry) -> None:
        await enrol(service)
        pending = carry_pending(await challenge(service))

        answer = await service.post("/two-factor/send-otp", headers=pending)

        [mail] = await service.inbox(template="otp")
        assert answer.json() == {"status": True}
        assert mail["to"] == ADA
        assert len(mail["code"]) == 6
        assert mail["code"] not in f"{answer.text}{answer.headers}"
        assert mail["code"] not in str(await service.rows('SELECT * FROM "grant"'))

    async def test_the_newest_code_counts(self, service: Service) -> None:
        await enrol(service)
        pending = bearer(await challenge(service))
        codes = [await mailed_code(service, pending)]
        while len(set(codes)) == 1:
            codes.append(await mailed_code(service, pending))

        old = await enter(service, "otp", codes[0], pending)
        new = await enter(service, "otp", codes[-1], pending)

        assert [old.status_code, new.status_code] == [401, 200]

    async def test_needs_a_sender(self, make_service: MakeService) -> None:
        service = await make_service({"two_factor.otp_enabled": "false"})
        ada = await enrol(service)
        pending = (await password_sign_in(service)).json()

        eve = await join(service, EVE)
        for headers in (ada.session, bearer(pending["token"]), eve):
            told = await service.post("/two-factor/send-otp", headers=headers)
            assert refusal(told) == (400, "OTP_NOT_CONFIGURED", "OTP is not available")
        assert pending["twoFactorMethods"] == ["totp"]


@pytest.mark.operation("two_factor.verify_otp")
class TestVerifyOtp:
    async def test_confirms_a_first_enrolment(self, service: Service) -> None:
        ada = await join(service)
        secret, codes = await begin(service, ada)

        answer = await enter(service, "otp", await mailed_code(service, ada), ada)

        user = await user_of(service, ada)
        pending = (await password_sign_in(service)).json()
        assert answer.json() == {"token": token_of(ada), "user": reduced(user)}
        assert user["twoFactorEnabled"]
        assert pending["twoFactorMethods"] == ["otp"]
        assert code(await enter(service, "totp", totp(secret, service), bearer(pending["token"]))) == (
            "400 TOTP_NOT_ENABLED"
        )
        assert code(await enter(service, "backup-code", codes[0], ada)) == "200"
        assert code(await enter(service, "totp", totp(secret, service), ada)) == "200"
        assert (await password_sign_in(service)).json()["twoFactorMethods"] == ["totp", "otp"]
        assert code(await enter(service, "backup-code", codes[1], ada)) == "200"
        assert len(await service.inbox(template="two-factor-changed")) == 1

    async def test_confirms_no_second_enrolment(self, service: Service) -> None:
        """While two-factor is on it only checks: what counts goes on counting, and what waits goes on waiting."""
        owner = await enrol(service)
        ada = owner.session
        device = await trusted_device(service, owner)
        secret, codes = await begin(service, ada)

        answer = await enter(service, "otp", await mailed_code(service, ada), ada)

        assert code(answer) == "200"
        assert code(await enter(service, "backup-code", codes[0], ada)) == "401 INVALID_BACKUP_CODE"
        assert code(await enter(service, "backup-code", owner.backup_codes[0], ada)) == "200"
        pending = bearer(await challenge(service))
        assert code(await enter(service, "totp", owner.code(service), pending)) == "200"
        trusted = await password_sign_in(service, headers=cookie(TRUST, device))
        assert trusted.json()["user"] is not None
        assert code(await enter(service, "totp", totp(secret, service), ada)) == "200"

    async def test_a_code_of_another_binding_is_none(self, service: Service) -> None:
        ada = await enrol(service)
        pending = [bearer(await challenge(service)) for _ in range(2)]
        entered = await mailed_code(service, pending[0])

        assert code(await enter(service, "otp", entered, pending[1])) == "400 OTP_HAS_EXPIRED"
        assert code(await enter(service, "otp", entered, ada.session)) == "400 OTP_HAS_EXPIRED"
        assert code(await enter(service, "otp", entered, pending[0])) == "200"
        with_session = await mailed_code(service, ada.session)
        assert code(await enter(service, "otp", with_session, pending[1])) == "400 OTP_HAS_EXPIRED"

    async def test_the_tries_of_a_code_can_be_fewer_than_those_of_a_sign_in(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"two_factor.otp_attempts": "1"})
        ada = await enrol(service)
        pending = cookie(PENDING, await challenge(service))
        entered = await mailed_code(service, pending)

        wrong = await enter(service, "otp", "x", pending)
        spent = await enter(service, "otp", entered, pending)

        assert (refusal(wrong), refusal(spent)) == (WRONG_CODE, SPENT)
        assert "set-cookie" not in spent.headers
        assert (await enter(service, "totp", ada.code(service), pending)).status_code == 200


@pytest.mark.operation("two_factor.verify_backup_code")
class TestVerifyBackupCode:
    async def test_answers_with_the_session(self, service: Service) -> None:
        ada = await enrol(service)
        pending = bearer(await challenge(service))

        opened = (await enter(service, "backup-code", ada.backup_codes[0], pending)).json()
        own = (await enter(service, "backup-code", ada.backup_codes[1], bearer(opened["token"]))).json()

        session = {"token": opened["token"], "userId": opened["user"]["id"], "createdAt": AT}
        assert opened["session"] == own["session"] == {**session, "expiresAt": "2026-01-08T12:00:00.000Z"}

    async def test_without_a_session_cookie_when_asked(self, service: Service, carry_pending: Carry) -> None:
        ada = await enrol(service)
        pending = carry_pending(await challenge(service))

        answer = await enter(
            service, "backup-code", ada.backup_codes[0], pending, disableSession="TRUE", trustDevice=True
        )

        assert "set-auth-token" not in answer.headers
        assert set(set_cookies(answer)) == ({TRUST, PENDING} if "Cookie" in pending else {TRUST})
        assert await works(service, bearer(answer.json()["session"]["token"]))

    @pytest.mark.parametrize("reason", ["budget", "lock", "ban", "attempts"])
    async def test_costs_no_hash_where_it_is_refused_anyhow(
        self, make_service: MakeService, reason: str
    ) -> None:
        """With no place to wait, each hash at the same time would be one too many: none is begun."""
        small = {"password.hash_workers": "1", "password.hash_queue": "0"}
        service = await make_service({**small, **({} if reason == "budget" else {"limits.failures": "0"})})
        ada = await enrol(service)
        caller = ada.session if reason == "budget" else bearer(await challenge(service))
        if reason == "ban":
            await set_user(service, banned=True)
        elif reason == "lock":
            await lock(service, ada)
        for _ in range({"budget": 10, "attempts": 5}.get(reason, 0)):
            await enter(service, "totp", "x", caller)

        crowd = (enter(service, "backup-code", ada.backup_codes[0], caller) for _ in range(10))
        told = {code(answer) for answer in await asyncio.gather(*crowd)}

        refusals = {
            "budget": {"429 TOO_MANY_REQUESTS"},
            "lock": {"429 ACCOUNT_TEMPORARILY_LOCKED"},
            "ban": {"403 BANNED_USER"},
            "attempts": {"400 TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE", "401 INVALID_TWO_FACTOR_COOKIE"},
        }
        assert told == refusals[reason]


@pytest.mark.operation("two_factor.generate_backup_codes")
class TestGenerateBackupCodes:
    @pytest.mark.threat("V53")
    async def test_replaces_all(self, service: Service) -> None:
        ada = await enrol(service)

        answer = (await act(service, "generate-backup-codes", ada.session)).json()

        new, old = answer["backupCodes"], ada.backup_codes
        assert answer["status"] is True
        assert len(set(new) - set(old)) == len(new) == 10
        wrong = "401 INVALID_BACKUP_CODE"
        for backup_code, told in (
            *((one, wrong) for one in (old[0], old[9])),
            *((one, "200") for one in new[:9]),
            *((one, wrong) for one in (new[0], new[8])),
            (new[9], "200"),
            (new[9], "400 BACKUP_CODES_NOT_ENABLED"),
        ):
            assert code(await enter(service, "backup-code", backup_code, ada.session)) == told


class TestTrustedDevices:
    @pytest.mark.threat("V52")
    async def test_are_not_asked_and_their_token_is_renewed(self, service: Service) -> None:
        ada = await enrol(service, username="ada_l")
        first = await trusted_device(service, ada)

        service.clock.advance(days=29)
        by_email = await password_sign_in(service, headers=cookie(TRUST, first))
        second = set_cookies(by_email)[TRUST]
        service.clock.advance(days=29)
        body = {"username": "ada_l", "password": PASSWORD}
        by_name = await service.post("/sign-in/username", body, headers=cookie(TRUST, second))
        third = set_cookies(by_name)[TRUST]
        old = await password_sign_in(service, headers=cookie(TRUST, first))
        body = {"email": ADA, "password": "wrong"}
        wrong = await service.post("/sign-in/email", body, headers=cookie(TRUST, third))

        assert by_email.json()["user"] is not None
        assert by_name.json()["user"] is not None
        assert len({first, second, third}) == 3
        assert old.json()["twoFactorRedirect"]
        assert set_cookies(old)[TRUST] == ""
        assert code(wrong) == "401 INVALID_EMAIL_OR_PASSWORD"
        assert (await password_sign_in(service, headers=cookie(TRUST, third))).json()["user"] is not None

    async def test_a_dead_token_is_cleared_where_no_code_is_asked_for(self, service: Service) -> None:
        """The operator has switched the second factor off, say, and so could not clear the cookie."""
        ada = await enrol(service, username="ada_l")
        device = await trusted_device(service, ada)
        await act(service, "disable", ada.session)

        body = {"username": "ada_l", "password": PASSWORD}
        told = [
            set_cookies(answer)
            for value in (device, "invented")
            for answer in (
                await password_sign_in(service, headers=cookie(TRUST, value)),
                await service.post("/sign-in/username", body, headers=cookie(TRUST, value)),
            )
        ]

        assert [set(cookies) for cookies in told] == [{SESSION, TRUST}] * 4
        assert {cookies[TRUST] for cookies in told} == {""}

    @pytest.mark.threat("V50", "V52")
    async def test_die_with_the_password(self, service: Service) -> None:
        ada = await enrol(service)
        first, pending = await trusted_device(service, ada), await challenge(service)
        body = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD}
        changed = await service.post("/change-password", body, headers=also(ada.session, TRUST, first))
        after_change = await count(service, TrustedDevice)
        body = {"currentPassword": NEW_PASSWORD, "newPassword": PASSWORD}
        await service.post("/change-password", body, headers=ada.session)
        await trusted_device(service, ada)
        body = {"token": await reset_token(service), "newPassword": NEW_PASSWORD}
        await service.post("/reset-password", body)

        assert set_cookies(changed)[TRUST] == ""
        assert refusal(await enter(service, "totp", "123456", bearer(pending))) == NO_CHALLENGE
        assert (after_change, await count(service, TrustedDevice)) == (0, 0)
        assert (await count(service, TwoFactor), await count(service, Session)) == (1, 0)

    @pytest.mark.threat("V26")
    async def test_of_others_are_left_alone(self, service: Service) -> None:
        eves = cookie(TRUST, await trusted_device(service, await enrol(service, EVE)))

        session = await join(service)
        not_asked = await password_sign_in(service, headers=eves)
        await verify(service)
        await enrol_again(service, ADA, session)
        asked = await password_sign_in(service, headers=eves)

        assert set(set_cookies(not_asked)) == {SESSION}
        assert asked.json()["twoFactorRedirect"]
        assert TRUST not in set_cookies(asked)
        assert (await password_sign_in(service, EVE, headers=eves)).json()["user"]["email"] == EVE


async def test_any_new_session_clears_a_pending_cookie(service: Service) -> None:
    ada = await enrol(service)
    await join(service, EVE)
    pending = cookie(PENDING, await challenge(service))

    other = await password_sign_in(service, EVE, headers=pending)
    new = await service.post(
        "/sign-up/email", {"name": "X", "email": "x@example.com", "password": PASSWORD}, headers=pending
    )

    assert set_cookies(other)[PENDING] == set_cookies(new)[PENDING] == ""
    assert code(await enter(service, "totp", ada.code(service), pending)) == "200"
