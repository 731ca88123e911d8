"""What forms of the hosted pages do around a sign-in: what was entered, the session that is replaced, and cookies."""

from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from models import Session, User
from tests.conftest import MakeService
from tests.handlers.pages import (
    SAME_ORIGIN,
    SETTINGS,
    Browser,
    Page,
    other_profile,
    recorded,
    send,
    signed_in,
)
from tests.handlers.steps import ADA, EVE, count, join, remove_passwords, set_user
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.labs.provider.steps import as_user
from tests.security.second_factor import METHODS, enrol, enter, right_code
from tests.service import PASSWORD, Service

SIGN_IN, SIGN_UP, CONFIRM = "/account/sign-in", "/account/sign-up", "/account/confirm"
CONFIRM_WITH_PROVIDER = "/account/confirm/provider"
TWO_FACTOR, LINK, CODE = "/account/two-factor", "/account/magic-link", "/account/sign-in/code"
PROFILE, EMAIL, SESSIONS = "/account/profile", "/account/email", "/account/sessions"
BY_MAIL = {**SETTINGS, "magic_links.page": ""}
BLOCKED = "Your browser blocks cookies"
OFF = {**SETTINGS, "magic_links.enabled": "false", "email_codes.enabled": "false"}


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service(BY_MAIL)


@pytest.fixture
async def browser(service: Service) -> Browser:
    return Browser(service)


class TestEntries:
    """What was entered in a form is in the URL of its page, encrypted."""

    async def refused(self, service: Service, browser: Browser) -> httpx.Response:
        """Send Ada's profile, which is refused; return the redirect."""
        page = await browser.open(PROFILE)
        fields = {**page.form(PROFILE).fields, "name": "Countess", "image": "no URL"}
        return await service.client.post(PROFILE, data=fields, headers=SAME_ORIGIN)

    @pytest.mark.threat("H7")
    async def test_a_refused_form_leads_to_its_page(self, service: Service, browser: Browser) -> None:
        await join(service)

        answer = await self.refused(service, browser)

        assert answer.status_code == 303
        assert "Countess" not in answer.headers["location"]
        for _ in range(2):
            page = await browser.open(answer.headers["location"])
            assert page.status == 422
            assert page.inputs["name"]["value"] == "Countess"
            assert page.title.startswith("Error: ")
        assert page.headers["cache-control"] == "no-store"
        page = await browser.open(page.links["Deutsch"])
        assert page.inputs["name"]["value"] == "Countess"
        service.clock.advance(hours=1)
        page = await browser.open(answer.headers["location"])
        assert (page.status, page.inputs["name"]["value"]) == (200, "Ada")

    @pytest.mark.threat("H7")
    async def test_passwords_and_codes_are_not_kept(self, service: Service, browser: Browser) -> None:
        await join(service)
        service.client.cookies.clear()
        await browser.open(SIGN_IN)
        fields = {**browser.page.form(SIGN_IN).fields, "identifier": ADA, "password": "horse battery"}
        answer = await service.client.post(SIGN_IN, data=fields, headers=SAME_ORIGIN)

        [sealed] = parse_qs(urlsplit(answer.headers["location"]).query)["entries"]
        text = service.services.cipher.decrypt("pages.entries", sealed.encode())
        assert text is not None
        assert ADA in text
        assert "horse battery" not in text

    @pytest.mark.threat("H7")
    async def test_a_link_shows_no_entries_of_another_browser(
        self, service: Service, browser: Browser
    ) -> None:
        await join(service)
        answer = await self.refused(service, browser)
        with other_profile(service):
            await service.post("/sign-in/email", {"email": ADA, "password": PASSWORD})
            await browser.open(PROFILE)

            page = await browser.open(answer.headers["location"])

            assert (page.status, page.inputs["name"]["value"]) == (200, "Ada")

    @pytest.mark.threat("H8")
    async def test_entries_are_not_for_another_account(self, service: Service, browser: Browser) -> None:
        await join(service)
        answer = await self.refused(service, browser)
        service.client.cookies.delete("service.session-token")
        await join(service, EVE)

        page = await browser.open(answer.headers["location"])

        assert page.status == 200
        assert page.inputs["name"]["value"] != "Countess"

    async def test_entries_of_another_page_or_changed_ones_are_ignored(
        self, service: Service, browser: Browser
    ) -> None:
        await join(service)
        query = urlsplit((await self.refused(service, browser)).headers["location"]).query

        for path in (f"{EMAIL}?{query}", f"{PROFILE}?{query[:-8]}", f"{PROFILE}?entries=x"):
            assert (await browser.open(path)).status == 200

    @pytest.mark.threat("H1")
    async def test_a_foreign_page_enters_nothing(self, service: Service, browser: Browser) -> None:
        await browser.open(SIGN_IN)
        fields = {"account": ADA, "name": "Mallory"}

        answer = await service.client.post(PROFILE, data=fields, headers={"Sec-Fetch-Site": "cross-site"})

        assert "entries" not in answer.headers.get("location", "")

    async def test_what_is_too_long_for_a_url_is_shown_at_once(
        self, service: Service, browser: Browser
    ) -> None:
        await join(service)
        page = await browser.open(PROFILE)
        fields = {
            **page.form(PROFILE).fields,
            "name": "Countess",
            "username": "u" * 1024,
            "image": "x" * 2048,
        }

        answer = await service.client.post(PROFILE, data=fields, headers=SAME_ORIGIN)

        assert answer.status_code == 422
        assert "Countess" in answer.text

    @pytest.mark.threat("H7")
    async def test_are_there_again_after_proving_who_it_is(self, service: Service, browser: Browser) -> None:
        await join(service)
        await browser.open(EMAIL)
        service.clock.advance(hours=24, seconds=1)

        page = await browser.submit(EMAIL, newEmail="new@example.com")
        assert "Confirm that it is you" in page.text
        page = await browser.submit(CONFIRM, password=PASSWORD)

        assert "Nothing was done yet" in page.text
        assert page.inputs["newEmail"]["value"] == "new@example.com"


