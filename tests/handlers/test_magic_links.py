"""The operations of openapi/paths/magic_links.yaml, through the public door."""

import asyncio
from typing import Any

import httpx
import pytest

from models import Account, User
from tests.conftest import MakeService
from tests.handlers.mailed import (
    BY_MAIL,
    GRACE,
    PAGE,
    code_for,
    events,
    link_to,
    open_link,
    use_code,
)
from tests.handlers.steps import (
    ADA,
    EVE,
    UNKNOWN,
    bearer,
    code,
    count,
    execute,
    join,
    local,
    opens,
    reduced,
    set_user,
    token_in,
    user_of,
    works,
)
from tests.security import second_factor
from tests.service import BASE_URL, PASSWORD, Service


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """The service with links and codes."""
    return await make_service(BY_MAIL)


@pytest.mark.operation("magic_links.request")
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


@pytest.mark.operation("magic_links.verify")
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


@pytest.mark.operation("magic_links.confirm")
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


@pytest.mark.operation("magic_links.peek")
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
    service = await make_service({"magic_links.enabled": "false"})

    for path in ("/sign-in/magic-link", "/magic-link/verify"):
        assert code(await service.post(path, {"email": ADA})) == "404 NOT_FOUND", path
