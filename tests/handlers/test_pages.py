"""The operations of openapi/paths/pages.yaml, through the public door and without scripts."""

import re
from itertools import product
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from models import Session, User
from server.config.sources import ConfigurationError
from server.services import load_settings
from tests.conftest import MakeService
from tests.handlers import sso_steps, steps
from tests.handlers.pages import APP, SETTINGS, Browser, Page, act_as, send, signed_in, stored_user
from tests.handlers.steps import ADA, EVE, bearer, count, execute, join, set_user, sign_in, token_in, works
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.labs.provider.steps import as_user
from tests.security.second_factor import Owner, enrol_again
from tests.service import BASE_URL, PASSWORD, Service
from tests.settings.api_keys import VERIFIER

WELCOME = f"{APP}/welcome?from=sign-in"
UNVERIFIED = {**SETTINGS, "email_verification.required": "true"}
SIGN_IN, SIGN_UP, RESET = "/account/sign-in", "/account/sign-up", "/account/reset-password"
NEW = "nine green boats"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service(SETTINGS)


@pytest.fixture
def browser(service: Service) -> Browser:
    return Browser(service)


def at(page: str, **query: str) -> str:
    asked = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
    return f"/account{page}?{asked}" if asked else f"/account{page}"


@pytest.mark.operation("pages.show_sign_in", "pages.sign_in")
class TestSignIn:
    async def test_signs_in_and_leads_back_to_the_application(
        self, service: Service, browser: Browser
    ) -> None:
        await join(service)
        service.client.cookies.clear()
        await browser.open(at("/sign-in", callbackURL=WELCOME))

        page = await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)

        assert page.path == WELCOME
        assert await signed_in(service) == ADA

    async def test_an_address_without_a_page_is_answered_with_a_page(self, browser: Browser) -> None:
        page = await browser.open("/account/sign-inn")

        assert (page.status, page.language) == (404, "en")
        assert "This page does not exist." in page.text

    async def test_takes_a_username(self, service: Service, browser: Browser) -> None:
        await service.post(
            "/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD, "username": "ada"}
        )
        service.client.cookies.clear()
        await browser.open(SIGN_IN)

        await browser.submit(SIGN_IN, identifier=" ada ", password=PASSWORD)

        assert await signed_in(service) == ADA

    @pytest.mark.threat("H14")
    async def test_says_the_same_of_a_wrong_password_and_of_nobody(
        self, service: Service, browser: Browser
    ) -> None:
        await join(service)
        service.client.cookies.clear()
        await browser.open(SIGN_IN)

        for identifier in (ADA, "nobody@example.com", "nobody"):
            page = await browser.submit(SIGN_IN, identifier=identifier, password="wrong one")
            assert page.status == 422
            assert "These details do not match an account." in page.text
            assert page.title.startswith("Error: ")
            assert page.inputs["identifier"]["value"] == identifier
            assert not page.inputs["password"].get("value")

        assert await signed_in(service) is None

    async def test_says_what_is_missing_beside_the_field(self, browser: Browser) -> None:
        await browser.open(SIGN_IN)

        page = await browser.submit(SIGN_IN)

        assert page.status == 422
        assert page.links["Enter your password."] == "#password"
        assert page.inputs["password"]["aria-describedby"] == "password-error"
        assert page.inputs["password"]["aria-invalid"] == "true"

    @pytest.mark.operation("pages.send_verification_email")
    async def test_offers_a_new_link_to_who_is_not_verified(self, make_service: MakeService) -> None:
        service = await make_service(UNVERIFIED)
        browser = Browser(service)
        await service.post("/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD})
        await browser.open(SIGN_IN)

        page = await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)
        assert "Verify your email address before you sign in" in page.text
        await browser.submit("/account/verify-email/send")

        assert "Check your email" in browser.page.text
        assert len(await service.inbox(ADA, "verify-email")) >= 2

    async def test_says_when_to_try_again(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "limits.requests": "1"})
        await send(service, SIGN_IN, identifier=ADA, password="wrong one")

        page = await send(service, SIGN_IN, identifier=ADA, password="wrong one")

        assert page.status_code == 429
        assert "Try again in 1 minute." in page.text
        assert int(page.headers["retry-after"]) > 0

    async def test_asks_who_is_signed_in_whether_to_go_on(self, service: Service, browser: Browser) -> None:
        await join(service)

        page = await browser.open(at("/sign-in", callbackURL=WELCOME))

        assert "Continue as Ada" in page.text
        assert page.links["Continue"] == WELCOME
        assert "prompt=login" in page.links["Use another account"]

    async def test_keeps_a_session_only_as_long_as_the_browser_is_open(
        self, service: Service, browser: Browser
    ) -> None:
        await join(service)
        service.client.cookies.clear()
        fields = (await browser.open(SIGN_IN)).form(SIGN_IN).fields
        del fields["rememberMe"]

        answer = await send(service, SIGN_IN, **{**fields, "identifier": ADA, "password": PASSWORD})

        assert "Max-Age" not in answer.headers["set-cookie"]


