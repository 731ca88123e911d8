"""From a fresh checkout to a protected account, by clicking alone: with scripts and without, and with the keyboard."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyotp
import pytest
from playwright.async_api import Browser, Page, expect

from tests import qr_codes
from tests.labs.e2e.browser import browsing
from tests.live import LiveService, serving
from tests.ports import free_port
from tests.service import PASSWORD
from tests.smtp_peer import SmtpPeer

ADA, EVE, BOB, NEW = "ada@example.com", "eve@example.com", "bob@example.com", "nine green boats"
BY_CONSOLE = {"mail.sender": "console"}
"""As in the development profile, without further settings."""

OpenMail = Callable[[Page, str], Awaitable[Page]]
"""Opens the last email of a template in the browser, and follows its link; returns the page that it leads to."""


def printed_address(live: LiveService, label: str) -> str:
    """Return an address that the service prints when it starts."""
    return live.output.wait_for(rf"^ +{label}: +(http\S+)$")[1]


async def sent(live: LiveService, template: str, mark: str) -> None:
    """Wait until the service says that it has sent an email."""
    await asyncio.to_thread(live.output.wait_for, mark % template)


async def heading(page: Page, text: str) -> None:
    """Wait for a page by its heading, and until its scripts answer keys and clicks."""
    await expect(page.get_by_role("heading", level=1)).to_contain_text(text)
    await page.wait_for_load_state()


async def press(page: Page, name: str) -> None:
    """Press the button of this name; the page before has it."""
    await page.get_by_role("button", name=name, exact=True).first.click()


async def follow(page: Page, name: str) -> None:
    """Follow the link of this name."""
    await page.get_by_role("link", name=name, exact=True).first.click()


async def sign_in(page: Page, password: str, email: str = ADA) -> None:
    """Fill in and send the form of the sign-in page."""
    await page.get_by_label("Email address or username").fill(email)
    await page.get_by_label("Password", exact=True).fill(password)
    await press(page, "Sign in")


async def create_account(page: Page, live: LiveService, email: str = ADA) -> None:
    """Create an account at the printed address."""
    await page.goto(printed_address(live, "Sign in"))
    await follow(page, "Create an account")
    await page.get_by_label("Name", exact=True).fill("Ada")
    await page.get_by_label("Email address").fill(email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await press(page, "Create an account")
    await heading(page, "Your account")


async def verify_address(page: Page, open_mail: OpenMail) -> Page:
    """Verify the email address with the link that was mailed; return the page where that ended."""
    await expect(page.get_by_text("not verified").first).to_be_visible()
    page = await open_mail(page, "verify-email")
    await press(page, "Verify the address")
    await heading(page, "Your email address is verified")
    await follow(page, "Continue")
    await expect(page.get_by_text("not verified")).to_have_count(0)
    return page


async def scan_qr_code(page: Page) -> pyotp.TOTP:
    """Begin to set up two-factor authentication; return the authenticator that has scanned the picture."""
    await follow(page, "Two-factor authentication")
    await follow(page, "Set up")
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await press(page, "Continue")
    await heading(page, "Set up your authenticator app")
    uri = qr_codes.in_picture(await page.locator("svg.qr").screenshot())
    return pyotp.TOTP(parse_qs(urlsplit(uri).query)["secret"][0])


async def turn_on_two_factor(page: Page, authenticator: pyotp.TOTP) -> None:
    """Confirm with the code of the authenticator."""
    await page.get_by_label("Code from your authenticator app").fill(authenticator.now())
    await press(page, "Turn on")
    await expect(page.get_by_role("status")).to_contain_text("signing in requires a code")


async def journey(page: Page, live: LiveService, open_mail: OpenMail) -> None:
    """Sign up, verify, sign in, turn on two-factor, sign out, reset the password, sign in with all of it."""
    await create_account(page, live)
    page = await verify_address(page, open_mail)
    await press(page, "Sign out")
    await heading(page, "You are signed out")
    await follow(page, "Sign in again")
    await sign_in(page, PASSWORD)
    await heading(page, "Your account")
    authenticator = await scan_qr_code(page)
    await turn_on_two_factor(page, authenticator)
    await press(page, "Sign out")
    await follow(page, "Sign in again")
    await follow(page, "Forgot your password?")
    await page.get_by_label("Email address").fill(ADA)
    await press(page, "Send the link")
    await heading(page, "Check your email")
    page = await open_mail(page, "reset-password")
    await page.get_by_label("New password").fill(NEW)
    await press(page, "Set the new password")
    await expect(page.get_by_role("status")).to_contain_text("Sign in with the new one.")
    await sign_in(page, PASSWORD)
    await expect(page.get_by_role("alert")).to_contain_text("These details do not match an account.")
    await expect(page.get_by_role("alert")).to_be_focused()
    await sign_in(page, NEW)
    await heading(page, "Enter your code")
    await page.get_by_label("Code from your authenticator app").fill(authenticator.now())
    await press(page, "Continue")
    await heading(page, "Your account")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A service in an empty folder, with the settings of `make run`; every test has a user of its own."""
    with serving(tmp_path_factory.mktemp("service"), BY_CONSOLE, port=free_port()) as service:
        yield service


