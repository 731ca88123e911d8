"""The hosted pages in a real browser: sign up, protect the account with a second factor, sign in with it."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyotp
import pytest
from playwright.async_api import Browser, Page, expect

from tests import qr_codes
from tests.bench.servers import free_port
from tests.e2e.browser import browsing, picture
from tests.live import LiveService, serving
from tests.service import PASSWORD

ADA = "ada@example.com"
NAVIGATION = "Account"


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveService]:
    """A service as browsers reach it, over http."""
    port = free_port()
    settings = {
        "base_url": f"http://127.0.0.1:{port}",
        "session.cookie_secure": "false",
        "api_keys.enabled": "true",
    }
    with serving(tmp_path, settings, port=port) as service:
        yield service


async def sign_up(page: Page, live: LiveService) -> None:
    """Create the account with the form, and go to its page of the second factor."""
    await page.goto(f"{live.url}/account/sign-up?callbackURL=/account/second-factor")
    await page.get_by_label("Name", exact=True).fill("Ada")
    await page.get_by_label("Email address").fill(ADA)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Two-factor authentication")


async def begin_setup(page: Page) -> None:
    """Go to the page with the QR code."""
    await page.get_by_role("link", name="Set up", exact=True).click()
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Set up your authenticator app")


async def scan(page: Page) -> pyotp.TOTP:
    """Return the authenticator that has scanned the picture on the page."""
    uri = qr_codes.in_picture(await page.locator("svg.qr").screenshot())
    assert urlsplit(uri)[:3] == ("otpauth", "totp", f"/Gatewright:{ADA.replace('@', '%40')}")
    return pyotp.TOTP(parse_qs(urlsplit(uri).query)["secret"][0])


async def sign_in(page: Page) -> None:
    """Sign in with the password, up to the page that asks for the code."""
    await page.get_by_label("Email address").fill(ADA)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Enter your code")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_user_scans_the_qr_code_and_signs_in_with_a_code(
    browser: Browser, live: LiveService, scheme: str
) -> None:
    async with browsing(browser) as page:
        await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        await sign_up(page, live)
        await begin_setup(page)
        await picture(page, f"second-factor-setup-{scheme}")
        authenticator = await scan(page)
        codes = await page.locator("#codes li").all_inner_texts()
        await page.get_by_label("Code from your authenticator app").fill(authenticator.now())
        await page.get_by_role("button", name="Turn on").click()
        await expect(page.get_by_role("status")).to_contain_text("signing in requires a code")
        await picture(page, f"second-factor-{scheme}")
        assert len(codes) == 10

        await page.get_by_role("button", name="Sign out").first.click()
        await page.goto(f"{live.url}/account/sign-in?callbackURL=/account/sessions")
        await sign_in(page)
        await page.get_by_label("Code from your authenticator app").fill(authenticator.now())
        await page.get_by_role("button", name="Continue").click()

        await expect(page.get_by_role("heading", level=1)).to_have_text("Where you are signed in")
        await expect(page.get_by_text("this one")).to_have_count(1)
        await picture(page, f"sessions-{scheme}")


def read(path: Path) -> list[str]:
    """Return the lines of a file."""
    return path.read_text("utf-8").split()


async def test_a_backup_code_that_was_downloaded_lets_in(
    browser: Browser, live: LiveService, tmp_path: Path
) -> None:
    async with browsing(browser) as page:
        await sign_up(page, live)
        await begin_setup(page)
        authenticator = await scan(page)
        async with page.expect_download() as waiting:
            await page.get_by_role("button", name="Download").click()
        download = await waiting.value
        await download.save_as(tmp_path / "codes.txt")
        saved = read(tmp_path / "codes.txt")
        assert download.suggested_filename == "backup-codes.txt"
        assert saved == await page.locator("#codes li").all_inner_texts()
        await page.get_by_label("Code from your authenticator app").fill(authenticator.now())
        await page.get_by_role("button", name="Turn on").click()
        await expect(page.get_by_role("status")).to_contain_text("signing in requires a code")

        await page.get_by_role("button", name="Sign out").first.click()
        await page.goto(f"{live.url}/account/sign-in?callbackURL=/account/second-factor")
        await sign_in(page)
        await page.get_by_role("link", name="Use a backup code").click()
        await page.get_by_label("Backup code").fill(saved[0])
        await page.get_by_role("button", name="Continue").click()

        await expect(page.get_by_text("9 left")).to_be_visible()


@pytest.mark.threat("H10")
async def test_everything_works_without_scripts(browser: Browser, live: LiveService) -> None:
    profile = await browser.new_context(java_script_enabled=False)
    page = await profile.new_page()
    await sign_up(page, live)
    await begin_setup(page)
    authenticator = await scan(page)
    await page.get_by_label("Code from your authenticator app").fill(authenticator.now())
    await page.get_by_role("button", name="Turn on").click()
    await expect(page.get_by_role("status")).to_contain_text("signing in requires a code")

    await page.get_by_role("navigation", name=NAVIGATION).get_by_role("link", name="API keys").click()
    await page.get_by_label("Name").fill("ci")
    await page.get_by_role("button", name="Create the key").click()
    await expect(page.locator("#key")).to_be_visible()
    await page.get_by_role("link", name="I have saved it").click()
    await page.get_by_role("button", name="Delete the key ci").click()
    await expect(page.get_by_text("You have no keys.")).to_be_visible()
    await profile.close()