@pytest.mark.operation("pages.send_two_factor_code", "pages.show_two_factor", "pages.verify_two_factor")
class TestSecondFactor:
    async def test_asks_for_a_code_and_leads_back(self, service: Service, browser: Browser) -> None:
        owner = await enrolled(service)
        await browser.open(at("/sign-in", callbackURL=WELCOME))

        page = await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)
        assert page.path.startswith("/account/two-factor")
        assert page.inputs["code"]["autocomplete"] == "one-time-code"
        assert page.inputs["code"]["inputmode"] == "numeric"
        page = await browser.submit("/account/two-factor", code="000 000")
        assert page.status == 422
        assert "This code is not right." in page.text
        assert await signed_in(service) is None
        page = await browser.submit("/account/two-factor", code=owner.code(service))

        assert page.path == WELCOME
        assert await signed_in(service) == ADA

    async def test_sends_a_code_by_email(self, service: Service, browser: Browser) -> None:
        await enrolled(service)
        await browser.open(SIGN_IN)
        page = await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)
        await browser.open(page.links["Get a code by email"])

        await browser.submit("/account/two-factor/code")
        code = (await service.inbox(ADA, "otp"))[-1]["code"]
        await browser.submit("/account/two-factor", code=code)

        assert await signed_in(service) == ADA

    async def test_takes_a_backup_code(self, service: Service, browser: Browser) -> None:
        owner = await enrolled(service)
        await browser.open(SIGN_IN)
        page = await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)
        await browser.open(page.links["Use a backup code"])

        await browser.submit("/account/two-factor", code=owner.backup_codes[0])

        assert await signed_in(service) == ADA

    async def test_leads_to_the_sign_in_page_when_it_took_too_long(
        self, service: Service, browser: Browser
    ) -> None:
        owner = await enrolled(service)
        await browser.open(at("/sign-in", callbackURL=WELCOME, ui_locales="de"))
        await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)
        service.clock.advance(hours=1)

        page = await browser.submit("/account/two-factor", code=owner.code(service))

        assert page.query == {"callbackURL": WELCOME, "ui_locales": "de", "reason": "expired"}
        assert page.language == "de"
        page = await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)
        page = await browser.submit("/account/two-factor", code=owner.code(service))
        assert page.path == WELCOME

    async def test_says_when_codes_are_accepted_again(self, service: Service, browser: Browser) -> None:
        await enrolled(service)
        await browser.open(SIGN_IN)
        await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)
        while browser.page.path.startswith("/account/two-factor") and "too many" not in browser.page.text:
            await browser.submit("/account/two-factor", code="000000")
            if "too often" in browser.page.text:
                await browser.open(SIGN_IN)
                await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)

        assert re.search(r"too many wrong codes\. Try again in \d+ minutes\.", browser.page.text)


@pytest.mark.operation("pages.show_error")
class TestProviderError:
    async def test_says_what_happened_and_leads_on(self, browser: Browser) -> None:
        sentences = {
            "access_denied": "You did not allow the sign-in.",
            "account_not_linked": "There is an account with this email address already.",
            "state_mismatch": "This sign-in took too long or was finished elsewhere.",
            "server_error": "The provider or this service could not complete it.",
        }
        for error, sentence in sentences.items():
            page = await browser.open(at("/error", error=error, callbackURL=WELCOME))
            assert sentence in page.text
            assert f"Error: {error}" in page.text
        page = await browser.open(page.links["Back to the sign-in page"])
        assert page.query == {"callbackURL": WELCOME}


