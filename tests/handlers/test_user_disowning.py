"""The link "This was not me": the emails that carry it, `/disown-account`, and its page."""

import json
import re
from typing import Any

import pytest

from domain.localization import LANGUAGES
from tests.conftest import Headers, MakeService
from tests.handlers.mailed import link_to
from tests.handlers.pages import SETTINGS, Browser
from tests.handlers.steps import ADA, EVE, NEW_PASSWORD, UNKNOWN, code, join, set_user, works
from tests.security.second_factor import Owner, enrol_again
from tests.service import BASE_URL, PASSWORD, Service
from tests.trail import only, trail

PATH = "/disown-account"
PAGE = f"{BASE_URL}/account/not-me?token="
BY_MAIL = {
    **SETTINGS,
    "magic_links.enabled": "true",
    "magic_links.page": "",
    "email_codes.enabled": "true",
    "api_keys.enabled": "true",
}


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """A service with hosted pages and sign-in by mail, whose cookies a browser keeps."""
    return await make_service(BY_MAIL)


def not_me_link(mail: dict[str, Any], page: str = PAGE) -> str | None:
    """Return the link of an email, None if it has none; text and HTML agree."""
    found = re.findall(re.escape(page) + r"[A-Za-z0-9]{32}", mail["text"])
    assert (found == []) == (page not in mail["html"])
    assert all(link in mail["html"] for link in found)
    return found[-1] if found else None


async def newest(service: Service, template: str, email: str = ADA) -> dict[str, Any]:
    mail: dict[str, Any] = (await service.inbox(email, template))[-1]
    return mail


async def not_me_token(service: Service, template: str = "verify-email", email: str = ADA) -> str:
    """Return the token of the link in the newest email of this template."""
    link = not_me_link(await newest(service, template, email))
    assert link is not None
    return link.removeprefix(PAGE)


async def disown(service: Service, token: str, **options: Any) -> str:
    return code(await service.post(PATH, {"token": token}, **options))


async def exists(service: Service, email: str = ADA) -> bool:
    return bool(await service.rows('SELECT id FROM "user" WHERE email = :email', email=email))


async def squat(service: Service, **more: Any) -> Owner:
    """Sign up with the address of somebody else, and stay."""
    return await settle(service, await join(service, **more))


async def settle(service: Service, session: Headers) -> Owner:
    """Create an API key, and turn on two-factor authentication."""
    service.client.cookies.clear()
    assert (await service.post("/api-key/create", {}, headers=session)).status_code == 200
    return await enrol_again(service, ADA, session)


@pytest.mark.operation("users.disown")
class TestOperation:
    async def test_deletes_the_user_with_everything(self, service: Service) -> None:
        stranger = await squat(service)
        token = await not_me_token(service)

        answer = await service.post(PATH, {"token": token})

        assert (answer.status_code, answer.json()) == (200, {"success": True})
        assert not await works(service, stranger.session)
        for table in ("user", "account", "session", "grant", "api_key", "two_factor"):
            assert await service.rows(f'SELECT 1 FROM "{table}"') == [], table
        await join(service, ADA, NEW_PASSWORD)

    async def test_is_audited_without_the_address(self, service: Service) -> None:
        await join(service)
        token = await not_me_token(service)

        await disown(service, token)

        [record] = await service.rows("SELECT * FROM audit WHERE event = 'user.disowned'")
        assert (record.outcome, record.user_id is None, record.actor_id) == ("success", False, None)
        kept = await service.rows("SELECT address, user_agent, details FROM audit WHERE user_id IS NOT NULL")
        assert {(row.address, row.user_agent) for row in kept} == {(None, None)}
        assert ADA not in json.dumps([str(row) for row in kept])

    @pytest.mark.parametrize("token", ["", "x", UNKNOWN, "2fa_" + UNKNOWN])
    async def test_another_token_is_not_valid(self, service: Service, token: str) -> None:
        await join(service)

        assert await disown(service, token) == "400 INVALID_TOKEN"
        assert await exists(service)

    async def test_a_token_is_required(self, service: Service) -> None:
        assert code(await service.post(PATH, {})) == "400 VALIDATION_ERROR"

    async def test_lives_for_seven_days(self, service: Service) -> None:
        await join(service)
        await join(service, EVE)
        tokens = {email: await not_me_token(service, email=email) for email in (ADA, EVE)}

        service.clock.advance(days=7, seconds=-1)
        assert await disown(service, tokens[ADA]) == "200"
        service.clock.advance(seconds=1)
        assert await disown(service, tokens[EVE]) == "400 INVALID_TOKEN"

    async def test_deletes_banned_users_and_where_users_cannot_delete_themselves(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"delete_user.enabled": "false"})
        await join(service)
        token = await not_me_token(service)
        await set_user(service, banned=True)

        assert await disown(service, token) == "200"
        assert not await exists(service)


