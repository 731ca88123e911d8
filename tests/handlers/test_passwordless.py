"""The operations of openapi/paths/magic_links.yaml and email_codes.yaml, through the public door."""

import asyncio
from typing import Any

import httpx
import pytest

from models import Account, User
from tests.conftest import Headers, MakeService
from tests.handlers.steps import (
    ADA,
    EVE,
    NEW_ADDRESS,
    NEW_PASSWORD,
    UNKNOWN,
    bearer,
    code,
    count,
    execute,
    join,
    local,
    looks,
    opens,
    reduced,
    set_user,
    sign_in,
    token_in,
    user_of,
    works,
)
from tests.security import second_factor
from tests.service import BASE_URL, PASSWORD, Service

BY_MAIL = {
    "limits.sign_in_mail_burst": "100",
    "limits.sign_in_mail_daily": "100",
}
GRACE = "grace@example.com"
TEMPLATES = {
    "sign-in": "sign-in-code",
    "email-verification": "verify-email-code",
    "forget-password": "reset-password-code",
}
PAGE = {"Sec-Fetch-Mode": "navigate"}


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """The service with links and codes."""
    return await make_service(BY_MAIL)


async def link_to(service: Service, email: str = ADA, **more: Any) -> str:
    """Request a link; return its token."""
    answer = await service.post("/sign-in/magic-link", {"email": email, **more})
    assert (answer.status_code, answer.json()) == (200, {"status": True}), answer.text
    return token_in((await service.inbox(email, "magic-link"))[-1]["link"])


async def open_link(
    service: Service, token: str, headers: Headers | None = None, **urls: str
) -> httpx.Response:
    return await service.get("/magic-link/verify", params={"token": token, **urls}, headers=headers)


async def code_for(service: Service, email: str = ADA, kind: str = "sign-in") -> str:
    """Request a code; return the mailed digits."""
    answer = await service.post("/email-otp/send-verification-otp", {"email": email, "type": kind})
    assert (answer.status_code, answer.json()) == (200, {"success": True}), answer.text
    digits: str = (await service.inbox(email, TEMPLATES[kind]))[-1]["code"]
    return digits


def wrong(digits: str) -> str:
    return f"{(int(digits) + 1) % 1_000_000:06}"


async def use_code(service: Service, otp: Any, email: str = ADA, **more: Any) -> httpx.Response:
    return await service.post("/sign-in/email-otp", {"email": email, "otp": otp, **more})


async def checked(service: Service, otp: str, email: str = ADA, kind: str = "sign-in") -> str:
    return code(
        await service.post("/email-otp/check-verification-otp", {"email": email, "type": kind, "otp": otp})
    )


async def events(service: Service) -> list[str]:
    await service.services.audit_writer.flush()
    return [row.event for row in await service.rows("SELECT event FROM audit ORDER BY time, id")]