@pytest.mark.operation("pages.sign_in_with_provider")
class TestProviders:
    async def test_lead_through_the_provider_to_the_application(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_service({**SETTINGS, **social_settings(provider)})
        browser = Browser(service)
        as_user(provider, ADA, "1001")
        await browser.open(at("/sign-in", callbackURL=WELCOME))

        page = await browser.submit("/account/sign-in/provider", provider="test")
        assert page.status == 200
        async with httpx.AsyncClient(trust_env=False, timeout=30) as stranger:
            back = await stranger.get(page.refresh)
        page = await browser.open(back.headers["location"])

        assert page.path == WELCOME
        assert await signed_in(service) == ADA

    async def test_that_do_not_exist_are_refused(self, browser: Browser) -> None:
        answer = await send(browser.service, "/account/sign-in/provider", provider="nobody")

        assert answer.status_code == 422
        assert await signed_in(browser.service) is None


@pytest.mark.operation("pages.show_sso_sign_in", "pages.sign_in_with_sso")
class TestOrganizations:
    async def test_lead_through_their_own_sign_in_to_the_application(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_service(SETTINGS)
        await sso_steps.connect(service, sso_steps.oidc(provider), provider.issuer)
        browser = Browser(service)
        as_user(provider, sso_steps.ADA, "acme-1")
        await browser.open(at("/sign-in", callbackURL=WELCOME))
        await browser.open(browser.page.links["Sign in with your organization"])

        page = await browser.submit("/account/sign-in/sso", email=sso_steps.ADA)
        assert page.status == 200
        async with httpx.AsyncClient(trust_env=False, timeout=30) as stranger:
            back = await stranger.get(page.refresh)
        page = await browser.open(back.headers["location"])

        assert page.path == WELCOME
        assert await signed_in(service) == sso_steps.ADA

    async def test_that_create_nobody_create_nobody_here(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_service(SETTINGS)
        await sso_steps.connect(service, sso_steps.oidc(provider), provider.issuer, sign_up=False)
        browser = Browser(service)
        as_user(provider, sso_steps.ADA, "acme-1")
        await browser.open(at("/sign-in/sso", callbackURL=WELCOME))

        page = await browser.submit("/account/sign-in/sso", email=sso_steps.ADA)
        async with httpx.AsyncClient(trust_env=False, timeout=30) as stranger:
            back = await stranger.get(page.refresh)
        page = await browser.open(back.headers["location"])

        assert page.path.startswith("/account/error?")
        assert "error=signup_disabled" in page.path
        assert not await service.rows('SELECT id FROM "user"')

    async def test_that_are_not_known_are_named(self, service: Service, browser: Browser) -> None:
        await browser.open(at("/sign-in/sso", email="eve@nowhere.example"))

        page = await browser.submit("/account/sign-in/sso", email="eve@nowhere.example")

        assert page.status == 422
        assert "No organization signs in with this email address here." in page.text

    async def test_that_require_their_sign_in_refuse_passwords(
        self, service: Service, browser: Browser, provider: ProviderProcess
    ) -> None:
        await join(service, sso_steps.ADA)
        service.client.cookies.clear()
        await sso_steps.connect(service, sso_steps.oidc(provider), provider.issuer, required=True)
        await browser.open(at("/sign-in", callbackURL=WELCOME))

        page = await browser.submit("/account/sign-in", identifier=sso_steps.ADA, password=PASSWORD)

        assert page.status == 422
        assert "Your organization wants you to sign in through its own sign-in." in page.text
        page = await browser.open(page.links["Sign in with your organization"])
        assert page.form("/account/sign-in/sso").fields["email"] == sso_steps.ADA


@pytest.mark.operation("pages.show_sign_up", "pages.sign_up")
class TestSignUp:
    async def test_signs_up_and_in(self, service: Service, browser: Browser) -> None:
        await browser.open(at("/sign-up", callbackURL=WELCOME))

        page = await browser.submit(SIGN_UP, name="Ada", email=ADA, password=PASSWORD)

        assert page.path == WELCOME
        assert await signed_in(service) == ADA

    async def test_verifies_by_a_click_and_carries_the_target(self, make_service: MakeService) -> None:
        service = await make_service(UNVERIFIED)
        browser = Browser(service)
        await browser.open(at("/sign-up", callbackURL=WELCOME))
        page = await browser.submit(SIGN_UP, name="Ada", email=ADA, password=PASSWORD)
        assert "Check your email" in page.text

        [mail] = await service.inbox(ADA, "verify-email")
        page = await browser.open(mail["link"].removeprefix(BASE_URL))
        assert page.path.startswith("/account/verify-email?")
        await browser.submit("/account/verify-email")

        assert "Your email address is verified" in browser.page.text
        assert browser.page.links["Continue"] == WELCOME

    async def test_shows_what_is_wrong_and_keeps_the_rest(self, browser: Browser) -> None:
        await browser.open(SIGN_UP)

        page = await browser.submit(SIGN_UP, name="Ada", email="ada", password=PASSWORD)
        assert page.status == 422
        assert page.inputs["name"]["value"] == "Ada"
        assert page.links["Enter an email address such as name@example.com."] == "#email"
        page = await browser.submit(SIGN_UP, email=ADA, password="short")
        assert page.links["Use at least 8 characters."] == "#password"

    async def test_is_not_there_where_nobody_may_sign_up(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "sign_up.enabled": "false"})

        assert (await service.get(SIGN_UP)).status_code == 404
        assert "Create an account" not in (await service.get(SIGN_IN)).text


@pytest.mark.operation(
    "pages.request_password_reset",
    "pages.reset_password",
    "pages.show_forgot_password",
    "pages.show_mail_sent",
    "pages.show_reset_password",
)
class TestForgottenPassword:
    async def test_is_reset_by_the_link_in_the_mail(self, service: Service, browser: Browser) -> None:
        phone = await join(service)
        service.client.cookies.clear()
        await browser.open(at("/forgot-password", callbackURL=WELCOME))
        await browser.submit("/account/forgot-password", email=ADA)

        [mail] = await service.inbox(ADA, "reset-password")
        page = await browser.open(mail["link"].removeprefix(BASE_URL))
        assert page.path.startswith(f"{RESET}?")
        page = await browser.submit(RESET, newPassword=NEW)
        assert "Sign in with the new one." in page.text
        page = await browser.submit(SIGN_IN, identifier=ADA, password=NEW)

        assert page.path == WELCOME
        assert not await works(service, phone)

    @pytest.mark.threat("H14")
    async def test_says_the_same_of_every_address(self, service: Service, browser: Browser) -> None:
        await join(service)
        texts = []
        for email in (ADA, "nobody@example.com"):
            await browser.open("/account/forgot-password")
            texts.append((await browser.submit("/account/forgot-password", email=email)).text)

        assert texts[0] == texts[1]

    @pytest.mark.threat("H9")
    async def test_is_not_used_up_by_looking_nor_by_a_bad_password(
        self, service: Service, browser: Browser
    ) -> None:
        link = at("/reset-password", token=await reset_token(service))

        for _ in range(3):
            assert (await browser.open(link)).status == 200
        assert (await browser.submit(RESET, newPassword="short")).status == 422
        await browser.submit(RESET, newPassword=NEW)
        assert "Sign in with the new one." in browser.page.text

        page = await browser.open(link)
        assert page.path.startswith("/account/forgot-password")
        assert "no longer valid" in page.text


@pytest.mark.operation("pages.show_verify_email", "pages.verify_email")
class TestVerification:
    @pytest.mark.threat("H9")
    async def test_is_not_used_up_by_looking(self, service: Service, browser: Browser) -> None:
        await join(service)
        await service.post("/send-verification-email", {"email": ADA})
        token = token_in((await service.inbox(ADA, "verify-email"))[-1]["link"])

        for _ in range(3):
            await browser.open(at("/verify-email", token=token))
        assert not (await stored_user(service)).email_verified
        await browser.submit("/account/verify-email")

        assert (await stored_user(service)).email_verified

    async def test_offers_a_new_link_for_a_dead_one(self, service: Service, browser: Browser) -> None:
        page = await browser.open(at("/verify-email", token="x" * 32))

        assert "This link has been used or is no longer valid." in page.text
        assert page.form("/account/verify-email/send")

    async def test_offers_a_new_link_for_one_that_died_on_the_page(
        self, service: Service, browser: Browser
    ) -> None:
        await join(service)
        page = await browser.open(at("/verify-email", token=await mailed_token(service, "verify-email")))
        assert f"Press the button to show that {ADA} is your address." in page.text
        service.clock.advance(days=30)

        page = await browser.submit("/account/verify-email")

        assert page.status == 422
        assert "This link has expired." in page.text
        assert page.form("/account/verify-email/send")


@pytest.mark.operation(
    "pages.confirm_magic_link",
    "pages.request_email_sign_in",
    "pages.show_email_code",
    "pages.show_email_sign_in",
    "pages.show_magic_link",
    "pages.sign_in_with_email_code",
)
class TestSignInByMail:
    async def test_signs_in_with_a_code(self, service: Service, browser: Browser) -> None:
        await browser.open(at("/sign-in", callbackURL=WELCOME))
        await browser.open(browser.page.links["Email me a sign-in link"])
        await browser.submit("/account/sign-in/email", email=ADA, method="code")
        code = (await service.inbox(ADA, "sign-in-code"))[-1]["code"]

        page = await browser.submit("/account/sign-in/code", code="111111" if code == "000000" else "000000")
        assert page.status == 422
        assert "This code is not right." in page.text
        page = await browser.submit("/account/sign-in/code", code=f"{code[:3]} {code[3:]}")

        assert page.path == WELCOME
        assert await signed_in(service) == ADA

    @pytest.mark.threat("H3")
    @pytest.mark.parametrize(
        "email", [None, "", "ada", "Your account is blocked. Call 555 0100", "a@b@c", "\u202e@example.com"]
    )
    async def test_the_page_of_the_code_shows_addresses_alone(
        self, service: Service, browser: Browser, email: str | None
    ) -> None:
        asked = {} if email is None else {"email": email}
        page = await browser.open(at("/sign-in/code", callbackURL=WELCOME, ui_locales="de", **asked))

        assert page.path.startswith("/account/sign-in/email?")
        assert page.query == {"callbackURL": WELCOME, "ui_locales": "de"}
        answer = await send(service, "/account/sign-in/code", email=email or "", code="000000")
        assert "555" not in answer.text

    @pytest.mark.threat("H9")
    async def test_a_link_asks_for_a_click(self, service: Service, browser: Browser) -> None:
        await browser.open(at("/sign-in/email", callbackURL=WELCOME))
        await browser.submit("/account/sign-in/email", email=ADA, method="link")
        token = token_in((await service.inbox(ADA, "magic-link"))[-1]["link"])

        for _ in range(2):
            page = await browser.open(at("/magic-link", token=token, callbackURL=WELCOME))
        assert "a***@example.com" in page.text
        page = await browser.submit("/account/magic-link")

        assert page.path == WELCOME
        assert await signed_in(service) == ADA
        assert "no longer valid" in (await browser.open(at("/magic-link", token=token))).text

    @pytest.mark.parametrize("is_new", [True, False])
    async def test_a_link_leads_new_users_elsewhere(
        self, service: Service, browser: Browser, is_new: bool
    ) -> None:
        if not is_new:
            await join(service)
            await set_user(service, email_verified=True)
        urls = {"callbackURL": f"{APP}/home", "newUserCallbackURL": WELCOME}
        await service.post("/sign-in/magic-link", {"email": ADA, **urls})
        token = token_in((await service.inbox(ADA, "magic-link"))[-1]["link"])

        await browser.open(at("/magic-link", token=token, **urls))
        page = await browser.submit("/account/magic-link")

        assert page.path == (WELCOME if is_new else f"{APP}/home")

    async def test_a_link_says_why_it_was_refused(self, service: Service, browser: Browser) -> None:
        await join(service)
        await service.post("/sign-in/magic-link", {"email": ADA})
        token = token_in((await service.inbox(ADA, "magic-link"))[-1]["link"])
        await browser.open(at("/magic-link", token=token))
        await set_user(service, banned=True)

        page = await browser.submit("/account/magic-link")

        assert page.status == 422
        assert "This account is blocked." in page.text
        assert await signed_in(service) is None


@pytest.mark.operation("pages.show_sign_out", "pages.show_signed_out", "pages.sign_out")
class TestSignOut:
    async def test_signs_out_and_leads_back(self, service: Service, browser: Browser) -> None:
        token = await join(service)
        page = await browser.open(at("/sign-out", callbackURL=WELCOME))
        assert await signed_in(service) == ADA

        page = await browser.submit("/account/sign-out")

        assert page.path == WELCOME
        assert not await works(service, token)

    async def test_says_so_where_nothing_else_is_next(self, service: Service, browser: Browser) -> None:
        await join(service)
        await browser.open("/account/sign-out")

        page = await browser.submit("/account/sign-out")

        assert page.path == "/account/signed-out"
        assert "You are signed out" in page.text

    async def test_leads_on_who_is_signed_out_already(self, browser: Browser) -> None:
        page = await browser.open(at("/sign-out", callbackURL=WELCOME))

        assert page.path == WELCOME

    async def test_needs_no_session(self, browser: Browser) -> None:
        page = await browser.open("/account/sign-out")

        assert page.path == "/account/signed-out"


class TestOverview:
    async def test_leads_to_the_sign_in_page_and_back(self, service: Service, browser: Browser) -> None:
        await join(service)
        service.client.cookies.clear()
        page = await browser.open("/account")
        assert page.query == {"callbackURL": "/account"}

        page = await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)

        assert page.path == "/account"
        assert page.title == f"Your account · {service.services.policy.app_name}"


async def mailed_code(service: Service, browser: Browser, **more: str) -> str:
    """Request a code on the page that is open, and return it."""
    await browser.submit("/account/sign-in/email", email=ADA, **more)
    code: str = (await service.inbox(ADA, "sign-in-code"))[-1]["code"]
    return code


async def mailed_token(service: Service, template: str) -> str:
    return token_in((await service.inbox(ADA, template))[-1]["link"])


async def stranger(service: Service) -> str:
    """Sign up with Ada's address and create a key; return it, in a browser without cookies."""
    await join(service)
    key: str = (await service.post("/api-key/create", {})).json()["key"]
    service.client.cookies.clear()
    return key


async def is_live(service: Service, key: str) -> bool:
    answer = await service.post("/api-key/verify", {"key": key}, headers=bearer(VERIFIER))
    return bool(answer.json()["valid"])


@pytest.mark.operation("account_pages.show_removed_access")
class TestRemovedAccess:
    async def test_a_code_leads_to_what_it_removed_and_a_link_to_set_a_password(
        self, service: Service, browser: Browser
    ) -> None:
        await stranger(service)
        await browser.open(at("/sign-in/email", callbackURL=WELCOME))

        code = await mailed_code(service, browser, method="code")
        page = await browser.submit("/account/sign-in/code", code=code)

        assert page.path.startswith("/account/removed-access?")
        assert page.title.startswith("Your account was secured")
        assert "It had never been verified before" in page.text
        assert "ways to sign in: 1 API keys: 1 sessions: 1" in page.text
        assert page.links["Continue"] == WELCOME
        page = await browser.open(page.links["Set a password"])
        assert page.form("/account/password/link")

    async def test_a_link_leads_there_too(self, service: Service, browser: Browser) -> None:
        await stranger(service)
        await browser.open("/account/sign-in/email")
        await browser.submit("/account/sign-in/email", email=ADA, method="link")

        await browser.open(at("/magic-link", token=await mailed_token(service, "magic-link")))
        page = await browser.submit("/account/magic-link")

        assert "API keys: 1" in page.text

    @pytest.mark.threat("M5")
    async def test_the_sign_in_after_a_reset_leads_there_too(
        self, service: Service, browser: Browser
    ) -> None:
        key = await stranger(service)
        await browser.open(at("/forgot-password", callbackURL=WELCOME))
        await browser.submit("/account/forgot-password", email=ADA)
        token = await mailed_token(service, "reset-password")
        await browser.open(at("/reset-password", token=token, callbackURL=WELCOME))
        await browser.submit(RESET, newPassword=NEW)

        page = await browser.submit(SIGN_IN, identifier=ADA, password=NEW)

        assert not await is_live(service, key)
        assert "ways to sign in" not in page.text
        assert "API keys: 1" in page.text
        assert "sessions" not in page.text
        assert page.links["Continue"] == WELCOME
        assert "Set a password" not in page.links

    async def test_speaks_the_language_of_the_reader(self, service: Service, browser: Browser) -> None:
        await stranger(service)
        await browser.open("/account/sign-in/email")
        browser.languages = "de"

        code = await mailed_code(service, browser, method="code")
        page = await browser.submit("/account/sign-in/code", code=code)

        assert page.language == "de"
        assert "API-Schlüssel: 1 Sitzungen: 1" in page.text

    async def test_leads_on_if_nothing_was_removed(self, service: Service, browser: Browser) -> None:
        await join(service)

        page = await browser.open(at("/removed-access", callbackURL=WELCOME))

        assert page.path == WELCOME


class TestConfirmByCode:
    """A code only verifies the address of a user who is signed in: they hold the session and the mailbox."""

    async def test_removes_nothing_from_an_unverified_account(
        self, service: Service, browser: Browser
    ) -> None:
        await join(service)
        key = (await service.post("/api-key/create", {})).json()["key"]
        service.clock.advance(days=2)
        await browser.open(at("/confirm", callbackURL="/account/password"))
        page = await browser.open(browser.page.links["Email me a sign-in code"])
        assert "link" not in page.text.replace("Skip to", "")

        code = await mailed_code(service, browser, method="code")
        page = await browser.submit("/account/sign-in/code", code=code)

        assert page.path.startswith("/account/password")
        assert (await stored_user(service)).email_verified
        assert await is_live(service, key)
        service.client.cookies.clear()
        assert (await sign_in(service)).status_code == 200
        assert await service.inbox(ADA, "account-secured") == []

    @pytest.mark.threat("M5")
    @pytest.mark.both_databases
    @pytest.mark.parametrize("presented", ["ended", "expired", "other user's", "administrator's"])
    async def test_a_session_that_is_not_the_users_own_confirms_nothing(
        self, service: Service, browser: Browser, presented: str
    ) -> None:
        key = await stranger(service)
        match presented:
            case "ended" | "expired":
                await sign_in(service)
            case "other user's":
                await join(service, EVE)
            case _:
                await act_as(service)
        await browser.open("/account/sign-in/email")
        code = await mailed_code(service, browser, method="code")
        if presented == "ended":
            await execute(service, "DELETE FROM session")
        if presented == "expired":
            await execute(service, "UPDATE session SET expires_at = created_at")

        page = await browser.submit("/account/sign-in/code", code=code)

        assert "API keys: 1" in page.text
        assert not await is_live(service, key)


@pytest.mark.operation("pages.confirm", "pages.show_confirm")
class TestConfirm:
    async def test_replaces_the_session_by_a_new_one(self, service: Service, browser: Browser) -> None:
        await join(service)
        service.clock.advance(days=2)
        page = await browser.open(at("/confirm", callbackURL="/account/password"))
        assert "Confirm that it is you" in page.text

        await browser.submit("/account/confirm", password=PASSWORD)

        assert browser.page.path.startswith("/account/password")
        assert await count(service, Session) == 1
        assert await signed_in(service) == ADA

    @pytest.mark.threat("H8")
    async def test_refuses_a_wrong_password_and_a_form_of_another_account(
        self, service: Service, browser: Browser
    ) -> None:
        await join(service, EVE)
        eve = (await browser.open("/account/profile")).form("/account/profile").fields
        await join(service)
        service.clock.advance(days=2)
        await browser.open("/account/confirm")

        page = await browser.submit("/account/confirm", password="wrong one")
        assert page.status == 422
        assert page.links["This is not your password."] == "#password"
        shown_to = {"account": eve["account"], "user": eve["user"]}
        page = await browser.submit("/account/confirm", password=PASSWORD, **shown_to)
        assert page.status == 409
        assert EVE in page.text
        assert ADA in page.text


@pytest.mark.operation("pages.show_leaving")
class TestLeaving:
    @pytest.fixture
    async def service(self, make_service: MakeService) -> Service:
        return await make_service({**SETTINGS, "trusted_origins": f'["{APP}", "myapp://"]'})

    async def leave(self, service: Service, target: str, **fields: str) -> httpx.Response:
        """Sign in at a form with a target; return the response."""
        await join(service)
        service.client.cookies.clear()
        return await send(service, SIGN_IN, identifier=ADA, password=PASSWORD, callbackURL=target, **fields)

    @pytest.mark.threat("H15")
    @pytest.mark.parametrize(
        ("target", "url", "name"),
        [
            (WELCOME, WELCOME, "app.example.com"),
            ("/dashboard?tab=1", f"{BASE_URL}/dashboard?tab=1", BASE_URL.partition("://")[2]),
            ("/accounts", f"{BASE_URL}/accounts", BASE_URL.partition("://")[2]),
            ("myapp://signed-in?x=1", "myapp://signed-in?x=1", "myapp"),
        ],
    )
    async def test_a_form_leads_to_applications_by_one_page(
        self, service: Service, target: str, url: str, name: str
    ) -> None:
        done = await self.leave(service, target)
        location = done.headers["location"]
        answer = await service.get(location)
        page = Page(answer)

        assert done.status_code == 303
        assert location.startswith("/account/leaving?target=")
        assert "example" not in location
        assert await signed_in(service) == ADA
        assert (page.status, page.refresh, page.links[f"Continue to {name}"]) == (200, url, url)
        assert page.title.startswith(f"Going to {name}")
        assert '<meta name="referrer" content="no-referrer">' in answer.text
        assert answer.headers["cache-control"] == "no-store"

    @pytest.mark.threat("H15")
    async def test_a_page_that_leads_on_does_so_too(self, service: Service) -> None:
        await join(service)

        answer = await service.get(at("/two-factor", callbackURL=WELCOME))

        assert answer.status_code == 302
        assert answer.headers["location"].startswith("/account/leaving?target=")

    async def test_speaks_the_language_of_the_form(self, service: Service) -> None:
        done = await self.leave(service, WELCOME, ui_locales="de")

        page = Page(await service.get(done.headers["location"]))

        assert "Weiter zu app.example.com" in page.links

    async def test_is_not_needed_between_pages(self, service: Service) -> None:
        done = await self.leave(service, "/account/sessions")

        assert done.headers["location"] == f"{BASE_URL}/account/sessions"

    @pytest.mark.threat("H15")
    async def test_its_target_cannot_be_forged_or_kept(self, service: Service) -> None:
        location = (await self.leave(service, WELCOME)).headers["location"]
        sealed = location.partition("target=")[2]
        plain = '{"url": "https://evil.example", "until": 9e9}'
        other = service.services.cipher.encrypt("outbox.payload", plain).decode()
        forged = [sealed[:-9] + "AAAAAAA==", other, plain, "https://evil.example", "", "é"]
        pages = [Page(await service.get(at("/leaving", target=target))) for target in forged]
        service.clock.advance(minutes=4, seconds=59)
        in_time = Page(await service.get(location))
        service.clock.advance(seconds=1)

        late = Page(await service.get(location))

        assert in_time.refresh == WELCOME
        for page in (*pages, late):
            assert (page.status, page.refresh) == (400, "")
            assert "Go back to the application, and start again." in page.text
            assert page.links["Go to the account"] == "/account"


class TestEveryPage:
    async def test_its_name_links_to_the_configured_home(self, make_service: MakeService) -> None:
        home = "https://app.example.com/start"
        service = await make_service({"pages.home_url": home})
        await join(service)
        browser = Browser(service)

        for path in (SIGN_IN, "/account"):
            assert (await browser.open(path)).links["Gatewright"] == home

    @pytest.mark.threat("H1")
    async def test_refuses_forms_of_other_pages(self, service: Service) -> None:
        token = await join(service)
        forms: dict[str, dict[str, str]] = {
            SIGN_IN: {"identifier": EVE, "password": PASSWORD},
            SIGN_UP: {"name": "Eve", "email": EVE, "password": PASSWORD},
            "/account/sign-out": {},
        }
        foreign: list[dict[str, str]] = [
            {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.test"},
            {"Sec-Fetch-Site": "same-site", "Origin": BASE_URL},
            {"Sec-Fetch-Site": "none"},
            {"Sec-Fetch-Site": "cross-site", "Origin": APP},
            {"Origin": "https://evil.test"},
            {"Origin": APP},
            {"Origin": "null"},
            {"Referer": f"{BASE_URL}/account/sign-in"},
            {},
        ]

        for headers, path in product(foreign, forms):
            answer = await send(service, path, headers, **forms[path])
            refused = (answer.status_code, "set-cookie" in answer.headers, "nothing was done" in answer.text)
            assert refused == (403, False, True), (headers, path)

        assert await works(service, token)
        assert await count(service, User) == 1

    async def test_takes_forms_of_browsers_that_send_only_an_origin(self, service: Service) -> None:
        await join(service)
        service.client.cookies.clear()

        answer = await send(service, SIGN_IN, {"Origin": BASE_URL}, identifier=ADA, password=PASSWORD)

        assert answer.status_code == 303

    @pytest.mark.threat("H4")
    async def test_leads_nowhere_else(self, service: Service, browser: Browser) -> None:
        await join(service)
        service.client.cookies.clear()
        targets = [
            "https://evil.test/",
            "//evil.test",
            "/\\evil.test",
            "javascript:alert(1)",
            f"{APP}@evil.test",
            "/a/../../b",
        ]

        for target in targets:
            for page in ("/sign-in", "/sign-up", "/forgot-password", "/verify-email", "/sign-out", "/error"):
                assert (await browser.open(at(page, callbackURL=target))).status == 403
            answer = await send(service, SIGN_IN, identifier=ADA, password=PASSWORD, callbackURL=target)
            assert answer.status_code == 403
            assert "location" not in answer.headers
            assert target not in answer.text

        assert await signed_in(service) is None

    @pytest.mark.threat("H4")
    async def test_keeps_the_target_through_every_step(self, service: Service, browser: Browser) -> None:
        owner = await enrolled(service)
        page = await browser.open(at("/sign-up", callbackURL=WELCOME, ui_locales="en"))
        page = await browser.open(page.links["Sign in"])
        page = await browser.open(page.links["Forgot your password?"])
        page = await browser.open(page.links["Back to the sign-in page"])
        page = await browser.submit(SIGN_IN, identifier=ADA, password="wrong one")
        page = await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)
        page = await browser.open(page.links["Use a backup code"])
        page = await browser.open(page.links["Use your authenticator app"])
        page = await browser.submit("/account/two-factor", code="000000")

        page = await browser.submit("/account/two-factor", code=owner.code(service))

        assert page.path == WELCOME

    @pytest.mark.threat("H2")
    async def test_has_these_headers(self, service: Service) -> None:
        answer = await service.get(SIGN_IN)

        policy = dict(
            part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";")
        )
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["form-action"] == "'self'"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "publickey-credentials-get=(self)" in answer.headers["permissions-policy"]

    async def test_loads_little_and_only_from_here(self, service: Service) -> None:
        page = (await service.get(SIGN_IN)).text
        loaded = [part.split('"')[0] for part in page.split('"/account/static/')[1:]]

        assert len(loaded) == 2
        assert "style=" not in page
        assert "<script>" not in page
        for name in loaded:
            answer = await service.client.get(f"/account/static/{name}", headers={"Accept-Encoding": "br"})
            assert answer.status_code == 200
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert answer.headers["content-encoding"] == "br"
            assert int(answer.headers["content-length"]) < 15_000

    @pytest.mark.parametrize(
        ("wanted", "language", "direction"),
        [
            ({}, "en", "ltr"),
            ({"languages": "de-AT, en;q=0.5"}, "de", "ltr"),
            ({"languages": "xx, ar;q=0.3, fr;q=0.1"}, "ar", "rtl"),
            ({"languages": "pt"}, "pt-BR", "ltr"),
            ({"languages": "de", "ui_locales": "xx es"}, "es", "ltr"),
        ],
    )
    async def test_speaks_the_language_of_the_person(
        self, service: Service, wanted: dict[str, str], language: str, direction: str
    ) -> None:
        asked = {name: value for name, value in wanted.items() if name != "languages"}
        browser = Browser(service, wanted.get("languages", ""))

        page = await browser.open(at("/sign-in", **asked))

        assert (page.language, page.direction) == (language, direction)

    async def test_speaks_the_language_of_the_user_in_errors(self, service: Service) -> None:
        await join(service)
        await set_user(service, locale="de")
        foreign = {"Sec-Fetch-Site": "cross-site", "Accept-Language": "fr"}

        stored = await send(service, "/account/profile", foreign, name="Eve")
        asked = await send(service, "/account/profile", foreign, name="Eve", ui_locales="es")

        assert [Page(answer).language for answer in (stored, asked)] == ["de", "es"]

    async def test_tells_password_managers_what_is_what(self, service: Service, browser: Browser) -> None:
        rules = "minlength: 8; maxlength: 128; allowed: ascii-printable;"
        entry = (await browser.open(SIGN_IN)).inputs
        up = (await browser.open(SIGN_UP)).inputs
        reset = (await browser.open(at("/reset-password", token=await reset_token(service)))).inputs
        await sign_in(service)
        change = (await browser.open("/account/password")).inputs

        assert entry["identifier"]["autocomplete"] == "username"
        assert [up[name]["autocomplete"] for name in ("name", "email", "username")] == [
            "name",
            "email",
            "username",
        ]
        assert change["username"]["autocomplete"] == "username"
        for current in (entry["password"], change["currentPassword"]):
            assert (current["autocomplete"], current["type"]) == ("current-password", "password")
        for new in (up["password"], reset["newPassword"], change["newPassword"]):
            assert (new["autocomplete"], new["type"]) == ("new-password", "password")
            assert new["passwordrules"] == rules

    async def test_moves_with_the_settings(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "pages.path": "/login", "base_path": "/auth"})
        await service.post("/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD})
        service.client.cookies.clear()
        answer = await service.get("/login/sign-in")
        page = Page(answer)

        assert page.forms[0].action == "/auth/login/sign-in"
        assert (await service.get("/account/sign-in")).status_code == 404
        done = await send(service, "/login/sign-in", identifier=ADA, password=PASSWORD)
        assert done.headers["location"] == "/auth/login"

    async def test_uses_templates_of_the_operator_and_says_when_one_fails(
        self, make_service: MakeService, tmp_path: Path
    ) -> None:
        (tmp_path / "signed_out.html").write_text("<p>Bye from {{ app_name }}.</p>")
        (tmp_path / "base.html").write_text("{{ app_nmae }}")
        service = await make_service({"pages.templates_dir": str(tmp_path)})

        assert (await service.get("/account/signed-out")).text == "<p>Bye from Gatewright.</p>"
        page = Page(await service.get(SIGN_IN))
        assert page.status == 500
        assert "Something went wrong on our side." in page.text

    @pytest.mark.parametrize(
        ("name", "content", "fault"),
        [
            ("signed_out.html", "\n{% if %}", "line 2: Expected an expression"),
            # The first file is checked first, which saves the time for all others.
            ("account/api_keys.html", '{% extends "bse.html" %}', "line 1: there is no template bse.html"),
            (
                "account/api_keys.html",
                '\n\n{% import "macro.html" as ui %}',
                "line 3: there is no template macro.html",
            ),
            ("about/footer.html", "{{ app_name | shout }}", "line 1: No filter named 'shout'"),
        ],
    )
    def test_does_not_start_with_a_broken_template(
        self, tmp_path: Path, name: str, content: str, fault: str
    ) -> None:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
        environ = {"GATEWRIGHT_PROFILE": "development", "GATEWRIGHT_PAGES__TEMPLATES_DIR": str(tmp_path)}

        with pytest.raises(ConfigurationError, match=rf"pages\.templates_dir: {tmp_path / name}, {fault}"):
            load_settings(environ, tmp_path)

    async def test_none_is_there_where_pages_are_off(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "pages.enabled": "false", "oauth.enabled": "false"})

        for path in (SIGN_IN, "/account", "/account/static/x.css", "/.well-known/change-password"):
            answer: httpx.Response = await service.get(path)
            assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")

    @pytest.mark.operation("pages.find_change_password")
    async def test_password_managers_find_the_password_page(self, service: Service) -> None:
        answer = await service.get("/.well-known/change-password")

        assert (answer.status_code, answer.headers["location"]) == (302, "/account/password")

    async def test_leads_who_is_banned_nowhere(self, service: Service, browser: Browser) -> None:
        await join(service)
        await set_user(service, banned=True)
        service.client.cookies.clear()
        await browser.open(SIGN_IN)

        page = await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)

        assert page.status == 422
        assert "This account is blocked." in page.text


async def reset_token(service: Service) -> str:
    """Return the token of a mailed reset link of Ada, who is signed out."""
    await join(service)
    service.client.cookies.clear()
    return await steps.reset_token(service)


async def enrolled(service: Service) -> Owner:
    """Return Ada, who has an authenticator and is signed out."""
    owner = await enrol_again(service, ADA, await join(service))
    service.client.cookies.clear()
    service.clock.advance(minutes=1)
    return owner