class TestMails:
    async def test_every_mail_about_access_has_a_link_of_its_own(self, service: Service) -> None:
        await squat(service)
        await link_to(service)

        templates = ("verify-email", "api-key-created", "two-factor-changed", "magic-link")
        tokens = {await not_me_token(service, template) for template in templates}

        assert len(tokens) == len(templates)
        rows = await service.rows("SELECT digest, email FROM \"grant\" WHERE purpose = 'disown'")
        assert len(rows) == len(templates)
        assert {row.email for row in rows} == {ADA}

    async def test_a_newer_mail_of_the_kind_has_the_only_valid_link(self, service: Service) -> None:
        session = await join(service)
        older = await not_me_token(service)
        await service.post("/send-verification-email", {"email": ADA}, headers=session)
        newer = await not_me_token(service)

        assert newer != older
        assert await disown(service, older) == "400 INVALID_TOKEN"
        assert await disown(service, newer) == "200"

    async def test_no_other_mail_has_a_link(self, service: Service) -> None:
        session = await join(service)
        await service.post("/request-password-reset", {"email": ADA})
        changed = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD}
        await service.post("/change-password", changed, headers=session)
        await service.post("/email-otp/send-verification-otp", {"email": ADA, "type": "sign-in"})
        await service.post("/sign-in/magic-link", {"email": EVE})

        mails = [mail for mail in await service.inbox() if mail["template"] != "verify-email"]

        assert {mail["template"] for mail in mails} >= {
            *("reset-password", "password-changed", "sign-in-code", "magic-link")
        }
        assert [not_me_link(mail) for mail in mails] == [None] * len(mails)

    @pytest.mark.parametrize("language", LANGUAGES)
    async def test_speaks_the_language_of_the_mail(self, service: Service, language: str) -> None:
        await join(service, locale=language)

        mail = await newest(service, "verify-email")

        assert not_me_link(mail) is not None
        said = {
            "en": "Did you not create this account?",
            "de": "Haben Sie dieses Konto nicht erstellt?",
            "fr": "avez pas créé ce compte",
            "es": "¿No has creado tú esta cuenta?",
            "pt-BR": "Não foi você quem criou esta conta?",
            "ar": "ألم تنشئ هذا الحساب؟",
        }[language]
        assert said in " ".join(mail["text"].split())
        assert said in mail["html"]

    async def test_leads_to_the_page_of_the_application(self, make_service: MakeService) -> None:
        page = "https://app.example.com/not-me"
        service = await make_service(
            {
                "pages.enabled": "false",
                "oauth.enabled": "false",
                "mail.not_me_page": page,
                "trusted_origins": "https://app.example.com",
            }
        )
        await join(service)

        link = not_me_link(await newest(service, "verify-email"), f"{page}?token=")

        assert link is not None
        assert await disown(service, link.partition("token=")[2]) == "200"

    async def test_has_none_without_a_page(self, make_service: MakeService) -> None:
        service = await make_service({"pages.enabled": "false", "oauth.enabled": "false"})
        await join(service)

        assert "not-me" not in (await newest(service, "verify-email"))["text"]
        assert await service.rows("SELECT 1 FROM \"grant\" WHERE purpose IN ('disown', 'spent')") == []