async def test_a_newcomer_clicks_through_everything_with_scripts(browser: Browser, live: LiveService) -> None:
    async def open_mail(page: Page, template: str) -> Page:
        await sent(live, template, rf"^── email: %s [^\n]*\nto +{ADA}$")
        mailbox = page.get_by_role("link", name=printed_address(live, "Mailbox"))
        if await mailbox.count():
            await mailbox.click()
        else:
            await page.goto(printed_address(live, "Mailbox"))
        await page.locator("li", has_text=template).first.get_by_role("link").click()
        await page.locator("dd > a").click()
        return page

    async with browsing(browser) as page:
        await journey(page, live, open_mail)


@asynccontextmanager
async def without_scripts(browser: Browser) -> AsyncIterator[Page]:
    """Yield a page of a new profile that runs no scripts."""
    profile = await browser.new_context(java_script_enabled=False)
    try:
        yield await profile.new_page()
    finally:
        await profile.close()


@pytest.mark.threat("H10")
async def test_a_newcomer_clicks_through_everything_without_scripts(browser: Browser, tmp_path: Path) -> None:
    peer = SmtpPeer()
    await peer.start()
    by_smtp = {
        "mail.sender": "smtp", "mail.from": "auth@example.com",
        "mail.smtp.host": "127.0.0.1", "mail.smtp.port": str(peer.port), "mail.smtp.tls": "none",
    }  # fmt: skip

    async def open_mail(page: Page, template: str) -> Page:
        await sent(service, template, r'^\{(?=[^\n]*"mail\.sent")[^\n]*"%s"')
        [*_, mail] = [mail for mail in peer.mails if mail["To"] == ADA]
        body = mail.get_body(("html",))
        assert body is not None
        (tmp_path / "mail.html").write_text(body.get_content(), "utf-8")
        await page.goto((tmp_path / "mail.html").as_uri())
        async with page.context.expect_page() as opening:
            await page.locator(f'a[href*="/account/{template}?"]').first.click()
        return await opening.value

    try:
        with serving(tmp_path, by_smtp, port=free_port()) as service:
            async with without_scripts(browser) as page:
                await journey(page, service, open_mail)
    finally:
        await peer.stop()


async def focused(page: Page) -> str:
    """Return the name of the element that has the focus, or its text."""
    named = "document.activeElement.name || document.activeElement.textContent.trim()"
    return str(await page.evaluate(named))


async def test_a_user_signs_in_with_the_keyboard_alone(browser: Browser, live: LiveService) -> None:
    async with browsing(browser) as page:
        await create_account(page, live, BOB)
        await page.context.clear_cookies()
        await page.goto(printed_address(live, "Sign in"))
        assert await focused(page) == "identifier"
        await page.keyboard.type(BOB)
        places = []
        while "Sign in" not in places:
            await page.keyboard.press("Tab")
            places.append(await focused(page))
            if places[-1] == "password":
                await page.keyboard.type(PASSWORD)
            if places[-1] == "Show password":
                await page.keyboard.press("Enter")
                await expect(page.locator("#password")).to_have_attribute("type", "text")
                await expect(page.locator("#password")).to_be_focused()
                await page.keyboard.press("Tab")
            if places[-1] == "rememberMe":
                await page.keyboard.press("Space")
                await expect(page.get_by_label("Stay signed in")).not_to_be_checked()
        await page.keyboard.press("Enter")

        await heading(page, "Your account")
        assert places == ["password", "Show password", "rememberMe", "Forgot your password?", "Sign in"]
        [cookie] = [one for one in await page.context.cookies() if "session" in one["name"]]
        assert cookie["expires"] == -1  # It ends with the browser.


async def test_a_downloaded_backup_code_signs_in(browser: Browser, live: LiveService, tmp_path: Path) -> None:
    async with browsing(browser) as page:
        await page.emulate_media(color_scheme="dark")
        await create_account(page, live, EVE)
        authenticator = await scan_qr_code(page)
        async with page.expect_download() as waiting:
            await press(page, "Download")
        download = await waiting.value
        await download.save_as(tmp_path / "codes.txt")
        codes = await asyncio.to_thread((tmp_path / "codes.txt").read_text, "utf-8")
        assert download.suggested_filename == "backup-codes.txt"
        assert codes.split() == await page.locator("#codes li").all_inner_texts()
        await turn_on_two_factor(page, authenticator)
        await press(page, "Sign out")
        await follow(page, "Sign in again")
        await sign_in(page, PASSWORD, EVE)
        await follow(page, "Use a backup code")
        await page.get_by_label("Backup code").fill(codes.split()[0])
        await press(page, "Continue")
        await heading(page, "Your account")
        await follow(page, "Two-factor authentication")

        await expect(page.get_by_text("9 left")).to_be_visible()
