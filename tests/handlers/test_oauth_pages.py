"""Hosted pages on the way from an application and back: sign-in, sign-up, the choice of an account, consent, errors."""

from urllib.parse import quote, urlencode, urlsplit

import httpx
import pyotp
import pytest

from models.oauth_client import ClientSource
from tests.conftest import MakeService
from tests.handlers.pages import SETTINGS, Browser, Page, act_as, recorded, send, signed_in
from tests.handlers.steps import ADA, EVE, join, last_link, set_user
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.labs.provider.steps import as_user
from tests.oauth import REDIRECT_URI, OAuthTestClient, add_client, add_public_client
from tests.oauth_flow import parameters_of, query_of
from tests.service import BASE_URL, PASSWORD, Service

SIGN_IN, SIGN_UP, CONSENT, SELECT = (
    "/account/sign-in",
    "/account/sign-up",
    "/account/consent",
    "/account/select-account",
)
API = "https://api.shop.example"
ALL_SETTINGS = {
    **SETTINGS,
    "oauth.scopes": '{"files": "Read your files"}',
    "oauth.resources": f'{{"{API}": {{"name": "Orders", "scopes": ["files"]}}}}',
    "magic_links.enabled": "true",
    "email_codes.enabled": "true",
}
EXPIRED = "This sign-in took too long, or was finished in another window."


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """A service whose cookies a browser keeps."""
    return await make_service(ALL_SETTINGS)


@pytest.fixture
def browser(service: Service) -> Browser:
    """A browser."""
    return Browser(service)


@pytest.fixture
async def shop(service: Service) -> OAuthTestClient:
    """A web application."""
    return await add_client(service)


def request(client: OAuthTestClient, **changes: str | None) -> str:
    """Return the URL that an application sends its user to."""
    return f"/oauth2/authorize?{urlencode(parameters_of(client, **changes), doseq=True)}"


def at_shop(page: Page) -> bool:
    """Return whether the browser has come back to the application with a code."""
    return page.path.startswith(f"{REDIRECT_URI}?") and "code" in query_of(page.path)


async def joined(service: Service, *emails: str) -> None:
    """Create users whose browser is not signed in."""
    for email in emails:
        await join(service, email)
        service.client.cookies.clear()


