"""A user comes from an application, goes through the pages and returns, in a real browser."""

import base64
import hashlib
import json
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import uuid4

import httpx
import pyotp
import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.live import TIMEOUT, LiveService, serving
from tests.ports import free_port
from tests.security.second_factor import secret_in
from tests.service import PASSWORD

VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
SECRET = "s" * 32
ELSEWHERE = "elsewhere.localhost"
"""A host name that no setting knows; Chromium resolves it to the loopback."""


class _Shop(BaseHTTPRequestHandler):
    """An application: `/start` sends its user to the service; `/callback` redeems the code, and redirects elsewhere."""

    server: "_ShopServer"

    def do_GET(self) -> None:
        """Respond."""
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query))
        if parts.path == "/start":
            self._redirect(f"{self.server.service}/oauth2/authorize?{urlencode(self._request() | query)}")
        elif parts.path == "/callback":
            self._redirect(
                f"http://{ELSEWHERE}:{self.server.server_port}/done?{urlencode({'said': self._redeem(query)})}"
            )
        else:
            self._page(query.get("said", ""))

    def _request(self) -> dict[str, str]:
        return {
            "client_id": "shop",
            "response_type": "code",
            "redirect_uri": f"{self.server.origin}/callback",
            "scope": "openid email",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
        }

    def _redeem(self, query: dict[str, str]) -> str:
        """Return what the application learns of a response: the user's email address, or the error."""
        if "error" in query:
            return query["error"]
        tokens = httpx.post(
            f"{self.server.service}/oauth2/token",
            data={"grant_type": "authorization_code", "code": query["code"], "code_verifier": VERIFIER},
            auth=("shop", SECRET),
            trust_env=False,
            timeout=TIMEOUT,
        ).raise_for_status()
        payload = tokens.json()["id_token"].split(".")[1]
        return str(json.loads(base64.urlsafe_b64decode(payload + "=="))["email"])

    def _redirect(self, url: str) -> None:
        self.send_response(302)
        self.send_header("Location", url)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _page(self, said: str) -> None:
        body = f"<!doctype html><title>Shop</title><h1>Shop</h1><p id=said>{said}</p>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name is the base's
        """Log nothing."""


class _ShopServer(ThreadingHTTPServer):
    service = ""

    @property
    def origin(self) -> str:
        return f"http://localhost:{self.server_port}"


@contextmanager
def shop_server() -> Iterator[_ShopServer]:
    """Serve the application on a free port until the end of the block."""
    server = _ShopServer(("127.0.0.1", 0), _Shop)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass(frozen=True, slots=True)
class Site:
    """A running service, its directory, and an application that signs users in through it."""

    live: LiveService
    shop: str
    directory: Path

    def post(self, path: str, body: dict[str, str], token: str = "") -> httpx.Response:
        """Call an operation as a program."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = httpx.post(
            f"{self.live.url}{path}", json=body, headers=headers, trust_env=False, timeout=TIMEOUT
        )
        return answer.raise_for_status()

    def sign_up(self) -> tuple[str, str]:
        """Create a user; return the email address, and the token of a session."""
        email = f"{uuid4()}@example.com"
        answer = self.post("/sign-up/email", {"name": "Ada", "email": email, "password": PASSWORD})
        return email, answer.json()["token"]

    def expire_requests(self) -> None:
        """Expire all requests."""
        with sqlite3.connect(self.directory / "gatewright.db", timeout=30) as database:
            database.execute("UPDATE oauth_request SET expires_at = created_at")
        database.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The service and the application."""
    port, directory = free_port(), tmp_path_factory.mktemp("service")
    with shop_server() as shop:
        client = {"client_name": "Shop", "redirect_uris": [f"{shop.origin}/callback"], "secret": SECRET}
        settings = {
            "base_url": f"http://127.0.0.1:{port}",
            "session.cookie_secure": "false",
            "limits.requests": "0",
            "jwt.enabled": "true",
            "oauth.enabled": "true",
            "oauth.clients": json.dumps({"shop": client}),
        }
        with serving(directory, settings, port=port) as live:
            shop.service = live.url
            yield Site(live, shop.origin, directory)


@pytest.fixture(params=[True, False], ids=["scripts", "no scripts"])
async def profile(browser: Browser, request: pytest.FixtureRequest) -> AsyncIterator[BrowserContext]:
    """A profile of a browser of the size of a phone, with or without scripts."""
    profile = await browser.new_context(
        viewport={"width": 360, "height": 780}, java_script_enabled=request.param
    )
    yield profile
    await profile.close()


@pytest.fixture
async def page(profile: BrowserContext) -> Page:
    """A window."""
    return await profile.new_page()


async def start(page: Page, site: Site, **changes: str) -> None:
    """Begin at the application."""
    await page.goto(f"{site.shop}/start?{urlencode(changes)}")


async def sign_in(page: Page, email: str) -> None:
    """Fill in the form, and send it by the keyboard."""
    await page.locator("#identifier").fill(email)
    await page.locator("#password").fill(PASSWORD)
    await page.keyboard.press("Enter")


