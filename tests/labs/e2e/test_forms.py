"""Going back, reloading and signing in again around the forms of the hosted pages, in a browser."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, Page, Request, expect

from tests.labs.e2e.browser import browsing
from tests.live import LiveService, serving
from tests.ports import free_port
from tests.service import PASSWORD

ADA, EVE, GRACE, MARY = "ada@example.com", "eve@example.com", "grace@example.com", "mary@example.com"
SETTINGS = {
    "mail.sender": "console",
    "api_keys.enabled": "true",
    "session.cookie_secure": "false",
}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A service with API keys; every test has a user of its own."""
    port = free_port()
    settings = {**SETTINGS, "base_url": f"http://127.0.0.1:{port}"}
    with serving(tmp_path_factory.mktemp("service"), settings, port=port) as service:
        yield service


@asynccontextmanager
async def signed_up(browser: Browser, live: LiveService, email: str) -> AsyncIterator[Page]:
    """Yield a page of a browser that has just signed up."""
    async with browsing(browser) as page:
        await page.goto(f"{live.url}/account/sign-up")
        await page.get_by_label("Name", exact=True).fill("Ada")
        await page.get_by_label("Email address").fill(email)
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        await press(page, "Create an account")
        await heading(page, "Your account")
        yield page


async def heading(page: Page, text: str) -> None:
    """Wait for a page by its heading, and until its scripts answer keys and clicks."""
    await expect(page.get_by_role("heading", level=1)).to_contain_text(text)
    await page.wait_for_load_state()


async def press(page: Page, name: str) -> None:
    """Press the button of this name."""
    await page.get_by_role("button", name=name, exact=True).first.click()


async def sign_in(page: Page, password: str, email: str) -> None:
    """Fill in and send the form of the sign-in page."""
    await page.get_by_label("Email address or username").fill(email)
    await page.get_by_label("Password", exact=True).fill(password)
    await press(page, "Sign in")


def posts(page: Page) -> list[str]:
    """Return the list that receives the paths of all forms that the page sends from now on."""
    sent: list[str] = []

    def note(request: Request) -> None:
        if request.method == "POST":
            sent.append(request.url)

    page.on("request", note)
    return sent


@pytest.mark.threat("H7")
async def test_a_refused_form_survives_reload_and_back(browser: Browser, live: LiveService) -> None:
    async with signed_up(browser, live, ADA) as page:
        await page.context.clear_cookies()
        await page.goto(f"{live.url}/account/sign-in?callbackURL=/account/sessions")
        await sign_in(page, "a wrong password", ADA)
        await expect(page.get_by_role("alert")).to_contain_text("do not match an account")
        sent = posts(page)

        await page.reload()
        await expect(page.get_by_role("alert")).to_contain_text("do not match an account")
        await expect(page.get_by_label("Email address or username")).to_have_value(ADA)
        await expect(page.get_by_label("Password", exact=True)).to_have_value("")
        assert sent == []

        await sign_in(page, PASSWORD, ADA)
        await heading(page, "Devices and sessions")
        await page.go_back()
        await heading(page, "Sign in")
        await expect(page.get_by_label("Email address or username")).to_have_value(ADA)
        assert [path.rpartition("/")[2] for path in sent] == ["sign-in"]


@pytest.mark.threat("H7")
async def test_what_is_shown_once_is_the_same_after_a_reload(browser: Browser, live: LiveService) -> None:
    async with signed_up(browser, live, EVE) as page:
        await page.goto(f"{live.url}/account/api-keys")
        await page.get_by_label("Name").fill("ci")
        await press(page, "Create the key")
        await heading(page, "Your new key")
        key = await page.locator("#key").inner_text()
        await page.reload()
        await expect(page.locator("#key")).to_have_text(key)
        await page.get_by_role("link", name="I have saved it").click()
        await heading(page, "API keys")
        await page.go_back()
        await heading(page, "API keys")  # Once the person has gone on, it is shown no more.

        await page.goto(f"{live.url}/account/second-factor?step=totp")
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        await press(page, "Continue")
        await heading(page, "Set up your authenticator app")
        secret = await page.locator("#key").inner_text()
        codes = await page.locator("#codes li").all_inner_texts()
        picture = await page.locator("svg.qr").inner_html()
        await page.reload()
        await expect(page.locator("#key")).to_have_text(secret)
        assert await page.locator("#codes li").all_inner_texts() == codes
        assert await page.locator("svg.qr").inner_html() == picture

        await page.get_by_label("Code from your authenticator app").fill("000000")
        await press(page, "Turn on")
        await expect(page.get_by_role("alert")).to_contain_text("This code is not right.")
        await expect(page.locator("#key")).to_have_text(secret)


@pytest.mark.threat("H7")
async def test_a_form_of_an_ended_session_is_there_again_after_signing_in(
    browser: Browser, live: LiveService
) -> None:
    async with signed_up(browser, live, GRACE) as page:
        await page.goto(f"{live.url}/account/profile")
        await page.locator("#name").fill("Grace Hopper")
        other = await page.context.new_page()
        await other.goto(f"{live.url}/account")
        await press(other, "Sign out")
        await heading(other, "You are signed out")

        await press(page, "Save")
        await heading(page, "Sign in")
        await sign_in(page, PASSWORD, GRACE)
        await heading(page, "Profile")
        await expect(page.get_by_role("alert")).to_contain_text("Nothing was done yet")
        await expect(page.locator("#name")).to_have_value("Grace Hopper")
        await press(page, "Save")
        await expect(page.get_by_role("status").first).to_contain_text("Your profile is saved.")