class TestReplacedSession:
    """The session of who proves again that it is them ends when the new one is there: neither before nor never."""

    async def stale(self, service: Service, browser: Browser) -> None:
        """Wait until the session is too old for the page of the email address, and open that page."""
        service.clock.advance(hours=24, seconds=1)
        page = await browser.open(EMAIL)
        assert "Confirm that it is you" in page.text

    @pytest.mark.threat("H17")
    async def test_with_a_second_factor(self, service: Service, browser: Browser) -> None:
        owner = await enrol(service)
        old = str(service.client.cookies["service.session-token"])
        await self.stale(service, browser)

        page = await browser.submit(CONFIRM, password=PASSWORD)
        assert "Enter your code" in page.text
        assert await signed_in(service) == ADA  # Somebody who leaves now is still signed in.
        page = await browser.submit(TWO_FACTOR, code=owner.code(service))

        assert page.path == EMAIL
        assert str(service.client.cookies["service.session-token"]) != old
        assert await count(service, Session) == 1
        assert await recorded(service, "session.revoked") == 1

    @pytest.mark.threat("H17")
    @pytest.mark.parametrize("method", METHODS)
    async def test_with_a_second_factor_that_a_program_sends(
        self, service: Service, browser: Browser, method: str
    ) -> None:
        owner = await enrol(service)
        old = str(service.client.cookies["service.session-token"])
        await self.stale(service, browser)
        await browser.submit(CONFIRM, password=PASSWORD)

        code = await right_code(service, owner, method, {})
        answer = await enter(service, method, code, {})

        assert answer.status_code == 200
        assert await signed_in(service) == ADA
        assert str(service.client.cookies["service.session-token"]) != old
        assert await count(service, Session) == 1
        assert await recorded(service, "session.revoked") == 1

    async def test_it_stays_if_the_new_one_has_no_cookie(self, service: Service, browser: Browser) -> None:
        owner = await enrol(service)
        await self.stale(service, browser)
        await browser.submit(CONFIRM, password=PASSWORD)

        await enter(service, "backup-code", owner.backup_codes[0], {}, disableSession=True)

        assert await signed_in(service) == ADA
        assert await count(service, Session) == 2

    async def test_with_a_mailed_code(self, service: Service, browser: Browser) -> None:
        await join(service)
        await self.stale(service, browser)
        page = await browser.open(browser.page.links["Email me a sign-in code"])
        await browser.submit("/account/sign-in/email", email=ADA, method="code")
        page = await browser.submit(CODE, code=await mailed_code(service))

        assert page.path == EMAIL
        assert await count(service, Session) == 1
        assert (await service.rows('SELECT email_verified FROM "user"'))[0][0]
        assert len(await service.rows("SELECT id FROM account WHERE password IS NOT NULL")) == 1

    async def test_with_a_mailed_link(self, service: Service, browser: Browser) -> None:
        await join(service)
        await set_user(service, email_verified=True)
        await service.post("/sign-in/magic-link", {"email": ADA, "callbackURL": SESSIONS})
        await browser.open(await mailed_link(service))

        page = await browser.submit(LINK)

        assert page.path == SESSIONS
        assert await count(service, Session) == 1

    @pytest.mark.operation("pages.confirm_with_provider")
    async def test_with_a_provider(self, make_service: MakeService, provider: ProviderProcess) -> None:
        service, browser = await stale_at_provider(make_service, provider)

        await back_from_provider(browser, await browser.submit(CONFIRM_WITH_PROVIDER))

        assert browser.page.path == EMAIL
        assert await signed_in(service) == ADA
        assert await count(service, Session) == 1

    async def test_a_session_of_another_user_stays(self, service: Service, browser: Browser) -> None:
        await join(service)
        service.client.cookies.clear()
        await join(service, EVE)
        await browser.open(f"{SIGN_IN}?prompt=login")

        await browser.submit(SIGN_IN, identifier=ADA, password=PASSWORD)

        assert await signed_in(service) == ADA
        assert len(await service.rows('SELECT s.id FROM session s JOIN "user" u ON u.id = user_id'
                                      " WHERE email = :email", email=EVE)) == 1  # fmt: skip


