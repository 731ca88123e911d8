"""A person arrives at an application that redirects to another host, after every way in, in a real browser."""

import json
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import pyotp
import pytest
from playwright.async_api import Browser, Page, expect

from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.live import TIMEOUT, LiveService, serving
from tests.ports import free_port
from tests.security.second_factor import secret_in
from tests.service import PASSWORD

ELSEWHERE = "elsewhere.localhost"
"""A host name that no setting trusts; Chromium resolves it to the loopback."""


class _Application(BaseHTTPRequestHandler):
    """An application at `localhost` whose only page redirects to `ELSEWHERE`, where a page shows the Referer."""

    server: ThreadingHTTPServer

    def do_GET(self) -> None:
        """Redirect, or send the page."""
        is_there = self.headers["Host"].startswith(ELSEWHERE)
        body = (
            f"<!doctype html><title>Welcome</title><h1>Welcome</h1><p>{self.headers['Referer']}</p>".encode()
        )
        self.send_response(200 if is_there else 302)
        if not is_there:
            self.send_header("Location", f"http://{ELSEWHERE}:{self.server.server_port}/welcome")
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name is the base's
        """Log nothing."""


@contextmanager
def redirecting_application() -> Iterator[str]:
    """Serve the application on a free port until the end of the block; yield its trusted origin."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Application)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass(frozen=True, slots=True)
class Site:
    """A running service, and the origin of the application that redirects."""

    live: LiveService
    application: str

    def url(self, page: str) -> str:
        """Return the URL of a page of the service, with the application as the place to go to afterwards."""
        return f"{self.live.url}/account{page}?callbackURL={quote(f'{self.application}/start', safe='')}"

    def mailed(self, template: str, email: str, pattern: str) -> str:
        """Return the link or code in the last email of a template."""
        found = self.live.output.wait_for(
            rf"^── email: {template} [^\n]*\nto +{email}\n[^\n]*\n(?:code +)?({pattern})$"
        )
        return found[1]

    def post(self, path: str, body: dict[str, str], token: str = "") -> Any:
        """Call an operation as a program; return the JSON of the response."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = httpx.post(
            f"{self.live.url}{path}", json=body, headers=headers, trust_env=False, timeout=TIMEOUT
        )
        return answer.raise_for_status().json()

    def sign_up(self, email: str) -> str:
        """Create a user; return the token of their session."""
        token: str = self.post("/sign-up/email", {"name": "Ada", "email": email, "password": PASSWORD})[
            "token"
        ]
        return token


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, provider_process: ProviderProcess) -> Iterator[Site]:
    port = free_port()
    provider_process.reset()
    with redirecting_application() as origin:
        settings = {
            **social_settings(provider_process),
            "base_url": f"http://127.0.0.1:{port}",
            "trusted_origins": json.dumps([origin]),
            "session.cookie_secure": "false",
            "mail.sender": "console",
            "magic_links.enabled": "true",
            "email_codes.enabled": "true",
            "limits.requests": "0",
        }
        with serving(tmp_path_factory.mktemp("service"), settings, port=port) as live:
            yield Site(live, origin)


async def press(page: Page, name: str) -> None:
    """Press the button of this name."""
    await page.get_by_role("button", name=name, exact=True).first.click()


async def fill_password(page: Page, site: Site, email: str) -> None:
    await page.goto(site.url("/sign-in"))
    await page.get_by_label("Email address or username").fill(email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await press(page, "Sign in")


async def by_password(page: Page, site: Site, email: str) -> None:
    site.sign_up(email)
    await fill_password(page, site, email)


async def by_second_factor(page: Page, site: Site, email: str) -> None:
    token = site.sign_up(email)
    enabled = site.post("/two-factor/enable", {"password": PASSWORD}, token)
    code = pyotp.TOTP(secret_in(enabled["totpURI"])).now()
    site.post("/two-factor/verify-totp", {"code": code}, token)
    await fill_password(page, site, email)
    await page.get_by_role("link", name="Use a backup code").click()
    await page.get_by_label("Backup code").fill(enabled["backupCodes"][0])
    await press(page, "Continue")


async def by_sign_up(page: Page, site: Site, email: str) -> None:
    await page.goto(site.url("/sign-up"))
    await page.get_by_label("Name", exact=True).fill("Ada")
    await page.get_by_label("Email address").fill(email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await press(page, "Create an account")


async def request_mail(page: Page, site: Site, email: str, way: str) -> None:
    await page.goto(site.url("/sign-in/email"))
    await page.get_by_label("Email address").fill(email)
    await page.get_by_role("button", name=way).click()


async def by_code(page: Page, site: Site, email: str) -> None:
    await request_mail(page, site, email, "code")
    await page.get_by_label("Code from the email").fill(site.mailed("sign-in-code", email, r"\d{6}"))
    await press(page, "Sign in")


async def by_magic_link(page: Page, site: Site, email: str) -> None:
    await request_mail(page, site, email, "link")
    await page.goto(site.mailed("magic-link", email, r"http\S+"))
    await page.get_by_role("button", name=re.compile("^(Sign in|Create the account)$")).click()


async def by_provider(page: Page, site: Site, email: str) -> None:
    await page.goto(site.url("/sign-in"))
    await page.get_by_role("button", name="Test").click()
    await page.get_by_role("button", name="Ada").click()


WAYS = (by_password, by_sign_up, by_second_factor, by_code, by_magic_link, by_provider)


@pytest.mark.threat("H15")
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_arrives_where_the_application_redirects(
    browser: Browser, site: Site, way: Callable[[Page, Site, str], Awaitable[None]], *, scripts: bool
) -> None:
    profile = await browser.new_context(java_script_enabled=scripts)
    page = await profile.new_page()

    await way(page, site, f"{uuid4().hex[:12]}@example.com")

    await expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")
    assert page.url == site.application.replace("localhost", ELSEWHERE) + "/welcome"
    assert await page.locator("p").inner_text() == "None"
    answer = await profile.request.get(f"{site.live.url}/get-session")
    assert answer.status == 200
    site.live.output.wait_for(r'"pages\.show_leaving","query":"target=\*\*\*"')
    await profile.close()
