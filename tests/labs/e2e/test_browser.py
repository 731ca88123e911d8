"""Sign-in through a provider in a real browser: its cookies, its rules about other origins, its redirects."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pyotp
import pytest
from playwright.async_api import Browser, Page, expect

from tests.handlers.steps import bearer, token_in
from tests.labs.e2e.browser import browsing, picture
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.live import TIMEOUT, LiveService, serving
from tests.ports import free_port
from tests.security.second_factor import secret_in
from tests.service import PASSWORD, mails_in

ADA, BOB = "ada@example.com", "bob@example.com"


@pytest.fixture
def live(tmp_path: Path, provider: ProviderProcess) -> Iterator[LiveService]:
    """A service as browsers reach it, over http, that knows a provider of the present time."""
    provider.reset()
    port = free_port()
    settings = {
        **social_settings(provider),
        "base_url": f"http://127.0.0.1:{port}",
        "session.cookie_secure": "false",
    }
    with serving(tmp_path, settings, port=port) as service:
        yield service


async def open_application(page: Page, live: LiveService, provider: ProviderProcess) -> None:
    """Open the application that lives at another origin than the service."""
    await page.goto(f"{provider.issuer}/app?service={quote(live.url, safe='')}")


async def choose(page: Page, name: str) -> None:
    """Go to the provider and sign in there."""
    await page.get_by_role("button", name="Sign in through provider").click()
    await page.get_by_role("button", name=name).click()


async def call(page: Page, path: str, body: Any = None) -> Any:
    """Send a request from the application's page to the service, with the cookies that the browser has for it.

    With a body, it is a POST.
    """
    answer = await page.evaluate("([path, body]) => call(path, body)", [path, body])
    assert answer["ok"], answer["body"]
    return answer["body"]


async def test_a_new_user_denies_signs_up_out_and_in(
    browser: Browser, live: LiveService, provider: ProviderProcess
) -> None:
    async with browsing(browser) as page:
        await open_application(page, live, provider)
        await picture(page, "1-application")
        await page.get_by_role("button", name="Sign in through provider").click()
        await expect(page.get_by_role("button", name="Ada")).to_be_visible()
        await picture(page, "2-provider")
        await page.get_by_role("button", name="Nobody").click()
        await expect(page.locator("#error")).to_contain_text("access_denied")
        await expect(page.locator("#stranger")).to_be_visible()
        await picture(page, "3-denied")
        await choose(page, "Ada")
        await expect(page.locator("#email")).to_have_text("ada@example.com")
        await picture(page, "4-signed-up")
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.locator("#stranger")).to_be_visible()
        await choose(page, "Ada")

        await expect(page.locator("#email")).to_have_text("ada@example.com")
        await expect(page.locator("#accounts")).to_have_text("test")
        cookies = {cookie["name"]: cookie for cookie in await page.context.cookies(live.url)}
        assert set(cookies) == {"service.session-token"}
        assert cookies["service.session-token"]["httpOnly"] is True
        assert cookies["service.session-token"]["sameSite"] == "Lax"


async def test_a_user_with_a_password_links_reads_refreshes_and_unlinks(
    browser: Browser, live: LiveService, provider: ProviderProcess
) -> None:
    named = {"providerId": "test"}
    async with browsing(browser) as page:
        await open_application(page, live, provider)
        await call(page, "/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD})
        targets = {"callbackURL": page.url, "errorCallbackURL": page.url}
        begun = await call(page, "/link-social", {"provider": "test", **targets})
        await page.goto(begun["url"])
        await page.get_by_role("button", name="Ada").click()
        await expect(page.locator("#accounts")).to_have_text("credential, test")
        await picture(page, "7-linked")

        listed = await call(page, "/list-accounts")
        first, again = [await call(page, "/get-access-token", named) for _ in range(2)]
        renewed = await call(page, "/refresh-token", named)
        shown = await call(page, "/account-info?providerId=test")
        unlinked = await call(page, "/unlink-account", named)
        await page.reload()

        await expect(page.locator("#accounts")).to_have_text("credential")
        assert [(one["provider"], one["issuer"]) for one in listed] == [
            ("credential", ""),
            ("test", provider.issuer),
        ]
        assert first == again
        assert all(renewed[name] != first[name] for name in ("accessToken", "refreshToken"))
        assert shown["user"]["email"] == ADA
        assert unlinked == {"status": True}
        names = {cookie["name"] for cookie in await page.context.cookies(live.url)}
        assert names == {"service.session-token"}


async def test_an_account_that_a_stranger_prepared_is_not_entered(
    browser: Browser, live: LiveService, provider: ProviderProcess
) -> None:
    async with httpx.AsyncClient(base_url=live.url, trust_env=False, timeout=TIMEOUT) as stranger:
        body = {"name": "Mallory", "email": ADA, "password": PASSWORD}
        prepared = bearer((await stranger.post("/sign-up/email", json=body)).json()["token"])
        stranger.cookies.clear()
        async with browsing(browser) as page:
            await open_application(page, live, provider)

            await choose(page, "Ada")

            await expect(page.locator("#error")).to_contain_text("account_not_linked")
            await expect(page.locator("#stranger")).to_be_visible()
            assert await page.context.cookies(live.url) == []
        accounts = (await stranger.get("/list-accounts", headers=prepared)).json()
    assert [account["provider"] for account in accounts] == ["credential"]


async def test_a_two_factor_user_is_asked_for_a_code(
    browser: Browser, live: LiveService, provider: ProviderProcess, tmp_path: Path
) -> None:
    authenticator = enrol(live, tmp_path / "mail.jsonl")
    async with browsing(browser) as page:
        await open_application(page, live, provider)

        await choose(page, "Bob")

        await expect(page.locator("#pending")).to_be_visible()
        await picture(page, "5-pending")
        names = {cookie["name"] for cookie in await page.context.cookies(live.url)}
        assert names == {"service.two-factor"}
        await page.locator("#code").fill(authenticator.at(int(time.time()) + 30))
        await page.get_by_role("button", name="Go on").click()
        await expect(page.locator("#email")).to_have_text(BOB)
        await expect(page.locator("#accounts")).to_have_text("credential, test")
        await picture(page, "6-signed-in")


def enrol(live: LiveService, mails: Path) -> pyotp.TOTP:
    """Make a user with a password, a proven address and an authenticator; give the authenticator."""
    with httpx.Client(base_url=live.url, trust_env=False, timeout=TIMEOUT) as client:
        body = {"name": "Bob", "email": BOB, "password": PASSWORD}
        session = bearer(client.post("/sign-up/email", json=body).json()["token"])
        client.cookies.clear()
        token = token_in(link_in(mails))
        assert client.get("/verify-email", params={"token": token}).status_code == 200
        enabled = client.post("/two-factor/enable", json={"password": PASSWORD}, headers=session).json()
        authenticator = pyotp.TOTP(secret_in(enabled["totpURI"]))
        code = authenticator.at(int(time.time()))
        confirmed = client.post("/two-factor/verify-totp", json={"code": code}, headers=session)
        assert confirmed.status_code == 200, confirmed.text
    return authenticator


def link_in(mails: Path) -> str:
    """Wait for the verification mail, and give its link."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        found = [mail["link"] for mail in mails_in(mails) if mail["template"] == "verify-email"]
        if found:
            return str(found[-1])
        time.sleep(0.02)
    raise AssertionError("no verification mail came")
