"""The guide "A single-page application with an API": its page and its API beside a service, in a browser."""

import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pyotp
import pytest
from playwright.async_api import Browser, Page, expect

from server.services import load_settings
from tests.docs.typing_in import commands, guide, placed, typed, write_files
from tests.guides.protected import GATEWRIGHT, running
from tests.guides.test_sign_in import with_packages
from tests.labs.e2e.browser import browsing, started
from tests.labs.sdk.test_sdks import generate
from tests.live import TIMEOUT, LiveService, serving
from tests.ports import free_port
from tests.service import PASSWORD

GUIDE = guide("single-page-application")


@dataclass(frozen=True, slots=True)
class Site:
    """A service, and the page of the guide as its developer and as its users see it."""

    live: LiveService
    gatewright: str
    page: str
    built: str

    def post(self, path: str, body: dict[str, object], token: str = "") -> httpx.Response:
        """Send a request to the service."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.post(
            f"{self.gatewright}{path}", json=body, headers=headers, trust_env=False, timeout=TIMEOUT
        )

    def sign_up(self) -> tuple[str, str]:
        """Sign a user up; return the email address and the token of a session."""
        email = f"ada.{secrets.token_hex(4)}@example.com"
        created = self.post("/sign-up/email", {"name": "Ada <3", "email": email, "password": PASSWORD})
        return email, str(created.raise_for_status().json()["token"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The guide, followed to its end, beside a service with the settings of `make run`."""
    place = with_packages("single-page-application", commands(GUIDE, "install the page"))
    folder, own, page, api = tmp_path_factory.mktemp("gatewright"), free_port(), free_port(), free_port()
    url = f"http://localhost:{own}"
    places = {GATEWRIGHT: url, "3000": str(api), "5173": str(page), "env/bin/": ""}
    write_files(placed(GUIDE, places), place)
    typed(placed(commands(GUIDE, "build"), places), place)
    sdk = str(generate("python"))
    with (
        serving(folder, {"base_url": url, "server.host": "localhost"}, port=own) as live,
        running(
            placed(commands(GUIDE, "serve the API"), places), place, api, folder / "api.txt", PYTHONPATH=sdk
        ),
        running(commands(GUIDE, "serve the page"), place, page, folder / "page.txt"),
    ):
        yield Site(live, url, f"http://localhost:{page}", f"http://localhost:{api}")
    assert "Traceback" not in (folder / "api.txt").read_text("utf-8")


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    """One browser for all tests."""
    async with started() as browser:
        yield browser


async def sign_in(page: Page, url: str, email: str) -> None:
    """Sign in on the page of Gatewright that the application links to."""
    await page.goto(url)
    await page.get_by_role("link", name="Sign in").click()
    await page.locator("#identifier").fill(email)
    await page.locator("#password").fill(PASSWORD)
    await page.keyboard.press("Enter")


async def add(page: Page, note: str) -> None:
    """Send a note to the API."""
    await page.get_by_label("Note").fill(note)
    await page.get_by_role("button", name="Add").click()


async def expect_signed_in(page: Page, url: str) -> None:
    """Wait until the application shows its user."""
    await expect(page.get_by_role("heading", name="Notes of Ada <3")).to_be_visible()
    assert page.url == f"{url}/"


async def expect_signed_out(page: Page) -> None:
    """Wait until the application offers to sign in."""
    await expect(page.get_by_text("You are signed out.")).to_be_visible()


async def test_a_user_signs_up_and_has_notes_of_their_own(browser: Browser, site: Site) -> None:
    email, _ = site.sign_up()
    async with browsing(browser) as page, browsing(browser) as other:
        await page.goto(site.page)
        await page.get_by_role("link", name="Create an account").click()
        await page.get_by_label("Name", exact=True).fill("Ada <3")
        await page.get_by_label("Email address", exact=True).fill(f"new.{email}")
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        await page.get_by_role("button", name="Create an account").click()
        await expect_signed_in(page, site.page)
        await add(page, "Buy milk")
        await expect(page.get_by_role("listitem")).to_have_text(["Buy milk"])
        await expect(page.get_by_label("Note")).to_have_value("")
        await page.reload()
        await expect(page.get_by_role("listitem")).to_have_text(["Buy milk"])

        await sign_in(other, site.page, email)
        await expect_signed_in(other, site.page)
        await add(other, "Sell milk")
        await expect(other.get_by_role("listitem")).to_have_text(["Sell milk"])
        assert await other.evaluate("[document.cookie, localStorage.length]") == ["", 0]


