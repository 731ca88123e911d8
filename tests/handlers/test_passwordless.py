"""What links and codes by mail have in common, through the public door."""

import asyncio
import json

import pytest

from models import User
from tests.conftest import MakeService
from tests.handlers.mailed import (
    BY_MAIL,
    GRACE,
    PAGE,
    TEMPLATES,
    checked,
    code_for,
    events,
    link_to,
    open_link,
    use_code,
)
from tests.handlers.steps import (
    ADA,
    EVE,
    bearer,
    code,
    count,
    execute,
    join,
    looks,
    opens,
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

    async def test_the_audit_trail_counts_what_was_removed(self, service: Service) -> None:
        await join(service)
        await code_for(service, kind="email-verification")

        await use_code(service, await code_for(service))

        await service.services.audit_writer.flush()
        [row] = await service.rows(
            "SELECT user_id, actor_id, details FROM audit WHERE event = 'user.unproven_access_removed'"
        )
        details = json.loads(row.details) if isinstance(row.details, str) else row.details
        counted = {name: number for name, number in details.items() if number}
        # The verification link of the sign-up, and the code.
        assert counted == {"passwords": 1, "sessions": 1, "tokens": 3}
        assert row.user_id == row.actor_id is not None

    async def test_nothing_is_told_of_what_was_not_there(self, service: Service) -> None:
        await join(service)
        await execute(service, "DELETE FROM account")
        service.clock.advance(days=8)

        await use_code(service, await code_for(service))

        assert await service.inbox(ADA, "account-secured") == []
        assert "user.unproven_access_removed" not in await events(service)

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