class TestRequestLink:
    async def test_mails_a_link_to_the_page_with_its_urls(self, service: Service) -> None:
        await join(service)

        await link_to(service, callbackURL="/welcome", newUserCallbackURL="/new", errorCallbackURL="/failed")

        [mail] = await service.inbox(ADA, "magic-link")
        url = httpx.URL(mail["link"])
        assert mail["link"].startswith(f"{BASE_URL}/confirm?lang=en&token=")
        assert {**url.params, "token": ""} == {
            "lang": "en",
            "token": "",
            "callbackURL": "/welcome",
            "newUserCallbackURL": "/new",
            "errorCallbackURL": "/failed",
        }
        assert mail["subject"] == "Your sign-in link"
        assert "magic_link.requested" in await events(service)

    @pytest.mark.threat("M4")
    async def test_mails_the_operation_itself_without_confirmation(self, make_service: MakeService) -> None:
        service = await make_service({**BY_MAIL, "magic_links.confirm": "false"})
        headers = {"Host": "evil.test", "X-Forwarded-Host": "evil.test", "Forwarded": "host=evil.test"}
        await service.post("/sign-in/magic-link", {"email": ADA}, headers=headers)
        [mail] = await service.inbox(ADA)
        assert mail["link"].startswith(f"{BASE_URL}/magic-link/verify?token=")

        answer = await service.get(local(mail["link"]), headers=PAGE)

        assert answer.status_code == 200, answer.text
        assert answer.json()["user"]["email"] == ADA

    @pytest.mark.threat("M7")
    @pytest.mark.parametrize(
        ("settings", "email"),
        [({"magic_links.sign_up": "false"}, EVE), ({"sign_up.enabled": "false"}, EVE), ({}, "banned")],
    )
    async def test_mails_nothing_that_could_not_sign_in(
        self, make_service: MakeService, settings: dict[str, str], email: str
    ) -> None:
        service = await make_service({**BY_MAIL, **settings})
        if email == "banned":
            email = ADA
            await join(service)
            await set_user(service, banned=True)

        answer = await service.post("/sign-in/magic-link", {"email": email})

        assert (answer.status_code, answer.json()) == (200, {"status": True})
        assert await service.inbox(email, "magic-link") == []

    @pytest.mark.threat("M3", "M22")
    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ({}, "400 VALIDATION_ERROR"),
            ({"email": "ada"}, "400 VALIDATION_ERROR"),
            ({"email": ADA, "name": "a\nb"}, "400 VALIDATION_ERROR"),
            ({"email": ADA, "name": "a\u202eb"}, "400 VALIDATION_ERROR"),
            ({"email": ADA, "rememberMe": "yes"}, "400 VALIDATION_ERROR"),
            ({"email": ADA, "metadata": {"any": 1}}, "200"),
            ({"email": ADA, "callbackURL": "https://evil.test"}, "403 INVALID_CALLBACK_URL"),
            ({"email": ADA, "newUserCallbackURL": "//evil.test"}, "403 INVALID_NEW_USER_CALLBACK_URL"),
            ({"email": ADA, "errorCallbackURL": "javascript:alert(1)"}, "403 INVALID_ERROR_CALLBACK_URL"),
        ],
    )
    async def test_checks_its_fields(self, service: Service, body: dict[str, Any], expected: str) -> None:
        assert code(await service.post("/sign-in/magic-link", body)) == expected
        assert len(await service.inbox(ADA)) == (expected == "200")