async def press(page: Page, name: str) -> None:
    """Press a button."""
    await page.get_by_role("button", name=name, exact=True).click()


async def said(page: Page, text: str) -> None:
    """Wait until the browser is at the application, on another host, which says this."""
    await expect(page.locator("#said")).to_have_text(text)
    assert urlsplit(page.url).hostname == ELSEWHERE


async def test_a_user_signs_in_allows_and_returns(page: Page, site: Site) -> None:
    email, _ = site.sign_up()
    await start(page, site)
    await expect(page.locator("main")).to_contain_text("Continue to Shop")
    await sign_in(page, email)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Shop wants access to your account")

    # The decision is reached by the keyboard.
    await page.wait_for_load_state()
    allow = page.get_by_role("button", name="Allow", exact=True)
    for _ in range(10):
        await page.keyboard.press("Tab")
        if await allow.evaluate("one => one === document.activeElement"):
            break
    await page.keyboard.press("Enter")

    await said(page, email)
    await start(page, site, prompt="none")
    await said(page, email)


async def test_a_user_cancels_and_is_asked_again(page: Page, site: Site) -> None:
    email, _ = site.sign_up()
    await start(page, site, prompt="none")
    await said(page, "login_required")
    await start(page, site)
    await sign_in(page, email)
    await press(page, "Cancel")
    await said(page, "access_denied")

    await start(page, site, prompt="none")
    await said(page, "consent_required")
    await start(page, site)
    await press(page, "Allow")
    await said(page, email)


async def test_back_after_the_return_and_an_expired_request_lead_on(page: Page, site: Site) -> None:
    email, _ = site.sign_up()
    await start(page, site)
    sign_in_page = page.url
    await sign_in(page, email)
    await press(page, "Allow")
    await said(page, email)

    await page.goto(sign_in_page)
    await expect(page.locator("main")).to_contain_text("was finished in another window")
    await start(page, site, prompt="login")
    site.expire_requests()
    await sign_in(page, email)
    await expect(page.locator("main")).to_contain_text("This sign-in took too long")
    await page.get_by_role("link", name="Go to the account").click()
    await expect(page.get_by_role("heading", level=1)).to_be_visible()


async def test_two_windows_and_two_accounts(profile: BrowserContext, page: Page, site: Site) -> None:
    (ada, _), (eve, _) = site.sign_up(), site.sign_up()
    other = await profile.new_page()
    await start(page, site)
    await start(other, site)
    await sign_in(page, ada)
    await expect(page.locator("main")).to_contain_text(ada)
    await sign_in(other, eve)
    await expect(other.locator("main")).to_contain_text(eve)

    # The form was shown to Ada, and Eve is signed in now.
    await press(page, "Allow")
    await expect(page.locator("main")).to_contain_text(eve)
    assert urlsplit(page.url).port == urlsplit(site.live.url).port
    await press(other, "Allow")
    await said(other, eve)


async def test_another_account_is_chosen(page: Page, site: Site) -> None:
    (ada, _), (eve, _) = site.sign_up(), site.sign_up()
    await start(page, site)
    await sign_in(page, ada)
    await press(page, "Allow")
    await said(page, ada)

    await start(page, site, prompt="select_account")
    await press(page, "Continue as Ada")
    await said(page, ada)
    await start(page, site, prompt="select_account")
    await page.get_by_role("link", name="Use another account").click()
    await sign_in(page, eve)
    await press(page, "Allow")
    await said(page, eve)
    await start(page, site, prompt="login")
    await page.locator("#password").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await said(page, eve)
    await start(page, site, prompt="consent")
    await press(page, "Allow")
    await said(page, eve)


async def test_a_user_signs_up(page: Page, site: Site) -> None:
    email = f"{uuid4()}@example.com"
    await start(page, site, prompt="create", login_hint=email)
    if "/sign-up" not in page.url:
        await page.get_by_role("link", name="Create an account").click()
    await expect(page.locator("#email")).to_have_value(email)
    await page.locator("#name").fill("Ada")
    await page.locator("#password").fill(PASSWORD)
    await press(page, "Create an account")
    await press(page, "Allow")

    await said(page, email)


async def test_a_second_factor_comes_between(page: Page, site: Site) -> None:
    email, token = site.sign_up()
    enabled = site.post("/two-factor/enable", {"password": PASSWORD}, token).json()
    site.post("/two-factor/verify-totp", {"code": pyotp.TOTP(secret_in(enabled["totpURI"])).now()}, token)
    await start(page, site)
    await sign_in(page, email)
    await page.wait_for_url("**method=totp**", timeout=60_000)
    await expect(page.locator("main")).to_contain_text("Continue to Shop")
    await page.goto(page.url.replace("method=totp", "method=backup"))
    await page.locator("#code").fill(enabled["backupCodes"][0])
    await page.keyboard.press("Enter")
    await press(page, "Allow")

    await said(page, email)
