"""The pages of the guide on password resets and email verification, in a real browser."""

import functools
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from server.services import load_settings
from tests.docs.typing_in import BASE, blocks, guide
from tests.labs.e2e.browser import browsing, picture
from tests.live import TIMEOUT, LiveService, serving
from tests.ports import free_port
from tests.service import PASSWORD

SHOWN = {block.title: block.text for block in blocks(guide("reset-and-verification-pages")) if block.title}
INVALID_LINK = "This link is invalid or has expired. Request a new one."
NEW_PASSWORD = "eight green bicycles"


class _Files(SimpleHTTPRequestHandler):
    """Serve the pages of the guide."""

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the name is the base's
        """Log nothing."""


@contextmanager
def file_server(directory: Path) -> Iterator[str]:
    """Serve a folder on a free local port until the end of the block; yield its origin."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Files, directory=str(directory)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass(frozen=True, slots=True)
class Site:
    """A running service, and the origin of the application with the pages."""

    live: LiveService
    origin: str

    def link(self, template: str, recipient: str) -> str:
        """Return the link in the last email of this template to this recipient."""
        found = self.live.output.wait_for(
            rf"^── email: {template} [^\n]*\nto +{recipient}\n[^\n]*\n(http\S+)$"
        )
        return found[1]

    def post(self, path: str, body: dict[str, str]) -> httpx.Response:
        """Call an operation without a browser."""
        return httpx.post(f"{self.live.url}{path}", json=body, trust_env=False, timeout=TIMEOUT)

    def sign_up(self, email: str) -> None:
        """Create a user whose verification link leads to the page of the guide."""
        body = {
            "name": "Ada",
            "email": email,
            "password": PASSWORD,
            "callbackURL": f"{self.origin}/verified.html",
        }
        assert self.post("/sign-up/email", body).status_code == 200


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The two pages and a service, each on its own port."""
    directory, pages = tmp_path_factory.mktemp("service"), tmp_path_factory.mktemp("pages")
    port = free_port()
    for name in ("reset.html", "verified.html"):
        (pages / name).write_text(SHOWN[name].replace(BASE, f"http://127.0.0.1:{port}"), "utf-8")
    with ExitStack() as ends:
        origin = ends.enter_context(file_server(pages))
        settings = {
            "base_url": f"http://127.0.0.1:{port}",
            "trusted_origins": json.dumps([origin]),
            "mail.sender": "console",
        }
        yield Site(ends.enter_context(serving(directory, settings, port=port)), origin)


async def expect_message(page: Page, text: str) -> None:
    """Wait until the page shows this message."""
    await expect(page.locator("#message")).to_have_text(text)


async def test_a_user_resets_the_password(browser: Browser, site: Site) -> None:
    email = "ada@example.com"
    site.sign_up(email)
    async with browsing(browser) as page:
        await page.goto(f"{site.origin}/reset.html")
        await page.get_by_label("Email").fill(email)
        await page.get_by_role("button", name="Send the link").click()
        await expect_message(page, "If an account has this email address, the link is on its way.")
        await page.goto(site.link("reset-password", email))

        await expect(page.get_by_label("New password")).to_be_visible()
        assert page.url == f"{site.origin}/reset.html"
        await picture(page, "reset-page")
        await page.get_by_label("New password").fill("short")
        await page.get_by_role("button", name="Change the password").click()
        await expect_message(page, "Password too short")
        await page.get_by_label("New password").fill(NEW_PASSWORD)
        await page.get_by_role("button", name="Change the password").click()
        await expect_message(page, "Your password was changed. Sign in with the new one.")

        await page.goto(site.link("reset-password", email))
        await expect_message(page, INVALID_LINK)
    assert site.post("/sign-in/email", {"email": email, "password": NEW_PASSWORD}).status_code == 200


async def test_a_user_verifies_the_email_address(browser: Browser, site: Site) -> None:
    email = "grace@example.com"
    site.sign_up(email)
    async with browsing(browser) as page:
        await page.goto(site.link("verify-email", email))

        await expect_message(page, "Your email address is verified.")
        await expect(page.locator("#resend")).to_be_hidden()


async def test_a_user_requests_another_verification_link(browser: Browser, site: Site) -> None:
    email = "mary@example.com"
    site.sign_up(email)
    async with browsing(browser) as page:
        await page.goto(f"{site.live.url}/verify-email?token=wrong&callbackURL={site.origin}/verified.html")
        await expect_message(page, INVALID_LINK)
        await page.get_by_label("Email").fill(email)
        await page.get_by_role("button", name="Send a new link").click()

        await expect_message(page, "If this email address can be verified, the link is on its way.")


def test_the_settings_of_the_guide_are_settings(tmp_path: Path) -> None:
    (tmp_path / "gatewright.toml").write_text(SHOWN["gatewright.toml"], "utf-8")

    settings = load_settings({"GATEWRIGHT_PROFILE": "development"}, tmp_path)

    assert settings.trusted_origins == ("https://app.example.com",)