@pytest.mark.operation("oauth_pages.show_consent", "oauth_pages.decide", "pages.show_sign_in")
class TestJourney:
    async def test_a_user_signs_in_allows_and_returns(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        await joined(service, ADA)

        page = await browser.open(request(shop))
        assert page.path.partition("?")[0] == SIGN_IN
        assert "Continue to Shop Sign in" in page.text
        # A refused form leads on as well.
        page = await browser.submit(SIGN_IN, identifier=ADA, password="wrong")
        assert (page.status, "Continue to Shop" in page.text) == (422, True)
        page = await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)

        assert page.path.partition("?")[0] == CONSENT
        assert "Shop wants access to your account" in page.text
        assert f"You are signed in as {ADA} ." in page.text
        assert "You have not used this application before." in page.text
        assert "You return to shop.example" in page.text
        assert "See your email address" in page.text
        page = await browser.submit(CONSENT, decision="allow")

        assert at_shop(page)
        # The second time nothing is asked.
        assert at_shop(await browser.open(request(shop)))

    async def test_a_user_cancels(self, service: Service, browser: Browser, shop: OAuthTestClient) -> None:
        await join(service)
        await browser.open(request(shop))

        page = await browser.submit(CONSENT, decision="cancel")

        assert page.path.startswith(f"{REDIRECT_URI}?")
        assert query_of(page.path)["error"] == "access_denied"
        assert await service.rows("SELECT id FROM oauth_consent") == []

    async def test_consent_says_what_the_application_may_do(self, service: Service, browser: Browser) -> None:
        await join(service)
        client = await add_client(
            service,
            scope="openid profile email offline_access files",
            grant_types=["authorization_code", "refresh_token"],
            resources=[API],
            tos_uri="https://shop.example/terms",
            policy_uri="https://shop.example/privacy",
        )

        page = await browser.open(
            request(client, scope="openid profile email offline_access files", resource=API)
        )

        assert (
            "It will be able to: See your name, username and picture See your email address"
            " Keep this access while you are signed out Read your files Use Orders"
        ) in page.text
        assert page.links["Terms of service"] == "https://shop.example/terms"
        assert page.links["Privacy"] == "https://shop.example/privacy"
        alone = await browser.open(request(client, scope="openid"))
        assert "It will be able to: Confirm who you are" in alone.text

    async def test_another_account_is_chosen_on_the_page_of_consent(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        await joined(service, ADA, EVE)
        await browser.open(request(shop))
        page = await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)

        page = await browser.open(page.links["Use another account"])
        assert (page.path.partition("?")[0], "Continue to Shop" in page.text) == (SIGN_IN, True)
        page = await browser.submit(SIGN_IN, identifier=EVE, password=PASSWORD)

        assert f"You are signed in as {EVE} ." in page.text
        assert at_shop(await browser.submit(CONSENT, decision="allow"))
        [(email,)] = await service.rows(
            'SELECT email FROM "user" JOIN oauth_code ON "user".id = oauth_code.user_id'
        )
        assert email == EVE

    async def test_a_user_signs_up(self, service: Service, browser: Browser, shop: OAuthTestClient) -> None:
        page = await browser.open(request(shop, prompt="create", login_hint=ADA))
        assert (page.path.partition("?")[0], "Continue to Shop" in page.text) == (SIGN_IN, True)
        page = await browser.open(page.links["Create an account"])
        assert page.inputs["email"]["value"] == ADA

        page = await browser.submit(SIGN_UP, name="Ada", password=PASSWORD)

        assert at_shop(await browser.submit(CONSENT, decision="allow"))

    @pytest.mark.operation("pages.show_sign_up")
    async def test_a_user_who_is_signed_in_creates_another_account_or_uses_theirs(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        await join(service)
        service.clock.advance(seconds=1)
        page = await browser.open(request(shop, prompt="create"))
        assert page.path.partition("?")[0] == SIGN_UP

        await browser.open(page.links["Sign in"])
        page = await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)
        assert page.path.partition("?")[0] == CONSENT

        service.clock.advance(seconds=1)
        await browser.open(request(shop, prompt="create"))
        page = await browser.submit(SIGN_UP, name="Eve", email=EVE, password=PASSWORD)
        assert f"You are signed in as {EVE} ." in page.text

    async def test_a_second_factor_comes_between(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        await join(service)
        enabled = (await service.post("/two-factor/enable", {"password": PASSWORD})).json()
        totp = pyotp.parse_uri(enabled["totpURI"])
        assert isinstance(totp, pyotp.TOTP)
        await service.post("/two-factor/verify-totp", {"code": totp.at(service.clock.now)})
        service.client.cookies.clear()
        service.clock.advance(minutes=1)
        await browser.open(request(shop))

        page = await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)
        assert "Continue to Shop Enter your code" in page.text
        page = await browser.submit("/account/two-factor", code=totp.at(service.clock.now))

        assert at_shop(await browser.submit(CONSENT, decision="allow"))

    async def test_codes_and_links_by_mail_lead_back(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        await joined(service, ADA)
        await set_user(service, email_verified=True)
        page = await browser.open(request(shop, login_hint=ADA))
        page = await browser.open(page.links["Email me a sign-in link"])
        assert (page.inputs["email"]["value"], "Continue to Shop" in page.text) == (ADA, True)
        page = await browser.submit("/account/sign-in/email", method="code")
        assert "Continue to Shop" in page.text
        code = (await service.inbox(ADA, "sign-in-code"))[-1]["code"]
        page = await browser.submit("/account/sign-in/code", code=code)
        assert page.path.partition("?")[0] == CONSENT

        service.client.cookies.clear()
        page = await browser.open(request(shop))
        await browser.open(page.links["Email me a sign-in link"])
        page = await browser.submit("/account/sign-in/email", email=ADA, method="link")
        assert "Continue to Shop" in page.text
        # The settings of all tests name a page of an application for links.
        link = urlsplit(await last_link(service, "magic-link"))
        page = await browser.open(f"/account/magic-link?{link.query.removeprefix('lang=en&')}")
        assert "Continue to Shop" in page.text
        page = await browser.submit("/account/magic-link")
        assert at_shop(await browser.submit(CONSENT, decision="allow"))

    async def test_a_provider_leads_back(self, make_service: MakeService, provider: ProviderProcess) -> None:
        service = await make_service({**ALL_SETTINGS, **social_settings(provider)})
        browser, shop = Browser(service), await add_client(service)
        as_user(provider, ADA, "1001")
        await browser.open(request(shop))
        page = await browser.submit("/account/sign-in/provider", provider="test")
        async with httpx.AsyncClient(trust_env=False, timeout=30) as stranger:
            back = await stranger.get(page.path)
        page = await browser.open(back.headers["location"])

        assert page.path.partition("?")[0] == CONSENT
        assert at_shop(await browser.submit(CONSENT, decision="allow"))

    async def test_a_forgotten_password_leads_back(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        await joined(service, ADA)
        page = await browser.open(request(shop))
        page = await browser.open(page.links["Forgot your password?"])
        assert "Continue to Shop" in page.text
        await browser.submit("/account/forgot-password", email=ADA)
        await browser.open((await last_link(service, "reset-password")).removeprefix(BASE_URL))
        page = await browser.submit("/account/reset-password", newPassword="nine green boats")
        assert "Continue to Shop Sign in" in page.text

        await browser.submit(SIGN_IN, identifier=ADA, password="nine green boats")

        assert at_shop(await browser.submit(CONSENT, decision="allow"))

    async def test_two_windows_have_their_own_requests(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        other = await add_client(service, client_name="Notes")
        await joined(service, ADA)
        first, second = Browser(service), Browser(service)
        await first.open(request(shop))
        await second.open(request(other, state="other"))
        await first.submit(SIGN_IN, identifier=ADA, password=PASSWORD)

        page = await second.submit(SIGN_IN, identifier=ADA, password=PASSWORD)
        assert "Notes wants access" in page.text

        assert query_of((await second.submit(CONSENT, decision="allow")).path)["state"] == "other"
        # The session of the first window was replaced by the same user's; the form is still theirs.
        assert at_shop(await first.submit(CONSENT, decision="allow"))


@pytest.mark.operation("pages.show_sign_in")
class TestSignIn:
    async def test_the_hint_and_the_languages_of_the_application_are_used(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        page = await browser.open(request(shop, login_hint=ADA, ui_locales="xx de"))

        assert (page.language, page.inputs["identifier"]["value"]) == ("de", ADA)
        # The user may choose another language, and keeps the rest.
        page = await browser.open(page.links["Français"])
        assert (page.language, page.inputs["identifier"]["value"]) == ("fr", ADA)

    @pytest.mark.threat("O17")
    @pytest.mark.parametrize(
        ("hint", "shown"),
        [
            ('"><script>alert(1)</script>', '"><script>alert(1)</script>'),
            ("ada\r\nSet-Cookie: a=b", ""),
            ("a" * 2000, ""),
        ],
    )
    async def test_hints_are_text(
        self, browser: Browser, shop: OAuthTestClient, hint: str, shown: str
    ) -> None:
        page = await browser.open(request(shop, login_hint=hint))

        assert page.status == 200
        assert page.inputs["identifier"]["value"] == shown

    async def test_languages_that_pages_cannot_pass_on_are_ignored(
        self, browser: Browser, shop: OAuthTestClient
    ) -> None:
        page = await browser.open(request(shop, ui_locales="de\r\n<script>"))

        assert (page.status, page.language, "ui_locales" in page.form(SIGN_IN).fields) == (200, "en", False)

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"prompt": "login"}, "The application wants you to sign in again."),
            ({"max_age": "60"}, "You signed in a while ago."),
        ],
    )
    async def test_a_user_who_has_to_sign_in_again_learns_why(
        self,
        service: Service,
        browser: Browser,
        shop: OAuthTestClient,
        changes: dict[str, str],
        reason: str,
    ) -> None:
        await join(service)
        service.clock.advance(minutes=5)

        page = await browser.open(request(shop, **changes))
        assert (page.path.partition("?")[0], reason in page.text) == (SIGN_IN, True)
        assert page.inputs["identifier"]["value"] == ADA
        service.clock.advance(seconds=1)
        page = await browser.submit(SIGN_IN, password=PASSWORD)

        assert page.path.partition("?")[0] == CONSENT

    async def test_a_user_who_is_signed_in_need_not_sign_in_again(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        await joined(service, ADA)
        page = await browser.open(request(shop))
        way_in = page.path
        await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)

        # As the button "Back" does.
        page = await browser.open(way_in)

        assert "Continue as" in page.text
        assert (await browser.open(page.links["Continue"])).path.partition("?")[0] == CONSENT

    @pytest.mark.parametrize("path", [SIGN_IN, SIGN_UP, CONSENT, SELECT])
    async def test_an_expired_request_leads_on(
        self, service: Service, browser: Browser, shop: OAuthTestClient, path: str
    ) -> None:
        await joined(service, ADA)
        handle = (await browser.open(request(shop))).query["request"]
        service.clock.advance(minutes=11)
        await join(service, EVE)

        page = await browser.open(f"{path}?request={handle}")

        assert (page.status, EXPIRED in page.text) == (404, True)
        assert page.links["Go to the account"] == "/account"

    async def test_a_request_that_expires_during_the_sign_in(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        await joined(service, ADA)
        await browser.open(request(shop))
        service.clock.advance(minutes=11)

        page = await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)

        assert (page.path.partition("?")[0], EXPIRED in page.text) == ("/error", True)
        assert page.links["Go to the account"] == "/account"
        assert await signed_in(service) == ADA