@pytest.mark.operation("pages.show_not_me", "pages.disown")
class TestPage:
    async def test_says_what_goes_then_deletes_and_offers_to_sign_up(self, service: Service) -> None:
        await squat(service)
        token = await not_me_token(service)
        browser = Browser(service)

        page = await browser.open(f"/account/not-me?token={token}&callbackURL=%2Fwelcome")
        assert "a***@example.com" in page.text
        assert "all sessions and API keys" in page.text
        assert await exists(service)

        page = await browser.submit("/account/not-me")
        assert page.path.startswith("/account/not-me")
        assert "The account has been deleted" in page.text
        assert not await exists(service)

        page = await browser.open(page.links["Create your own account"])
        assert page.path == "/account/sign-up?callbackURL=%2Fwelcome"

    async def test_offers_no_sign_up_where_there_is_none(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "sign_up.enabled": "false"})

        page = await Browser(service).open("/account/not-me?reason=deleted")

        assert "Create your own account" not in page.links

    @pytest.mark.parametrize("query", ["", f"?token={UNKNOWN}", "?token=x"])
    async def test_says_that_a_link_is_no_longer_valid(self, service: Service, query: str) -> None:
        page = await Browser(service).open(f"/account/not-me{query}")

        assert (page.status, "This link is no longer valid" in page.text) == (200, True)

    async def test_a_link_that_has_expired_on_the_page_deletes_nothing(self, service: Service) -> None:
        await join(service)
        browser = Browser(service)
        await browser.open(f"/account/not-me?token={await not_me_token(service)}")
        service.clock.advance(days=7)

        page = await browser.submit("/account/not-me")

        assert (page.status, "Nothing was deleted" in page.text) == (422, True)
        assert await exists(service)


@pytest.mark.operation("pages.begin_disowning")
class TestSecondStep:
    async def pending(self, service: Service) -> Browser:
        """Sign in with a link, up to the second factor."""
        browser = Browser(service)
        token = await link_to(service)
        await browser.open(f"/account/magic-link?token={token}")
        page = await browser.submit("/account/magic-link")
        assert page.path.startswith("/account/two-factor")
        return browser

    async def test_leads_to_the_page(self, service: Service) -> None:
        stranger = await squat(service)
        browser = await self.pending(service)

        assert "I did not set this up" in browser.page.text
        page = await browser.submit("/account/two-factor/not-me")
        assert "a***@example.com" in page.text
        assert await works(service, stranger.session)

        page = await browser.submit("/account/not-me")
        assert "The account has been deleted" in page.text
        assert not await works(service, stranger.session)
        assert not await exists(service)

    async def test_the_sign_in_can_still_be_completed(self, service: Service) -> None:
        owner = await squat(service)
        browser = await self.pending(service)
        await browser.submit("/account/two-factor/not-me")

        await browser.open("/account/two-factor")
        page = await browser.submit("/account/two-factor", code=owner.code(service))

        assert page.path == "/account"

    async def test_is_for_as_long_as_the_sign_in_waits(self, service: Service) -> None:
        await squat(service)
        browser = await self.pending(service)
        page = await browser.submit("/account/two-factor/not-me")
        service.clock.advance(minutes=10)

        assert await disown(service, page.query["token"]) == "400 INVALID_TOKEN"

    async def test_is_not_shown_after_a_password_or_to_verified_users(self, service: Service) -> None:
        owner = await squat(service)
        browser = Browser(service)
        await browser.open("/account/sign-in")
        page = await browser.submit("/account/sign-in", identifier=ADA, password=PASSWORD)
        assert page.path.startswith("/account/two-factor")
        assert "I did not set this up" not in page.text

        await set_user(service, email_verified=True)
        browser = await self.pending(service)
        assert "I did not set this up" not in browser.page.text
        assert await works(service, owner.session)


async def test_the_audit_trail_does_not_say_that_the_operator_deleted(service: Service) -> None:
    await join(service)
    made = await service.post("/organization/create", {"name": "Acme", "slug": "acme"})
    assert made.status_code == 200, made.text
    token = await not_me_token(service)
    service.client.cookies.clear()

    assert await disown(service, token) == "200"

    assert "operator" not in {record.details.get("by") for record in await trail(service)}
    assert (await only(service, "organization.deleted")).actor_id is None
