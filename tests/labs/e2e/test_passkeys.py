"""Passkeys on the hosted pages, in a real browser with authenticators in software."""

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pyotp
import pytest
from playwright.async_api import Browser, Page, expect

from tests.labs.e2e.browser import browsing, picture
from tests.labs.e2e.virtual_authenticator import attach
from tests.live import serving
from tests.ports import free_port
from tests.service import PASSWORD

PASSKEYS = "/account/passkeys"
ADD = "Add a passkey"


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The origin of a service as browsers reach it: passkeys need a domain."""
    port = free_port()
    origin = f"http://localhost:{port}"
    settings = {
        "base_url": origin,
        "session.cookie_secure": "false",
        "passkey.rp_id": "localhost",
        "passkey.origins": origin,
    }
    with serving(tmp_path_factory.mktemp("passkeys"), settings, port=port):
        yield origin


@pytest.fixture
def email() -> str:
    """An address that no other test of this service uses."""
    return f"ada-{uuid4().hex}@example.com"


async def sign_up(page: Page, origin: str, email: str) -> None:
    """Create the account, and go to its page of passkeys."""
    await page.goto(f"{origin}/account/sign-up?callbackURL={PASSKEYS}")
    await page.get_by_label("Name", exact=True).fill("Ada")
    await page.get_by_label("Email address").fill(email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Passkeys")


async def add(page: Page, name: str) -> None:
    """Add a passkey on the page that is open."""
    await page.get_by_role("textbox", name="Name").fill(name)
    await page.get_by_role("button", name=ADD).click()
    await expect(page.get_by_role("status")).to_contain_text("Your passkey is added.")
    await expect(page.get_by_role("heading", level=3, name=name)).to_be_visible()


async def sign_out(page: Page) -> None:
    await page.get_by_role("button", name="Sign out").first.click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("signed out")


async def sign_in_with_password(page: Page, origin: str, email: str) -> None:
    await page.goto(f"{origin}/account/sign-in?callbackURL={PASSKEYS}")
    await page.get_by_label("Email address").fill(email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()


async def test_a_passkey_is_offered_by_autofill_until_it_is_removed(
    browser: Browser, origin: str, email: str
) -> None:
    async with browsing(browser) as page:
        device = await attach(page)
        await sign_up(page, origin, email)
        await add(page, "Laptop")
        [credential] = await device.credentials()
        assert credential["isResidentCredential"]
        assert credential["userName"] == email
        await page.get_by_role("button", name=ADD).click()
        await expect(page.get_by_role("alert")).to_have_text(
            "This device has a passkey for your account already."
        )
        await picture(page, "passkeys")
        await sign_out(page)

        await page.goto(f"{origin}/account/sign-in?callbackURL={PASSKEYS}")

        await expect(page.get_by_role("heading", level=1)).to_have_text("Passkeys")
        await expect(page.get_by_text("last used")).to_be_visible()

        await page.get_by_role("link", name="Remove the passkey Laptop").click()
        await page.get_by_role("button", name="Remove").click()
        await expect(page.get_by_text("You have no passkeys yet.")).to_be_visible()
        await sign_out(page)
        await page.goto(f"{origin}/account/sign-in")
        await expect(page.get_by_text("This passkey is not known here")).to_be_visible()


async def test_the_button_signs_in_once_the_user_is_verified(
    browser: Browser, origin: str, email: str
) -> None:
    async with browsing(browser) as page:
        device = await attach(page, isUserVerified=False)
        await sign_up(page, origin, email)
        cancelled = "Nothing was done: you cancelled, or it took too long."
        await page.get_by_role("button", name=ADD).click()
        await expect(page.get_by_role("alert")).to_contain_text(cancelled)
        assert await device.credentials() == []

        await device.verify_user(True)
        await add(page, "Key")
        await sign_out(page)
        await device.verify_user(False)
        await device.respond(False)
        await page.goto(f"{origin}/account/sign-in?callbackURL={PASSKEYS}")
        await device.respond(True)
        button = page.get_by_role("button", name="Sign in with a passkey")
        await button.click()
        await expect(page.get_by_role("alert")).to_contain_text(cancelled)
        await picture(page, "passkey-cancelled")

        await device.verify_user(True)
        await button.click()

        await expect(page.get_by_role("heading", level=1)).to_have_text("Passkeys")


async def test_two_devices_of_one_user_sign_in(browser: Browser, origin: str, email: str) -> None:
    async with browsing(browser) as one, browsing(browser) as other:
        await attach(one)
        await sign_up(one, origin, email)
        await add(one, "Laptop")
        await attach(other)
        await sign_in_with_password(other, origin, email)
        await add(other, "Phone")

        for page in (one, other):
            await page.goto(f"{origin}{PASSKEYS}")
            await sign_out(page)
            await page.goto(f"{origin}/account/sign-in?callbackURL={PASSKEYS}")
            await expect(page.get_by_role("heading", level=1)).to_have_text("Passkeys")
            await expect(page.get_by_role("heading", level=3)).to_have_text(["Laptop", "Phone"])


async def test_a_passkey_stands_for_the_second_factor(browser: Browser, origin: str, email: str) -> None:
    async with browsing(browser) as page:
        device = await attach(page)
        await sign_up(page, origin, email)
        await add(page, "Laptop")
        own = {"Origin": origin}
        enabled = await page.request.post(
            f"{origin}/two-factor/enable", data={"password": PASSWORD}, headers=own
        )
        secret = parse_qs(urlsplit((await enabled.json())["totpURI"]).query)["secret"][0]
        confirmed = await page.request.post(
            f"{origin}/two-factor/verify-totp", data={"code": pyotp.TOTP(secret).now()}, headers=own
        )
        assert confirmed.ok
        await sign_out(page)
        await device.respond(False)
        await sign_in_with_password(page, origin, email)
        await expect(page.get_by_role("heading", level=1)).to_have_text("Enter your code")
        await picture(page, "passkey-second-factor")
        await device.respond(True)

        await page.get_by_role("button", name="Use a passkey instead").click()

        await expect(page.get_by_role("heading", level=1)).to_have_text("Passkeys")


@pytest.mark.threat("H10")
async def test_nothing_is_offered_that_needs_scripts(browser: Browser, origin: str, email: str) -> None:
    profile = await browser.new_context(java_script_enabled=False)
    page = await profile.new_page()
    await sign_up(page, origin, email)

    await expect(page.get_by_text("Adding a passkey needs a browser")).to_be_visible()
    await expect(page.get_by_role("button", name=ADD)).to_be_hidden()
    await sign_out(page)
    await page.goto(f"{origin}/account/sign-in")
    await expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
    await expect(page.get_by_role("button", name="Sign in with a passkey")).to_be_hidden()
    await profile.close()