class TestVerifyLink:
    @pytest.mark.threat("M2")
    async def test_signs_in_once(self, service: Service) -> None:
        await join(service)
        await set_user(service, email_verified=True)
        token = await link_to(service)

        answer = await open_link(service, token)

        body = answer.json()
        assert sorted(body) == ["session", "token", "user"]
        assert answer.headers["set-auth-token"] == body["token"] == body["session"]["token"]
        assert answer.headers["set-cookie"].startswith(f"service.session-token={body['token']};")
        assert await user_of(service, bearer(body["token"])) == body["user"]
        assert code(await open_link(service, token)) == "401 INVALID_TOKEN"
        assert {"magic_link.refused", "sign_in.succeeded"} <= set(await events(service))
        methods = {row.method for row in await service.rows("SELECT method FROM session")}
        assert methods == {"password", "magic_link"}

    async def test_creates_a_user_with_the_name_of_the_request(self, service: Service) -> None:
        token = await link_to(service, "GRACE@example.com".lower(), name="Grace Hopper", rememberMe=False)

        body = (await open_link(service, token)).json()

        [mail] = await service.inbox(GRACE)
        assert mail["text"].startswith("Hello,\n")
        assert (body["user"]["name"], body["user"]["emailVerified"]) == ("Grace Hopper", True)
        assert await count(service, Account) == 0
        [row] = await service.rows("SELECT remembered FROM session")
        assert not row.remembered

    @pytest.mark.threat("M1", "M8")
    async def test_a_browser_that_opens_it_is_sent_to_the_page(self, service: Service) -> None:
        token = await link_to(service)

        for headers in (
            PAGE,
            {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"},
            {"Sec-Purpose": "prefetch", "Sec-Fetch-Mode": "no-cors"},
        ):
            answer = await open_link(service, token, headers, callbackURL="/welcome")
            page = f"{BASE_URL}/confirm?lang=en&token={token}&callbackURL=%2Fwelcome"
            assert (answer.status_code, answer.headers["location"]) == (302, page)
            assert "set-cookie" not in answer.headers
        head = await service.client.head("/magic-link/verify", params={"token": token})
        assert head.status_code == 405
        assert (await open_link(service, token)).status_code == 200

    @pytest.mark.parametrize("is_new", [True, False])
    async def test_redirects_with_a_session(self, service: Service, is_new: bool) -> None:
        if not is_new:
            await join(service)
        token = await link_to(service)

        answer = await open_link(service, token, callbackURL="/welcome", newUserCallbackURL="/new")

        assert answer.status_code == 302
        assert answer.headers["location"] == BASE_URL + ("/new" if is_new else "/welcome")
        assert "service.session-token=" in answer.headers["set-cookie"]

    @pytest.mark.threat("M2", "M7", "M17")
    @pytest.mark.parametrize(
        ("state", "error", "status"),
        [
            ("expired", "INVALID_TOKEN", "401 INVALID_TOKEN"),
            ("unknown", "INVALID_TOKEN", "401 INVALID_TOKEN"),
            ("banned", "BANNED_USER", "403 BANNED_USER"),
            ("deleted", "new_user_signup_disabled", "403 NEW_USER_SIGNUP_DISABLED"),
        ],
    )
    async def test_refusals_are_json_or_redirects_and_keep_the_link_used(
        self, make_service: MakeService, state: str, error: str, status: str
    ) -> None:
        service = await make_service({**BY_MAIL, "magic_links.sign_up": "false"})
        await join(service)
        first, second = await link_to(service), await link_to(service)
        if state == "expired":
            service.clock.advance(minutes=10)
        elif state == "banned":
            await set_user(service, banned=True)
        elif state == "deleted":
            await execute(service, 'UPDATE "grant" SET user_id = NULL')
            await execute(service, 'DELETE FROM "user"')
        else:
            first = second = UNKNOWN

        redirected = await open_link(service, first, callbackURL="/a", errorCallbackURL="/failed?x=1")

        assert redirected.headers["location"] == f"{BASE_URL}/failed?x=1&error={error}"
        assert code(await open_link(service, second)) == status
        assert code(await open_link(service, first)) == "401 INVALID_TOKEN"
        assert code(await open_link(service, second)) == "401 INVALID_TOKEN"

    async def test_ends_the_other_links_and_codes(self, service: Service) -> None:
        await join(service)
        older, newer, digits = await link_to(service), await link_to(service), await code_for(service)
        assert (await open_link(service, older)).status_code == 200

        assert code(await open_link(service, newer)) == "401 INVALID_TOKEN"
        assert code(await use_code(service, digits)) == "400 INVALID_OTP"


class TestConfirmLink:
    @pytest.mark.parametrize(
        ("urls", "url"),
        [
            ({}, f"{BASE_URL}/"),
            ({"callbackURL": "/welcome", "newUserCallbackURL": ""}, f"{BASE_URL}/welcome"),
        ],
    )
    async def test_signs_in_and_says_where_to_go(
        self, service: Service, urls: dict[str, str], url: str
    ) -> None:
        token = await link_to(service)

        answer = await service.post("/magic-link/verify", {"token": token, **urls})

        body = answer.json()
        user = await user_of(service, bearer(body["token"]))
        assert body == {"redirect": True, "url": url, "token": body["token"], "user": reduced(user)}
        assert code(await service.post("/magic-link/verify", {"token": token})) == "401 INVALID_TOKEN"


@pytest.mark.threat("M2")
async def test_peek_shows_the_masked_address(service: Service) -> None:
    token = await link_to(service)
    for is_new in (True, False):
        answer = await service.get("/magic-link/peek", params={"token": token})
        assert answer.json() == {"email": "a***@example.com", "newUser": is_new}
        await join(service) if is_new else None
    assert code(await service.get("/magic-link/peek", params={"token": UNKNOWN})) == "401 INVALID_TOKEN"

    service.clock.advance(minutes=10)
    assert code(await service.get("/magic-link/peek", params={"token": token})) == "401 INVALID_TOKEN"


class TestCodes:
    @pytest.mark.threat("M11")
    async def test_signs_in_once(self, service: Service) -> None:
        await join(service)
        digits = await code_for(service)

        assert await checked(service, digits, "Ada@Example.com") == "200"
        answer = await use_code(service, digits, "ADA@EXAMPLE.COM")

        body = answer.json()
        user = await user_of(service, bearer(body["token"]))
        assert (user["email"], await count(service, User)) == (ADA, 1)
        assert body == {"token": body["token"], "user": reduced(user)}
        assert answer.headers["set-auth-token"] == body["token"]
        assert code(await use_code(service, digits)) == "400 INVALID_OTP"

    async def test_creates_a_user(self, service: Service) -> None:
        digits = await code_for(service, GRACE)

        body = (await use_code(service, digits, GRACE, name="Grace", image="https://a.test/b.png")).json()

        user = await user_of(service, bearer(body["token"]))
        made = (user["name"], user["image"], user["emailVerified"])
        assert made == ("Grace", "https://a.test/b.png", True)

    @pytest.mark.threat("M10")
    @pytest.mark.parametrize("kind", TEMPLATES)
    async def test_three_attempts(self, service: Service, kind: str) -> None:
        await join(service)
        digits = await code_for(service, ADA, kind)

        answers = [await checked(service, wrong(digits), kind=kind) for _ in range(3)]
        answers += [await checked(service, digits, kind=kind) for _ in range(2)]

        assert answers == [*["400 INVALID_OTP"] * 3, "403 TOO_MANY_ATTEMPTS", "400 INVALID_OTP"]
        assert "email_code.exhausted" in await events(service)

    async def test_checking_gives_a_right_attempt_back(self, service: Service) -> None:
        digits = await code_for(service)

        assert [await checked(service, digits) for _ in range(5)] == ["200"] * 5
        assert (await use_code(service, digits)).status_code == 200

    @pytest.mark.both_databases
    async def test_a_new_code_replaces_the_older_one(self, service: Service) -> None:
        older = await code_for(service)
        await checked(service, wrong(older))
        newer = await code_for(service)

        assert await checked(service, newer) == "200"
        if older != newer:
            assert await checked(service, older) == "400 INVALID_OTP"
        [row] = await service.rows('SELECT attempts FROM "grant"')
        assert row.attempts == (older != newer)

    @pytest.mark.threat("M12")
    async def test_the_form_of_a_code(self, service: Service) -> None:
        await code_for(service)
        unsound_codes: list[Any] = [123456, ["123456"], {}, None, "", "1" * 33]

        for unsound in unsound_codes:
            assert code(await use_code(service, unsound)) == "400 VALIDATION_ERROR", unsound
        for no_digits in ("\uff11\uff12\uff13\uff14\uff15\uff16", "12345a"):
            assert code(await use_code(service, no_digits)) == "400 INVALID_OTP", no_digits
        for kind in ("change-email", "", ["sign-in"], None):
            sent = await service.post("/email-otp/send-verification-otp", {"email": ADA, "type": kind})
            assert code(sent) == "400 VALIDATION_ERROR", kind

    async def test_verifies_the_address_and_opens_no_session(self, service: Service) -> None:
        session = await join(service)
        digits = await code_for(service, kind="email-verification")

        answer = await service.post("/email-otp/verify-email", {"email": ADA, "otp": digits})

        user = await user_of(service, session)
        assert answer.json() == {"status": True, "token": None, "user": user}
        assert user["emailVerified"]
        assert "set-cookie" not in answer.headers
        assert await opens(service, PASSWORD)

    @pytest.mark.threat("M10")
    async def test_wrong_codes_count_as_failures(self, make_service: MakeService) -> None:
        service = await make_service({**BY_MAIL, "limits.failures": "2"})
        await join(service)
        digits = await code_for(service)

        answers = [code(await use_code(service, wrong(digits))) for _ in range(3)]

        assert answers == ["400 INVALID_OTP", "400 INVALID_OTP", "429 TOO_MANY_REQUESTS"]
        assert code(await use_code(service, digits)) == "429 TOO_MANY_REQUESTS"
        assert code(await sign_in(service)) == "429 TOO_MANY_REQUESTS"


class TestReset:
    @pytest.mark.threat("M18")
    @pytest.mark.parametrize("path", ["/email-otp/request-password-reset", "/forget-password/email-otp"])
    async def test_replaces_the_password(self, service: Service, path: str) -> None:
        session = await join(service)
        assert (await service.post(path, {"email": ADA})).json() == {"success": True}
        digits = (await service.inbox(ADA, "reset-password-code"))[-1]["code"]
        body = {"email": ADA, "otp": digits}

        for password, expected in (
            ("short", "400 PASSWORD_TOO_SHORT"),
            ("password1", "400 PASSWORD_TOO_COMMON"),
            ("password1", "400 PASSWORD_TOO_COMMON"),
            ("password1", "400 PASSWORD_TOO_COMMON"),
            (NEW_PASSWORD, "200"),
            (NEW_PASSWORD, "400 INVALID_OTP"),
        ):
            answer = await service.post("/email-otp/reset-password", {**body, "password": password})
            assert code(answer) == expected

        assert not await works(service, session)
        assert await opens(service, NEW_PASSWORD)
        assert await service.inbox(ADA, "password-changed")

    @pytest.mark.threat("M18")
    @pytest.mark.both_databases
    async def test_two_at_once(self, service: Service) -> None:
        await join(service)
        body = {"email": ADA, "otp": await code_for(service, kind="forget-password")}

        answers = await asyncio.gather(
            *(
                service.post("/email-otp/reset-password", {**body, "password": f"{NEW_PASSWORD} {n}"})
                for n in range(2)
            )
        )

        assert sorted(code(answer) for answer in answers) == ["200", "400 INVALID_OTP"]

    async def test_is_off_without_a_sender(self, make_service: MakeService) -> None:
        service = await make_service({**BY_MAIL, "password_reset.sender": "none"})
        body = {"email": ADA, "otp": "123456", "password": NEW_PASSWORD, "type": "forget-password"}

        for path in ("request-password-reset", "reset-password", "send-verification-otp"):
            assert code(await service.post(f"/email-otp/{path}", body)) == "400 RESET_PASSWORD_DISABLED"


class TestChangeEmail:
    @pytest.mark.threat("M11", "M17")
    async def test_changes_the_address(self, service: Service) -> None:
        session = await join(service)
        older, stray = await link_to(service), await link_to(service, NEW_ADDRESS)
        answer = await service.post(
            "/email-otp/request-email-change", {"newEmail": NEW_ADDRESS}, headers=session
        )
        assert answer.json() == {"success": True}
        body = {
            "newEmail": NEW_ADDRESS,
            "otp": (await service.inbox(NEW_ADDRESS, "change-email-code"))[-1]["code"],
        }
        other = await join(service, EVE)
        assert code(await service.post("/email-otp/change-email", body, headers=other)) == "400 INVALID_OTP"

        answer = await service.post("/email-otp/change-email", body, headers=session)

        user = await user_of(service, session)
        assert (answer.json(), user["email"], user["emailVerified"]) == ({"success": True}, NEW_ADDRESS, True)
        assert await service.inbox(ADA, "email-changed")
        for link in (older, stray):
            assert code(await open_link(service, link)) == "401 INVALID_TOKEN"

    @pytest.mark.threat("M19")
    async def test_a_taken_address_gets_no_mail(self, service: Service) -> None:
        session = await join(service)
        await join(service, EVE)

        answer = await service.post("/email-otp/request-email-change", {"newEmail": EVE}, headers=session)

        assert answer.json() == {"success": True}
        assert await service.inbox(EVE, "change-email-code") == []
        body = {"newEmail": EVE, "otp": "123456"}
        answers = [
            code(await service.post("/email-otp/change-email", body, headers=session)) for _ in range(4)
        ]
        assert answers == [*["400 INVALID_OTP"] * 3, "403 TOO_MANY_ATTEMPTS"]

    async def test_may_need_a_code_of_the_present_address(self, make_service: MakeService) -> None:
        service = await make_service({**BY_MAIL, "email_codes.verify_current_email": "true"})
        session = await join(service)
        await set_user(service, email_verified=True)
        body = {"newEmail": NEW_ADDRESS}

        async def ask(**more: str) -> str:
            return code(
                await service.post("/email-otp/request-email-change", {**body, **more}, headers=session)
            )

        assert await ask() == "400 VALIDATION_ERROR"
        assert await ask(otp="123456") == "400 INVALID_OTP"
        digits = await code_for(service, kind="email-verification")
        assert [await ask(otp=digits) for _ in range(2)] == ["200", "400 INVALID_OTP"]
        assert await service.inbox(NEW_ADDRESS, "change-email-code")

    @pytest.mark.parametrize(
        ("settings", "new", "expected"),
        [
            ({"change_email.enabled": "false"}, NEW_ADDRESS, "400 CHANGE_EMAIL_DISABLED"),
            ({}, ADA, "400 VALIDATION_ERROR"),
        ],
    )
    async def test_refusals(
        self, make_service: MakeService, settings: dict[str, str], new: str, expected: str
    ) -> None:
        service = await make_service({**BY_MAIL, **settings})
        session = await join(service)

        for path in ("request-email-change", "change-email"):
            body = {"newEmail": new, "otp": "123456"}
            assert code(await service.post(f"/email-otp/{path}", body, headers=session)) == expected


class TestUnprovenAccounts:
    @pytest.mark.threat("M5")
    @pytest.mark.both_databases
    async def test_a_strangers_ways_in_die(self, service: Service) -> None:
        stranger = await join(service)

        answer = await use_code(service, await code_for(service))

        assert answer.status_code == 200
        assert not await works(service, stranger)
        assert not await opens(service, PASSWORD)
        assert (await user_of(service, bearer(answer.json()["token"])))["emailVerified"]
        [notice] = await service.inbox(ADA, "account-secured")
        assert "ways to sign in: 1" in notice["text"]
        assert "user.unproven_access_removed" in await events(service)

    async def test_a_verified_account_keeps_everything(self, service: Service) -> None:
        session = await join(service)
        await set_user(service, email_verified=True)

        assert (await open_link(service, await link_to(service))).status_code == 200

        assert await works(service, session)
        assert await opens(service, PASSWORD)
        assert await service.inbox(ADA, "account-secured") == []


class TestAttacks:
    @pytest.mark.threat("M2")
    async def test_altered_tokens_are_no_links(self, service: Service) -> None:
        token = await link_to(service)

        for other in (token.swapcase(), token[:-1], token + "a", ""):
            assert code(await service.get("/magic-link/peek", params={"token": other})) == "401 INVALID_TOKEN"
            assert code(await open_link(service, other)) == "401 INVALID_TOKEN"
        assert (await open_link(service, token)).status_code == 200

    async def test_without_a_page_of_the_operators_links_lead_to_the_hosted_one(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({**BY_MAIL, "magic_links.page": ""})

        await service.post("/sign-in/magic-link", {"email": ADA, "callbackURL": "/welcome"})

        [mail] = await service.inbox(ADA)
        token = token_in(mail["link"])
        query = f"token={token}&callbackURL=%2Fwelcome"
        assert mail["link"] == f"{BASE_URL}/account/magic-link?{query}"
        opened = await service.get(f"/magic-link/verify?{query}", headers=PAGE)
        assert (opened.status_code, opened.headers["location"]) == (302, mail["link"])

    @pytest.mark.threat("M9")
    async def test_tokens_and_codes_are_not_stored(self, service: Service) -> None:
        token, digits = await link_to(service, EVE), await code_for(service)
        for table in ("grant", "outbox", "audit"):
            rows = str(await service.rows(f'SELECT * FROM "{table}"'))
            assert token not in rows
            assert f"'{digits}'" not in rows

    @pytest.mark.threat("M13")
    async def test_requests_look_alike(self, service: Service) -> None:
        await join(service)
        await join(service, EVE)
        await set_user(service, EVE, banned=True)
        for path, body in (
            ("/sign-in/magic-link", {}),
            *(("/email-otp/send-verification-otp", {"type": kind}) for kind in TEMPLATES),
            ("/email-otp/request-password-reset", {}),
        ):
            answers = [await service.post(path, {"email": email, **body}) for email in (ADA, EVE, GRACE)]
            assert len({str(looks(answer)) for answer in answers}) == 1

    @pytest.mark.threat("M14", "M15")
    async def test_sign_in_mails_have_a_limit_of_their_own(self, make_service: MakeService) -> None:
        service = await make_service({**BY_MAIL, "limits.sign_in_mail_burst": "2"})
        await join(service)
        await service.inbox(ADA)
        token = await link_to(service)
        digits = await code_for(service)

        for _ in range(3):
            await service.post("/sign-in/magic-link", {"email": ADA})
            await service.post("/email-otp/send-verification-otp", {"email": ADA, "type": "sign-in"})

        mailed = [mail["template"] for mail in await service.inbox(ADA)]
        assert mailed.count("magic-link") + mailed.count("sign-in-code") == 2
        assert await checked(service, digits) == "200"
        assert await code_for(service, kind="forget-password")
        assert await opens(service, PASSWORD)
        assert (await open_link(service, token)).status_code == 200

    @pytest.mark.threat("M14")
    async def test_the_day_has_a_number_of_sign_in_mails(self, make_service: MakeService) -> None:
        service = await make_service({**BY_MAIL, "limits.sign_in_mail_daily": "3"})

        for _ in range(5):
            await service.post("/email-otp/send-verification-otp", {"email": ADA, "type": "sign-in"})
            await service.inbox(ADA)
            service.clock.advance(minutes=20)

        assert len(await service.inbox(ADA, "sign-in-code")) == 3

    @pytest.mark.threat("M21")
    @pytest.mark.both_databases
    async def test_a_link_and_a_sign_up_at_once_make_one_user(self, service: Service) -> None:
        for number in range(6):
            email = f"user{number}@example.com"
            token = await link_to(service, email)
            body = {"name": "Ada", "email": email, "password": PASSWORD}
            both = [open_link(service, token), service.post("/sign-up/email", body)]

            answers = await asyncio.gather(*both[:: 1 if number % 2 else -1])

            assert 200 in {answer.status_code for answer in answers}
            assert await count(service, User) == number + 1
            assert not await opens(service, PASSWORD, email)


class TestTwoFactor:
    @pytest.mark.threat("M6", "M16")
    @pytest.mark.parametrize(
        ("way", "is_verified"), [("link", False), ("code", False), ("press", False), ("link", True)]
    )
    async def test_a_mailbox_is_one_factor(self, service: Service, way: str, is_verified: bool) -> None:
        owner = await second_factor.enrol(service)
        await set_user(service, email_verified=is_verified)
        if way == "code":
            answer = await use_code(service, await code_for(service))
        elif way == "link":
            answer = await open_link(service, await link_to(service))
        else:
            answer = await service.post("/magic-link/verify", {"token": await link_to(service)})
        body = answer.json()
        assert (body["twoFactorMethods"], body["redirect"]) == (["totp"], way == "press")
        assert body["url"] == (f"{BASE_URL}/?twoFactorRedirect=true" if way == "press" else None)
        pending = bearer(body["token"])

        sent = await service.post("/two-factor/send-otp", headers=pending)
        tried = await service.post("/two-factor/verify-otp", {"code": "123456"}, headers=pending)

        assert (code(sent), code(tried)) == ("400 OTP_NOT_CONFIGURED", "400 OTP_NOT_CONFIGURED")
        service.clock.advance(seconds=30)
        right = {"code": owner.code(service)}
        assert (await service.post("/two-factor/verify-totp", right, headers=pending)).status_code == 200
        assert await works(service, owner.session)
        assert await opens(service, PASSWORD)

    async def test_a_link_with_a_url_redirects_to_the_second_factor(self, service: Service) -> None:
        await second_factor.enrol(service)

        answer = await open_link(service, await link_to(service), callbackURL="/welcome")

        assert answer.headers["location"] == f"{BASE_URL}/welcome?twoFactorRedirect=true"
        assert "service.two-factor=2fa_" in answer.headers["set-cookie"]


async def test_is_off_by_the_settings(make_service: MakeService) -> None:
    service = await make_service({"magic_links.enabled": "false", "email_codes.enabled": "false"})

    for path in (
        "/sign-in/magic-link",
        "/magic-link/verify",
        "/sign-in/email-otp",
        "/email-otp/change-email",
    ):
        assert code(await service.post(path, {"email": ADA})) == "404 NOT_FOUND", path