class TestWaysToConfirm:
    async def test_who_has_none_sets_a_password(self, make_service: MakeService) -> None:
        service = await make_service(OFF)
        browser = Browser(service)
        await join(service)
        await remove_passwords(service)
        service.clock.advance(hours=24, seconds=1)

        page = await browser.open(EMAIL)

        assert "You have no way to sign in again yet." in page.text
        page = await browser.open(page.links["Set a password"])
        assert page.inputs["email"]["value"] == ADA

    async def test_where_passwords_cannot_be_reset_it_says_whom_to_ask(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({**OFF, "password_reset.sender": "none"})
        browser = Browser(service)
        await join(service)
        await remove_passwords(service)
        service.clock.advance(hours=24, seconds=1)

        page = await browser.open(EMAIL)

        assert "Your account has no way to sign in again." in page.text
        assert "Set a password" not in page.links


@pytest.mark.operation("pages.confirm_with_provider")
@pytest.mark.threat("H16")
class TestAnotherAccountAtTheProvider:
    """The browser may be signed in to another account there, which must not become the one that is signed in here."""

    @pytest.mark.parametrize("other", ["a user's", "of the same address", "new"])
    async def test_confirms_nothing(
        self, make_service: MakeService, provider: ProviderProcess, other: str
    ) -> None:
        service, browser = await stale_at_provider(make_service, provider, other == "a user's")
        users, old = await count(service, User), str(service.client.cookies["service.session-token"])
        as_user(
            provider, ADA if other == "of the same address" else EVE, "3003" if other == "new" else "2002"
        )

        page = await back_from_provider(browser, await browser.submit(CONFIRM_WITH_PROVIDER))

        assert "You chose another account at the provider" in page.text
        assert "user_mismatch" in page.text
        assert page.links["Try again"] == f"{CONFIRM}?callbackURL=%2Faccount%2Femail"
        assert await signed_in(service) == ADA
        assert str(service.client.cookies["service.session-token"]) == old
        assert await count(service, User) == users
        assert len(await accounts_of(service, ADA)) == 1
        assert await sessions_of(service, ADA) == 1
        assert "Confirm that it is you" in (await browser.open(EMAIL)).text

    @pytest.mark.threat("H8")
    async def test_is_refused_to_a_user_who_signed_in_meanwhile(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        service, browser = await stale_at_provider(make_service, provider)
        service.client.cookies.delete("service.session-token")
        await join(service, EVE)

        page = await browser.submit(CONFIRM_WITH_PROVIDER)

        assert page.status == 409
        assert await signed_in(service) == EVE


class TestPagesThatLedNowhere:
    async def test_no_form_for_a_forgotten_password_where_none_is_reset(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({**SETTINGS, "password_reset.sender": "none"})

        page = await Browser(service).open("/account/forgot-password")

        assert page.forms == []
        assert "Passwords cannot be reset by email here." in page.text

    async def test_the_page_for_a_code_leads_back(self, browser: Browser) -> None:
        page = await browser.open(f"{CODE}?email={ADA}")

        assert page.links["Back to the sign-in page"] == SIGN_IN


class TestBlockedCookies:
    """A browser that sends no cookies is told so, before anything is done."""

    async def blocked(self, service: Service, path: str, **fields: str) -> httpx.Response:
        """Send a form from a browser that keeps no cookies."""
        await service.get(path)
        service.client.cookies.clear()
        return await service.client.post(path, data=fields, headers=SAME_ORIGIN)

    async def test_no_account_is_created(self, service: Service) -> None:
        answer = await self.blocked(service, SIGN_UP, name="Ada", email=ADA, password=PASSWORD)

        assert answer.status_code == 422
        assert BLOCKED in answer.text
        assert await count(service, User) == 0

    async def test_a_right_password_signs_nobody_in(self, service: Service) -> None:
        await join(service)

        answer = await self.blocked(service, SIGN_IN, identifier=ADA, password=PASSWORD)

        assert answer.status_code == 422
        assert BLOCKED in answer.text
        assert ADA in answer.text
        assert await recorded(service, "sign_in.succeeded") == 1

    async def test_who_allows_them_then_is_signed_in(self, service: Service) -> None:
        await join(service)
        assert BLOCKED in (await self.blocked(service, SIGN_IN, identifier=ADA, password=PASSWORD)).text

        answer = await service.client.post(
            SIGN_IN, data={"identifier": ADA, "password": PASSWORD}, headers=SAME_ORIGIN
        )

        assert answer.headers["location"] == "/account"

    async def test_a_mailed_link_is_not_used_up(self, service: Service) -> None:
        await service.post("/sign-in/magic-link", {"email": ADA})
        [token] = parse_qs(urlsplit(await mailed_link(service)).query)["token"]

        answer = await self.blocked(service, LINK, token=token)

        assert BLOCKED in answer.text
        assert await count(service, User) == 0
        assert (await send(service, LINK, token=token)).status_code == 303
        assert await count(service, User) == 1


class TestMailedLinkOfAnotherAccount:
    async def link(self, service: Service) -> str:
        """Return a link that was mailed to Ada, while the browser is signed in as Eve."""
        await join(service)
        await set_user(service, email_verified=True)
        service.client.cookies.clear()
        await join(service, EVE)
        await service.post("/sign-in/magic-link", {"email": ADA})
        return await mailed_link(service)

    @pytest.mark.threat("M8")
    async def test_asks_first(self, service: Service, browser: Browser) -> None:
        link = await self.link(service)

        page = await browser.open(link)
        assert "Another account is signed in" in page.text
        assert f"You are signed in as {EVE}" in page.text
        assert page.links["Stay signed in"] == "/account"
        assert await signed_in(service) == EVE
        await browser.submit(LINK)

        assert await signed_in(service) == ADA

    @pytest.mark.threat("M8", "H8")
    async def test_asks_who_signed_in_meanwhile(self, service: Service, browser: Browser) -> None:
        link = await self.link(service)
        await service.post("/sign-out")
        page = await browser.open(link)
        assert EVE not in page.text
        await service.post("/sign-in/email", {"email": EVE, "password": PASSWORD})

        page = await browser.submit(LINK)

        assert f"You are signed in as {EVE}" in page.text
        assert await signed_in(service) == EVE
        await browser.submit(LINK)
        assert await signed_in(service) == ADA


async def stale_at_provider(
    make_service: MakeService, provider: ProviderProcess, with_eve: bool = False
) -> tuple[Service, Browser]:
    """Sign Ada in through the provider, and wait until her session is too old for the page of the email address.

    `with_eve`: Eve, who has another account at the provider, is a user, too.
    """
    settings = {**SETTINGS, "session.fresh_age": "1m", **social_settings(provider)}
    service = await make_service(settings)
    browser = Browser(service)
    for email, subject in ((EVE, "2002"), (ADA, "1001")) if with_eve else ((ADA, "1001"),):
        service.client.cookies.clear()
        as_user(provider, email, subject)
        await browser.open(f"{SIGN_IN}?callbackURL={EMAIL}")
        page = await browser.submit("/account/sign-in/provider", provider="test")
        await back_from_provider(browser, page)
        assert await signed_in(service) == email
    service.clock.advance(minutes=1, seconds=1)
    page = await browser.open(EMAIL)
    assert "Confirm that it is you" in page.text
    return service, browser


async def back_from_provider(browser: Browser, page: Page) -> Page:
    """Follow the browser to the provider and back; the page is the one that leads there."""
    async with httpx.AsyncClient(trust_env=False, timeout=30) as stranger:
        back = await stranger.get(page.path)
    return await browser.open(back.headers["location"])


async def accounts_of(service: Service, email: str) -> list[object]:
    """Return the accounts that a user has connected."""
    return list(
        await service.rows(
            'SELECT a.id FROM account a JOIN "user" u ON u.id = user_id WHERE email = :email', email=email
        )
    )


async def sessions_of(service: Service, email: str) -> int:
    """Return how many sessions a user has."""
    found = await service.rows(
        'SELECT s.id FROM session s JOIN "user" u ON u.id = user_id WHERE email = :email', email=email
    )
    return len(found)


async def mailed_link(service: Service) -> str:
    """Return the path of the page in the last mailed link."""
    parts = urlsplit((await service.inbox(None, "magic-link"))[-1]["link"])
    return f"{parts.path}?{parts.query}"


async def mailed_code(service: Service) -> str:
    """Return the last mailed sign-in code."""
    return str((await service.inbox(None, "sign-in-code"))[-1]["code"])