async def test_a_sign_out_in_one_tab_is_seen_in_the_other(browser: Browser, site: Site) -> None:
    email, _ = site.sign_up()
    async with browsing(browser) as page:
        await sign_in(page, site.page, email)
        await expect_signed_in(page, site.page)
        second = await page.context.new_page()
        await second.goto(site.page)
        await second.get_by_role("button", name="Sign out").click()
        await expect_signed_out(second)
        await expect_signed_out(page)

        await sign_in(page, site.page, email)
        await expect_signed_in(page, site.page)
        await page.context.clear_cookies()
        # What the browser does when a tab gets the focus.
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        await expect_signed_out(page)


async def test_a_session_that_ended_elsewhere_is_noticed_by_the_next_call(
    browser: Browser, site: Site
) -> None:
    email, token = site.sign_up()
    async with browsing(browser) as page:
        await sign_in(page, site.page, email)
        await expect_signed_in(page, site.page)
        site.post("/revoke-other-sessions", {}, token).raise_for_status()
        await add(page, "Buy milk")
        await expect_signed_out(page)


async def test_gatewright_asks_for_the_second_factor(browser: Browser, site: Site) -> None:
    email, token = site.sign_up()
    enrolled = site.post("/two-factor/enable", {"password": PASSWORD}, token).json()
    secret = parse_qs(urlsplit(enrolled["totpURI"]).query)["secret"][0]
    code = pyotp.TOTP(secret).now()
    site.post("/two-factor/verify-totp", {"code": code}, token).raise_for_status()
    async with browsing(browser) as page:
        await sign_in(page, site.page, email)
        # A code is for one use; a backup code needs no other moment.
        await page.get_by_role("link", name="backup code").click()
        await page.locator("input[name=code]").fill(enrolled["backupCodes"][0])
        await page.keyboard.press("Enter")
        await expect_signed_in(page, site.page)


async def test_the_api_serves_the_page_that_was_built(browser: Browser, site: Site) -> None:
    email, _ = site.sign_up()
    async with browsing(browser) as page:
        await sign_in(page, site.built, email)
        await expect_signed_in(page, site.built)
        await add(page, "Buy milk")
        await expect(page.get_by_role("listitem")).to_have_text(["Buy milk"])


@pytest.mark.parametrize(
    ("came_from", "status"), [("same-origin", 200), ("same-site", 403), ("cross-site", 403)]
)
def test_pages_elsewhere_cannot_call_the_api(site: Site, came_from: str, status: int) -> None:
    _, token = site.sign_up()
    headers = {"Cookie": f"service.session-token={token}", "Sec-Fetch-Site": came_from}

    response = httpx.post(
        f"{site.page}/api/notes", json={"text": "Hello"}, headers=headers, trust_env=False, timeout=TIMEOUT
    )

    assert response.status_code == status


def test_callers_without_a_session_are_refused(site: Site) -> None:
    assert httpx.get(f"{site.page}/api/notes", trust_env=False, timeout=TIMEOUT).status_code == 401


def test_the_settings_for_production_are_settings(tmp_path: Path) -> None:
    write_files(GUIDE, tmp_path)

    settings = load_settings({"GATEWRIGHT_PROFILE": "development"}, tmp_path)

    assert settings.trusted_origins == ("https://app.example.com",)


async def test_an_outage_signs_nobody_out(browser: Browser, site: Site) -> None:
    """The last one, because it ends the service."""
    email, _ = site.sign_up()
    async with browsing(browser) as page:
        await sign_in(page, site.page, email)
        await expect_signed_in(page, site.page)
        site.live.process.terminate()
        site.live.process.wait(timeout=60)
        await add(page, "Buy milk")
        await expect(page.get_by_role("status")).to_contain_text("That did not work (503)")
        await expect(page.get_by_label("Note")).to_have_value("Buy milk")
        await expect_signed_in(page, site.page)
        await page.reload()
        await expect(page.get_by_text("Sign-in cannot be checked.")).to_be_visible()
