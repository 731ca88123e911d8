"""The operations of openapi/paths/two_factor.yaml, through the public door."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import httpx
import pyotp
import pytest
import structlog
from sqlalchemy import update

from domain.two_factor import verification
from domain.two_factor.errors import InvalidTwoFactorCookie
from domain.two_factor.totp import PERIOD
from models import BackupCode, OneTimeToken, Session, TrustedDevice, TwoFactor
from tests.conftest import Headers, MakeService, SignIn
from tests.contract.reading import JSON_OPERATIONS
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
    PENDING,
    TRUST,
    WRONG_BACKUP_CODE,
    Owner,
    also,
    begin,
    challenge,
    cookie,
    enrol,
    enrol_again,
    enter,
    mailed_code,
    right_code,
    secret_in,
    session_count,
    set_cookies,
    trusted_device,
)
from tests.security.second_factor import (
    sign_in as password_sign_in,
)
from tests.service import PASSWORD, Service

PENDING_CLEARED = "service.two-factor=; Path=/; SameSite=Lax; Max-Age=0; HttpOnly; Secure"
METHODS = ("totp", "otp", "backup-code")
WRONG_CODE = (401, "INVALID_CODE", "Invalid code")
WRONG_PASSWORD = (400, "INVALID_PASSWORD", "Invalid password")
NO_CHALLENGE = (401, "INVALID_TWO_FACTOR_COOKIE", "Invalid two factor cookie")
SPENT = (400, "TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE", "Too many attempts. Please request a new code.")
TRUST_FOR = "Max-Age=2592000"

Carry = Callable[[str], Headers]


@pytest.fixture(params=["bearer", "cookie"])
def carry_pending(request: pytest.FixtureRequest) -> Carry:
    """How a pending token travels: every test that asks for it runs once each way."""
    return bearer if request.param == "bearer" else lambda token: cookie(PENDING, token)


async def act(service: Service, name: str, headers: Headers, password: str = PASSWORD) -> httpx.Response:
    """Send the password to an operation that wants it."""
    return await service.post(f"/two-factor/{name}", {"password": password}, headers=headers)


def totp(secret: str, service: Service, steps: int = 0) -> str:
    """Return what an authenticator shows now, or so many steps later."""
    return pyotp.TOTP(secret).at(int(service.clock.now.timestamp()) + PERIOD * steps)


class TestEnable:
    @pytest.mark.threat("V48")
    async def test_opens_an_enrolment_that_changes_nothing_yet(
        self, service: Service, sign_up: SignIn
    ) -> None:
        ada = await sign_up()

        answer = (await act(service, "enable", ada)).json()

        assert list(answer) == ["method", "totpURI", "backupCodes"]
        assert answer["method"] == "totp"
        assert len(set(answer["backupCodes"])) == 10
        assert not (await user_of(service, ada))["twoFactorEnabled"]
        assert (await password_sign_in(service)).json()["user"] is not None
        assert await service.inbox(template="two-factor-changed") == []

    async def test_gives_an_address_authenticators_read(self, service: Service) -> None:
        ada = await join(service, "ada+x@example.com")

        body = {"password": PASSWORD, "issuer": "Acme & Söhne/1"}
        uri = (await service.post("/two-factor/enable", body, headers=ada)).json()["totpURI"]

        secret = secret_in(uri)
        shown_by = "Acme%20%26%20S%C3%B6hne%2F1"
        assert uri == (
            f"otpauth://totp/{shown_by}:ada%2Bx%40example.com?secret={secret}&issuer={shown_by}&digits=6&period=30"
        )
        assert len(secret) == 32

    async def test_shows_the_name_of_the_service_otherwise(self, make_service: MakeService) -> None:
        named = await make_service({"app_name": "Ada: her house"})
        issuers = [(await begin_uri(named))["issuer"]]
        named = await make_service({"two_factor.issuer": "Shop"})
        issuers.append((await begin_uri(named))["issuer"])

        assert issuers == ["Ada her house", "Shop"]

    @pytest.mark.parametrize("issuer", ["a:b", "x" * 65, "a\nb", "a\x7fb", "\x00", 1, None, ["a"]])
    async def test_refuses_an_issuer_that_apps_would_misread(self, service: Service, issuer: object) -> None:
        ada = await join(service)

        body = {"password": PASSWORD, "issuer": issuer}

        assert code(await service.post("/two-factor/enable", body, headers=ada)) == "400 VALIDATION_ERROR"
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

    async def test_with_mail_codes_is_on_at_once(self, service: Service, sign_up: SignIn) -> None:
        ada = await sign_up()
        await verify(service)

        answer = await service.post(
            "/two-factor/enable", {"password": PASSWORD, "method": "otp"}, headers=ada
        )
        pending = (await password_sign_in(service)).json()

        assert (answer.json()["method"], answer.json()["totpURI"]) == ("otp", None)
        assert (await user_of(service, ada))["twoFactorEnabled"]
        assert pending["twoFactorMethods"] == ["otp"]
        assert len(await service.inbox(template="two-factor-changed")) == 1
        used = await enter(service, "backup-code", answer.json()["backupCodes"][3], bearer(pending["token"]))
        assert used.status_code == 200

    async def test_with_mail_codes_keeps_a_live_secret_and_replaces_the_codes(self, service: Service) -> None:
        ada = await enrol(service)

        body = {"password": PASSWORD, "method": "otp"}
        fresh = (await service.post("/two-factor/enable", body, headers=ada.session)).json()["backupCodes"]

        old = await enter(service, "backup-code", ada.backup_codes[0], ada.session)
        new = await enter(service, "backup-code", fresh[0], ada.session)
        authenticator = await enter(service, "totp", ada.code(service), bearer(await challenge(service)))
        assert [answer.status_code for answer in (old, new, authenticator)] == [401, 200, 200]

    @pytest.mark.threat("V32")
    async def test_with_mail_codes_wants_a_sender_and_a_proven_address(
        self, make_service: MakeService
    ) -> None:
        body = {"password": PASSWORD, "method": "otp"}
        told = []
        for overrides in ({}, {"two_factor.otp_enabled": "false"}, {"mail.sender": "none"}):
            service = await make_service(overrides)
            ada = await join(service)
            wrong = await service.post("/two-factor/enable", {**body, "password": "x"}, headers=ada)
            assert refusal(wrong) == WRONG_PASSWORD
            told.append(refusal(await service.post("/two-factor/enable", body, headers=ada)))

        off = (400, "OTP_NOT_CONFIGURED", "OTP is not available")
        assert told == [(403, "EMAIL_NOT_VERIFIED", "Email not verified"), off, off]


async def lock(service: Service, email: str = ADA) -> None:
    """Enter ten wrong codes, which locks the second factor; the failure budget must be out of the way."""
    for _ in range(2):
        pending = bearer(await challenge(service, email))
        told = [code(await enter(service, "totp", "x", pending)) for _ in range(5)]
        assert told == ["401 INVALID_CODE"] * 5


async def begin_uri(service: Service) -> dict[str, str]:
    ada = await join(service)
    uri = (await act(service, "enable", ada)).json()["totpURI"]
    return dict(httpx.URL(uri).params)


class TestPassword:
    @pytest.mark.threat("V49")
    @pytest.mark.parametrize("name", ["enable", "disable", "get-totp-uri", "generate-backup-codes"])
    async def test_is_wanted_and_nothing_changes_without(
        self, service: Service, carry: Carry, name: str
    ) -> None:
        owner = await enrol(service)
        ada = carry(token_of(owner.session))

        answer = await act(service, name, ada, "wrong")

        assert refusal(answer) == WRONG_PASSWORD
        assert (await user_of(service, ada))["twoFactorEnabled"]
        assert code(await enter(service, "backup-code", owner.backup_codes[0], ada)) == "200"

    async def test_of_a_user_who_has_none_is_wrong_until_a_reset_has_given_one(
        self, service: Service
    ) -> None:
        ada = await join(service)
        await remove_passwords(service)

        for name in ("enable", "disable", "get-totp-uri", "generate-backup-codes"):
            assert refusal(await act(service, name, ada)) == WRONG_PASSWORD
        by_mail = {"password": PASSWORD, "method": "otp"}
        assert refusal(await service.post("/two-factor/enable", by_mail, headers=ada)) == WRONG_PASSWORD
        assert await count(service, TwoFactor) == 0
        await service.post("/reset-password", {"token": await reset_token(service), "newPassword": PASSWORD})

        session = bearer((await password_sign_in(service)).json()["token"])
        assert (await act(service, "enable", session)).status_code == 200


class TestDisable:
    @pytest.mark.threat("V52", "V53")
    async def test_deletes_everything(self, service: Service, carry: Carry) -> None:
        owner = await enrol(service)
        ada = carry(token_of(owner.session))
        device, pending = await trusted_device(service, owner), await challenge(service)

        answer = await act(service, "disable", also(ada, TRUST, device))

        assert answer.json() == {"status": True}
        assert set_cookies(answer) == {TRUST: ""}
        assert not (await user_of(service, ada))["twoFactorEnabled"]
        for table in (TwoFactor, BackupCode, TrustedDevice):
            assert await count(service, table) == 0
        assert refusal(await enter(service, "totp", "123456", bearer(pending))) == NO_CHALLENGE
        assert (await password_sign_in(service)).json()["user"] is not None
        assert len(await service.inbox(template="two-factor-changed")) == 2

    async def test_ends_the_lock(self, make_service: MakeService) -> None:
        service = await make_service({"limits.failures": "0"})
        ada = await enrol(service)
        await lock(service)

        await act(service, "disable", ada.session)
        again = await enrol_again(service, ADA, ada.session)

        pending = bearer(await challenge(service))
        assert code(await enter(service, "totp", again.code(service), pending)) == "200"

    async def test_when_off_already_answers_alike(self, service: Service, sign_up: SignIn) -> None:
        ada = await sign_up()
        await begin(service, ada)

        answer = await act(service, "disable", ada)

        assert answer.json() == {"status": True}
        assert (await count(service, TwoFactor), await count(service, BackupCode)) == (0, 0)
        assert await service.inbox(template="two-factor-changed") == []


class TestGetTotpUri:
    async def test_repeats_the_open_enrolment_then_the_live_secret(
        self, service: Service, carry: Carry
    ) -> None:
        ada = carry(token_of(await join(service)))
        body = {"password": PASSWORD, "issuer": "Shop"}
        first = (await service.post("/two-factor/enable", body, headers=ada)).json()["totpURI"]
        waiting = (await act(service, "get-totp-uri", ada)).json()
        await enter(service, "totp", totp(secret_in(first), service), ada)
        live = (await act(service, "get-totp-uri", ada)).json()
        second = (await act(service, "enable", ada)).json()["totpURI"]
        beside = (await act(service, "get-totp-uri", ada)).json()

        assert waiting == live == {"totpURI": first}
        assert beside == {"totpURI": second} != live

    async def test_without_a_secret_is_refused(self, service: Service) -> None:
        ada = await join(service)
        await verify(service)
        expected = (400, "TOTP_NOT_ENABLED", "TOTP not enabled")

        assert refusal(await act(service, "get-totp-uri", ada)) == expected
        await service.post("/two-factor/enable", {"password": PASSWORD, "method": "otp"}, headers=ada)
        assert refusal(await act(service, "get-totp-uri", ada)) == expected


class TestPendingSignIn:
    @pytest.mark.threat("V43")
    @pytest.mark.parametrize("path", ["email", "username"])
    async def test_is_answered_in_place_of_a_session(self, service: Service, path: str) -> None:
        await enrol(service, username="ada_l")
        before = await session_count(service)

        name = {"email": ADA} if path == "email" else {"username": "ada_l"}
        body = {**name, "password": PASSWORD, "callbackURL": "/welcome"}
        answer = await service.post(f"/sign-in/{path}", body)

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
        assert await session_count(service) == before

    async def test_leaves_earlier_sessions_alive(self, service: Service) -> None:
        ada = await enrol(service)

        await password_sign_in(service, headers=cookie("service.session-token", token_of(ada.session)))

        assert await works(service, ada.session)

    async def test_lists_what_can_be_had(self, make_service: MakeService) -> None:
        service = await make_service({"two_factor.otp_enabled": "false"})
        await enrol(service)

        assert (await password_sign_in(service)).json()["twoFactorMethods"] == ["totp"]

    async def test_ends_after_ten_minutes(self, service: Service, carry_pending: Carry) -> None:
        ada = await enrol(service)
        first, pending = [carry_pending(await challenge(service)) for _ in range(2)]

        service.clock.advance(seconds=599)
        in_time = await enter(service, "totp", ada.code(service), first)
        service.clock.advance(seconds=1)
        answer = await enter(service, "backup-code", ada.backup_codes[0], pending)

        assert code(in_time) == "200"
        assert refusal(answer) == NO_CHALLENGE
        assert (PENDING_CLEARED in answer.headers.get_list("set-cookie")) == ("Cookie" in pending)

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

    async def test_opens_nothing_else(self, service: Service) -> None:
        """V39: of all operations that want a session none takes a pending token."""
        await enrol(service)
        pending = await challenge(service)

        for operation in JSON_OPERATIONS.values():
            security = operation.spec.get("security")
            if security == [] or (security and {"pendingBearerAuth": []} in security):
                continue
            path = operation.path.replace("{provider}", "github")
            for headers in (
                bearer(pending),
                cookie("service.session-token", pending),
                cookie(PENDING, pending),
            ):
                answer = await service.client.request(operation.method, path, headers=headers)
                assert answer.status_code in (401, 400) or operation.path in ADMITTING


ADMITTING = {"/sign-out", "/passkey/generate-authenticate-options"}
"""Answered without a session, too, and tells nothing of anybody."""


class TestVerified:
    """What the three methods have in common."""

    @pytest.mark.threat("V46")
    @pytest.mark.parametrize("method", METHODS)
    async def test_a_pending_sign_in_becomes_a_session(
        self, service: Service, carry: Carry, carry_pending: Carry, method: str
    ) -> None:
        ada = await enrol(service)
        pending = carry_pending(await challenge(service))
        entered = await right_code(service, ada, method, pending)

        answer = await enter(service, method, entered, pending)

        token = answer.json()["token"]
        user = await user_of(service, carry(token))
        extra = {"twoFactorEnabled": True} if method == "backup-code" else {}
        assert answer.json()["user"] == {**reduced(user), **extra}
        assert answer.headers["set-auth-token"] == token
        cleared = {PENDING: ""} if "Cookie" in pending else {}
        assert set_cookies(answer) == {"service.session-token": token, **cleared}
        assert refusal(await enter(service, method, entered, pending)) == NO_CHALLENGE

    @pytest.mark.parametrize("method", METHODS)
    async def test_the_remember_choice_is_that_of_the_sign_in(self, service: Service, method: str) -> None:
        ada = await enrol(service)
        body = {"email": ADA, "password": PASSWORD, "rememberMe": False}
        pending = bearer((await service.post("/sign-in/email", body)).json()["token"])

        answer = await enter(service, method, await right_code(service, ada, method, pending), pending)

        session = (await service.get("/get-session", headers=bearer(answer.json()["token"]))).json()[
            "session"
        ]
        assert session["expiresAt"] == "2026-01-02T12:00:00.000Z"
        assert "Max-Age" not in answer.headers["set-cookie"]

    @pytest.mark.threat("V46")
    @pytest.mark.parametrize("method", METHODS)
    async def test_under_a_session_only_checks(self, service: Service, carry: Carry, method: str) -> None:
        owner = await enrol(service)
        ada = carry(token_of(owner.session))
        before = await session_count(service)

        entered = await right_code(service, owner, method, ada)
        answer = await enter(service, method, entered, ada, trustDevice=True)
        again = await enter(service, method, entered, ada)

        assert answer.json()["token"] == token_of(ada)
        assert "set-cookie" not in answer.headers
        assert await session_count(service) == before
        assert await count(service, TrustedDevice) == 0
        used = {
            "totp": "401 INVALID_CODE",
            "otp": "400 OTP_HAS_EXPIRED",
            "backup-code": "401 INVALID_BACKUP_CODE",
        }
        assert code(again) == used[method]

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
    async def test_ten_wrong_codes_in_a_row_lock(self, service: Service, carry_pending: Carry) -> None:
        ada = await enrol(service)
        *wasted, pending = [carry_pending(await challenge(service)) for _ in range(3)]
        for spent in wasted:
            for _ in range(5):
                await enter(service, "totp", "x", spent)

        service.clock.advance(seconds=0.5)
        locked = await enter(service, "totp", ada.code(service), pending)
        with_backup_code = await enter(service, "backup-code", ada.backup_codes[0], pending)
        mail = await service.post("/two-factor/send-otp", headers=pending)

        message = "Too many failed verification attempts. Please try again later."
        for answer in (locked, with_backup_code, mail):
            assert refusal(answer) == (429, "ACCOUNT_TEMPORARILY_LOCKED", message)
            assert (answer.headers["retry-after"], answer.headers["x-retry-after"]) == ("900", "900")
        assert len(await service.inbox(template="second-factor-locked")) == 1
        assert await works(service, ada.session)
        service.clock.advance(minutes=15)
        pending = carry_pending(await challenge(service))
        assert code(await enter(service, "totp", ada.code(service), pending)) == "200"

    async def test_refusals_come_in_their_order(self, service: Service, carry_pending: Carry) -> None:
        """Behaviour 6.3: the challenge, the ban, the lock, the budget, the method, the attempts, the code."""
        session = await join(service)
        await verify(service)
        await service.post("/two-factor/enable", {"password": PASSWORD, "method": "otp"}, headers=session)
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

    @pytest.mark.parametrize("method", ["otp", "backup-code"])
    async def test_a_method_that_is_not_set_up_costs_no_attempt(self, service: Service, method: str) -> None:
        ada = await enrol(service)
        pending = bearer(await challenge(service))
        await execute(service, "DELETE FROM backup_code")

        told = {code(await enter(service, method, "x", pending)) for _ in range(6)}
        await execute(service, "UPDATE \"grant\" SET attempts = 5 WHERE purpose = 'challenge'")
        told.add(code(await enter(service, method, "x", pending)))
        await execute(service, "UPDATE \"grant\" SET attempts = 4 WHERE purpose = 'challenge'")

        assert told == {"400 OTP_HAS_EXPIRED" if method == "otp" else "400 BACKUP_CODES_NOT_ENABLED"}
        assert code(await enter(service, "totp", ada.code(service), pending)) == "200"

    @pytest.mark.parametrize("method", METHODS)
    async def test_a_lock_leaves_sessions_alone_and_is_not_opened_by_them(
        self, make_service: MakeService, method: str
    ) -> None:
        service = await make_service({"limits.failures": "0"})
        ada = await enrol(service)
        await lock(service)

        entered = await right_code(service, ada, method, ada.session)
        with_session = await enter(service, method, entered, ada.session)
        pending = await enter(service, "backup-code", ada.backup_codes[1], bearer(await challenge(service)))

        assert (code(with_session), code(pending)) == ("200", "429 ACCOUNT_TEMPORARILY_LOCKED")
        assert await works(service, ada.session)

    async def test_sign_out_leaves_a_sign_in_that_waits(self, service: Service) -> None:
        ada = await enrol(service)
        device = await trusted_device(service, ada)
        pending = cookie(PENDING, await challenge(service))

        left = await service.post("/sign-out", headers=also(pending, TRUST, device))

        assert set_cookies(left) == {"service.session-token": ""}
        assert code(await enter(service, "totp", ada.code(service), pending)) == "200"
        assert (await password_sign_in(service, headers=cookie(TRUST, device))).json()["user"] is not None

    @pytest.mark.parametrize(
        "ask", [verification.totp, verification.otp, verification.backup_code, verification.send_otp]
    )
    async def test_a_session_that_ends_meanwhile_is_no_credential(
        self, service: Service, ask: Callable[..., Awaitable[object]]
    ) -> None:
        ada = await enrol(service)
        requests = service.services.unit_of_work
        token = ada.session["Authorization"].removeprefix("Bearer ")
        caller = await service.services.sessions.find(token, service.clock.now, by_cookie=False)
        await service.post("/sign-out", headers=ada.session)
        wanted = {} if ask is verification.send_otp else {"code": ada.code(service), "trust_device": False}

        with pytest.raises(InvalidTwoFactorCookie):
            await requests.run(partial(ask, **wanted), caller=caller)

    @pytest.mark.threat("V24")
    @pytest.mark.parametrize("method", METHODS)
    async def test_a_code_has_a_form_and_what_has_not_costs_nothing(
        self, service: Service, method: str
    ) -> None:
        ada = await enrol(service)
        pending = bearer(await challenge(service))

        for wrong in ("", "1" * 33, 123456, None, ["1"], "1\x00"):
            answer = await service.post(f"/two-factor/verify-{method}", {"code": wrong}, headers=pending)
            assert code(answer) == "400 VALIDATION_ERROR"

        right = await right_code(service, ada, method, pending)
        assert code(await enter(service, method, right, pending)) == "200"


class TestVerifyTotp:
    async def test_confirms_an_enrolment(self, service: Service, carry: Carry) -> None:
        ada = carry(token_of(await join(service)))
        secret, _ = await begin(service, ada)

        answer = await enter(service, "totp", totp(secret, service), ada)

        user = await user_of(service, ada)
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

    async def test_without_a_secret_is_refused_and_costs_nothing(self, service: Service) -> None:
        ada = await join(service)
        await verify(service)
        expected = (400, "TOTP_NOT_ENABLED", "TOTP not enabled")
        assert refusal(await enter(service, "totp", "123456", ada)) == expected
        await service.post("/two-factor/enable", {"password": PASSWORD, "method": "otp"}, headers=ada)
        pending = bearer(await challenge(service))

        told = [refusal(await enter(service, "totp", "123456", pending)) for _ in range(6)]

        assert told == [expected] * 6
        assert (await enter(service, "otp", await mailed_code(service, pending), pending)).status_code == 200

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

    @pytest.mark.threat("V47")
    @pytest.mark.parametrize(("steps", "status"), [(-2, 401), (-1, 200), (0, 200), (1, 200), (2, 401)])
    async def test_accepts_one_step_either_side(self, service: Service, steps: int, status: int) -> None:
        ada = await enrol(service)
        pending = bearer(await challenge(service))

        assert (await enter(service, "totp", ada.code(service, steps), pending)).status_code == status


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

    async def test_needs_something_to_verify(self, service: Service) -> None:
        ada = await join(service)

        told = await service.post("/two-factor/send-otp", headers=ada)

        assert refusal(told) == (400, "TWO_FACTOR_NOT_ENABLED", "Two factor isn't enabled")

    async def test_needs_a_sender(self, make_service: MakeService) -> None:
        service = await make_service({"two_factor.otp_enabled": "false"})
        ada = await enrol(service)

        await join(service, EVE)
        eve = bearer((await password_sign_in(service, EVE)).json()["token"])
        for headers in (ada.session, bearer(await challenge(service)), eve):
            told = await service.post("/two-factor/send-otp", headers=headers)
            assert refusal(told) == (400, "OTP_NOT_CONFIGURED", "OTP is not available")


class TestVerifyOtp:
    async def test_confirms_a_first_enrolment(self, service: Service, carry: Carry) -> None:
        ada = carry(token_of(await join(service)))
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

    async def test_confirms_no_second_enrolment(self, service: Service, carry: Carry) -> None:
        """While two-factor is on it only checks: what counts goes on counting, and what waits goes on waiting."""
        owner = await enrol(service)
        ada = carry(token_of(owner.session))
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

    async def test_a_code_ends_with_the_second_factor(self, service: Service) -> None:
        ada = await enrol(service)
        entered = await mailed_code(service, ada.session)

        await act(service, "disable", ada.session)

        assert code(await enter(service, "otp", entered, ada.session)) == "400 OTP_HAS_EXPIRED"
        assert await service.rows("SELECT 1 FROM \"grant\" WHERE purpose = 'mail-code'") == []

    async def test_a_code_of_another_binding_is_none(self, service: Service) -> None:
        ada = await enrol(service)
        pending = [bearer(await challenge(service)) for _ in range(2)]
        entered = await mailed_code(service, pending[0])

        assert code(await enter(service, "otp", entered, pending[1])) == "400 OTP_HAS_EXPIRED"
        assert code(await enter(service, "otp", entered, ada.session)) == "400 OTP_HAS_EXPIRED"
        assert code(await enter(service, "otp", entered, pending[0])) == "200"
        with_session = await mailed_code(service, ada.session)
        assert code(await enter(service, "otp", with_session, pending[1])) == "400 OTP_HAS_EXPIRED"

    async def test_under_a_session_a_code_has_five_tries(self, service: Service, carry: Carry) -> None:
        ada = carry(token_of((await enrol(service)).session))
        entered = await mailed_code(service, ada)

        told = [code(await enter(service, "otp", "x", ada)) for _ in range(5)]
        spent, gone = [await enter(service, "otp", entered, ada) for _ in range(2)]

        assert told == ["401 INVALID_CODE"] * 5
        assert refusal(spent) == SPENT
        assert code(gone) == "400 OTP_HAS_EXPIRED"
        assert await works(service, ada)

    async def test_the_tries_of_a_code_can_be_fewer_than_those_of_a_sign_in(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"two_factor.otp_attempts": "1"})
        ada = await enrol(service)
        pending = cookie(PENDING, await challenge(service))
        entered = await mailed_code(service, pending)

        wrong, spent = (
            await enter(service, "otp", "x", pending),
            await enter(service, "otp", entered, pending),
        )

        assert (refusal(wrong), refusal(spent)) == (WRONG_CODE, SPENT)
        assert "set-cookie" not in spent.headers
        assert (await enter(service, "totp", ada.code(service), pending)).status_code == 200


class TestVerifyBackupCode:
    async def test_answers_with_the_session(self, service: Service, carry: Carry) -> None:
        ada = await enrol(service)
        pending = bearer(await challenge(service))

        opened = (await enter(service, "backup-code", ada.backup_codes[0], pending)).json()
        own = (await enter(service, "backup-code", ada.backup_codes[1], carry(opened["token"]))).json()

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

    @pytest.mark.threat("V48")
    async def test_needs_codes(self, service: Service, carry: Carry) -> None:
        ada = carry(token_of(await join(service)))
        _, codes = await begin(service, ada)

        answer = await enter(service, "backup-code", codes[0], ada)

        assert refusal(answer) == (400, "BACKUP_CODES_NOT_ENABLED", "Backup codes aren't enabled")

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
            await lock(service)
        for _ in range({"budget": 10, "attempts": 5}.get(reason, 0)):
            await enter(service, "totp", "x", caller)

        crowd = (enter(service, "backup-code", ada.backup_codes[0], caller) for _ in range(30))
        told = {code(answer) for answer in await asyncio.gather(*crowd)}

        assert (
            told
            == {
                "budget": {"429 TOO_MANY_REQUESTS"},
                "lock": {"429 ACCOUNT_TEMPORARILY_LOCKED"},
                "ban": {"403 BANNED_USER"},
                "attempts": {"400 TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE", "401 INVALID_TWO_FACTOR_COOKIE"},
            }[reason]
        )


class TestGenerateBackupCodes:
    @pytest.mark.threat("V53")
    async def test_replaces_all(self, service: Service, carry: Carry) -> None:
        owner = await enrol(service)
        ada = carry(token_of(owner.session))

        answer = (await act(service, "generate-backup-codes", ada)).json()

        assert answer["status"] is True
        assert len(set(answer["backupCodes"]) - set(owner.backup_codes)) == 10
        assert (
            code(await enter(service, "backup-code", owner.backup_codes[0], ada)) == "401 INVALID_BACKUP_CODE"
        )
        assert code(await enter(service, "backup-code", answer["backupCodes"][9], ada)) == "200"

    async def test_needs_a_second_factor(self, service: Service) -> None:
        ada = await join(service)
        await begin(service, ada)

        answer = await act(service, "generate-backup-codes", ada)

        assert refusal(answer) == (400, "TWO_FACTOR_NOT_ENABLED", "Two factor isn't enabled")


class TestTrustedDevices:
    @pytest.mark.threat("V52")
    @pytest.mark.parametrize("method", METHODS)
    async def test_are_not_asked_and_their_token_is_renewed(self, service: Service, method: str) -> None:
        ada = await enrol(service, username="ada_l")
        pending = bearer(await challenge(service))
        answer = await enter(
            service, method, await right_code(service, ada, method, pending), pending, trustDevice=True
        )
        first = set_cookies(answer)[TRUST]

        service.clock.advance(days=29)
        by_email = await password_sign_in(service, headers=cookie(TRUST, first))
        second = set_cookies(by_email)[TRUST]
        service.clock.advance(days=29)
        body = {"username": "ada_l", "password": PASSWORD}
        by_name = await service.post("/sign-in/username", body, headers=cookie(TRUST, second))
        old = await password_sign_in(service, headers=cookie(TRUST, first))

        assert [line for line in answer.headers.get_list("set-cookie") if TRUST in line and TRUST_FOR in line]
        assert by_email.json()["user"] is not None
        assert by_name.json()["user"] is not None
        assert len({first, second, set_cookies(by_name)[TRUST]}) == 3
        assert old.json()["twoFactorRedirect"]
        assert set_cookies(old)[TRUST] == ""

    @pytest.mark.threat("V52")
    async def test_never_replace_the_password(self, service: Service) -> None:
        device = await trusted_device(service, await enrol(service))

        body = {"email": ADA, "password": "wrong"}
        answer = await service.post("/sign-in/email", body, headers=cookie(TRUST, device))

        assert code(answer) == "401 INVALID_EMAIL_OR_PASSWORD"
        assert (await password_sign_in(service, headers=cookie(TRUST, device))).json()["user"] is not None

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

        assert [set(cookies) for cookies in told] == [{"service.session-token", TRUST}] * 4
        assert {cookies[TRUST] for cookies in told} == {""}

    async def test_of_others_are_left_alone_by_who_is_not_asked(self, service: Service) -> None:
        await join(service)
        device = await trusted_device(service, await enrol(service, EVE))

        ada = await password_sign_in(service, headers=cookie(TRUST, device))
        eve = await password_sign_in(service, EVE, headers=cookie(TRUST, device))

        assert set(set_cookies(ada)) == {"service.session-token"}
        assert eve.json()["user"]["email"] == EVE

    @pytest.mark.threat("V50", "V52")
    async def test_die_with_the_password(self, service: Service) -> None:
        ada = await enrol(service)
        first, pending = await trusted_device(service, ada), await challenge(service)
        body = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD}
        changed = await service.post("/change-password", body, headers=also(ada.session, TRUST, first))
        after_change = await count(service, TrustedDevice), await count(service, OneTimeToken)
        await service.post(
            "/change-password",
            {"currentPassword": NEW_PASSWORD, "newPassword": PASSWORD},
            headers=ada.session,
        )
        await trusted_device(service, ada)
        await service.post(
            "/reset-password", {"token": await reset_token(service), "newPassword": NEW_PASSWORD}
        )

        assert set_cookies(changed)[TRUST] == ""
        assert after_change[0] == 0
        assert refusal(await enter(service, "totp", "123456", bearer(pending))) == NO_CHALLENGE
        assert await count(service, TrustedDevice) == 0
        assert (await count(service, TwoFactor), await count(service, Session)) == (1, 0)

    @pytest.mark.threat("V26")
    async def test_of_others_are_left_alone(self, service: Service) -> None:
        await enrol(service)
        device = await trusted_device(service, await enrol(service, EVE))

        ada = await password_sign_in(service, headers=cookie(TRUST, device))
        eve = await password_sign_in(service, EVE, headers=cookie(TRUST, device))

        assert ada.json()["twoFactorRedirect"]
        assert TRUST not in set_cookies(ada)
        assert eve.json()["user"]["email"] == EVE

    @pytest.mark.threat("V52")
    async def test_end_after_thirty_days(self, service: Service) -> None:
        device = await trusted_device(service, await enrol(service))

        service.clock.advance(days=30)
        answer = await password_sign_in(service, headers=cookie(TRUST, device))

        assert answer.json()["twoFactorRedirect"]
        assert set_cookies(answer)[TRUST] == ""


class TestTheUsersEnd:
    async def test_takes_everything_along(self, service: Service) -> None:
        ada = await enrol(service)
        await trusted_device(service, ada)
        pending = bearer(await challenge(service))
        await mailed_code(service, pending)

        await act(service, "enable", ada.session)
        deleted = await service.post("/delete-user", {"password": PASSWORD}, headers=ada.session)

        assert deleted.status_code == 200
        for table in (TwoFactor, BackupCode, TrustedDevice, OneTimeToken):
            assert await count(service, table) == 0
        assert refusal(await enter(service, "totp", "123456", pending)) == NO_CHALLENGE


async def test_any_new_session_clears_a_pending_cookie(service: Service) -> None:
    ada: Owner = await enrol(service)
    await join(service, EVE)
    pending = cookie(PENDING, await challenge(service))

    other = await password_sign_in(service, EVE, headers=pending)
    new = await service.post(
        "/sign-up/email", {"name": "X", "email": "x@example.com", "password": PASSWORD}, headers=pending
    )

    assert set_cookies(other)[PENDING] == set_cookies(new)[PENDING] == ""
    assert code(await enter(service, "totp", ada.code(service), pending)) == "200"