@pytest.mark.operation("oauth_pages.show_account_choice", "oauth_pages.select_account")
class TestAccountChoice:
    async def test_a_user_continues_as_who_they_are(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        await join(service)
        service.clock.advance(seconds=1)
        page = await browser.open(request(shop, prompt="select_account"))
        assert page.path.partition("?")[0] == SELECT
        assert f"Choose an account Continue to Shop You are signed in as {ADA} ." in page.text

        page = await browser.submit(SELECT)

        assert page.path.partition("?")[0] == CONSENT
        assert at_shop(await browser.submit(CONSENT, decision="allow"))

    async def test_a_user_chooses_another_account(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        await joined(service, EVE)
        await join(service)
        service.clock.advance(seconds=1)
        page = await browser.open(request(shop, prompt="select_account"))
        service.clock.advance(seconds=1)

        await browser.open(page.links["Use another account"])
        page = await browser.submit(SIGN_IN, identifier=EVE, password=PASSWORD)

        assert page.path.partition("?")[0] == CONSENT
        assert f"You are signed in as {EVE} ." in page.text


@pytest.mark.operation("oauth_pages.show_consent", "oauth_pages.decide")
class TestConsent:
    async def test_an_application_that_nobody_has_checked_is_marked(
        self, service: Service, browser: Browser
    ) -> None:
        await join(service)
        client = await add_client(
            service, source=ClientSource.DYNAMIC, logo_uri="https://shop.example/logo.png"
        )

        page = await browser.open(request(client))

        assert "This application is not verified, and its name may be false." in page.text
        assert "Application Shop not verified" in page.text
        assert "logo.png" not in page.text

    async def test_an_application_of_this_device_is_named_as_such(
        self, service: Service, browser: Browser
    ) -> None:
        await join(service)
        client = await add_public_client(service)

        page = await browser.open(request(client, redirect_uri="http://127.0.0.1:9999/callback"))

        assert "You return to an app on this device (127.0.0.1)" in page.text

    async def test_signing_in_comes_first(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        await join(service)
        page = await browser.open(request(shop))
        consent = page.path
        service.client.cookies.clear()

        page = await browser.open(consent)
        assert page.path.partition("?")[0] == SIGN_IN
        page = await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)

        assert page.path.partition("?")[0] == CONSENT

    async def test_a_session_that_the_request_does_not_accept_signs_in_again(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        await join(service)
        service.clock.advance(seconds=1)
        page = await browser.open(request(shop, prompt="login"))

        page = await browser.open(f"{CONSENT}?request={page.query['request']}")

        assert page.path.partition("?")[0] == SIGN_IN

    async def test_a_decision_is_made_once(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        await join(service)
        page = await browser.open(request(shop))
        fields = {**page.form(CONSENT).fields, "decision": "allow"}
        await browser.submit(CONSENT, decision="allow")

        again = await send(service, CONSENT, **fields)

        assert (again.status_code, EXPIRED in again.text) == (404, True)
        assert await recorded(service, "oauth.consent_granted") == 1

    async def test_a_form_shown_to_another_user_decides_nothing(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        await join(service, EVE)
        await join(service)
        await browser.open(request(shop))
        fields = {**browser.page.form(CONSENT).fields, "decision": "allow"}
        await service.post("/sign-in/email", {"email": EVE, "password": PASSWORD})

        refused = await send(service, CONSENT, **fields)

        assert (refused.status_code, ADA in refused.text, EVE in refused.text) == (409, True, True)
        assert await service.rows("SELECT id FROM oauth_consent") == []

    @pytest.mark.threat("O6")
    async def test_a_form_of_another_site_decides_nothing(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        await join(service)
        service.clock.advance(seconds=1)
        for prompt, path in (("consent", CONSENT), ("select_account", SELECT)):
            page = await browser.open(request(shop, prompt=prompt))
            assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
            assert page.headers["referrer-policy"] == "same-origin"
            fields = {**page.form(path).fields, "decision": "allow"}
            for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.test"}):
                assert (await send(service, path, headers, **fields)).status_code == 403

        assert await service.rows("SELECT consent_by, selected_by FROM oauth_request") == [(None, None)] * 2
        assert await service.rows("SELECT id FROM oauth_consent") == []

    @pytest.mark.threat("O7")
    async def test_an_administrator_decides_nothing_in_the_name_of_a_user(
        self, service: Service, browser: Browser, shop: OAuthTestClient
    ) -> None:
        await join(service)
        page = await browser.open(request(shop))
        handle = page.query["request"]
        await act_as(service)

        page = await browser.open(f"{CONSENT}?request={handle}")
        refused = await send(service, CONSENT, **{**page.form(CONSENT).fields, "decision": "allow"})

        assert refused.status_code == 403

    @pytest.mark.threat("O17")
    async def test_texts_of_applications_are_text(self, service: Service, browser: Browser) -> None:
        await join(service)
        name = "<script>alert(1)</script>\"'"
        client = await add_client(service, client_name=name)
        for prompt in ("consent", "select_account", "login"):
            service.clock.advance(seconds=1)
            page = await browser.open(request(client, prompt=prompt))
            shown = await service.get(page.path)
            assert "<script>alert" not in shown.text
            assert "&lt;script&gt;" in shown.text

    @pytest.mark.parametrize("decision", ["", "maybe"])
    async def test_another_decision_is_none(
        self, service: Service, browser: Browser, shop: OAuthTestClient, decision: str
    ) -> None:
        await join(service)
        page = await browser.open(request(shop))

        refused = await send(service, CONSENT, **{**page.form(CONSENT).fields, "decision": decision})

        assert refused.status_code == 422
        assert await service.rows("SELECT id FROM oauth_consent") == []


class TestErrorPage:
    @pytest.mark.operation("service.show_error")
    async def test_in_development_both_addresses_are_below_each_other(
        self, browser: Browser, shop: OAuthTestClient
    ) -> None:
        page = await browser.open(request(shop, redirect_uri=f"{REDIRECT_URI}/"))

        assert "The application that sent you here made a mistake" in page.text
        assert "redirect_uri is not registered for this client (request id" in page.text
        assert f"Received redirect URI {REDIRECT_URI}/ Registered redirect URIs {REDIRECT_URI}" in page.text
        assert "Error: invalid_redirect_uri" in page.text
        assert page.links == {"Skip to the content": "#content", "Go to the account": "/account"}

    async def test_in_production_addresses_are_not_shown(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "oauth.enabled": "true"})
        shown = await service.get(f"/error?error=invalid_redirect_uri&received={quote('https://evil.test')}")

        assert ("evil.test" in shown.text) == (service.services.settings.profile == "development")
