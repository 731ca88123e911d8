"""A page of another origin in a real browser: a trusted one does all that its guide says, an untrusted one nothing."""

import json
import sqlite3
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from server.services import load_settings
from tests.docs.typing_in import blocks, guide
from tests.labs.e2e.browser import browsing, picture
from tests.labs.e2e.cross_origin import at_another_origin
from tests.live import LiveService, serving
from tests.ports import free_port
from tests.service import PASSWORD

ADA, BOB, EVE = "ada@example.com", "bob@example.com", "eve@example.com"
SHOWN = {block.title: block.text for block in blocks(guide("browser"))}

PLAIN_FETCH = """async ([address, body]) => {
  try {
    const answer = await fetch(address, { method: "POST", credentials: "include",
      headers: { "Content-Type": "application/json" }, body });
    return answer.status;
  } catch (fault) { return String(fault); }
}"""
"""What needs the leave of the other origin: the browser asks first."""

SILENT_FETCH = """([address, body]) => fetch(address, { method: "POST", mode: "no-cors", credentials: "include", body })
  .then((answer) => answer.type)"""
"""What needs nobody's leave: it is sent, and the page learns nothing of the answer."""

FORM = """([address, body]) => {
  document.body.insertAdjacentHTML("beforeend",
    `<form method="post" enctype="text/plain" action="${address}" target="forged"><input name='${body}'></form>
     <iframe name="forged"></iframe>`);
  document.forms[document.forms.length - 1].submit();
}"""
"""A form of which the visitor sees nothing."""


@dataclass(frozen=True, slots=True)
class Place:
    """A running service, and the origins of two pages that call it: one it trusts, and one it does not."""

    live: LiveService
    trusted: str
    untrusted: str
    directory: Path

    def count(self, table: str) -> int:
        """Return how many rows a table holds."""
        with closing(sqlite3.connect(self.directory / "gatewright.db", timeout=30)) as database:
            return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    def wait_for_refusal(self, path: str, code: str) -> None:
        """Wait until the service has said that it refused an origin there."""
        parts = "".join(rf"(?=[^\n]*{part})" for part in (r"origin\.refused", path, code))
        self.live.output.wait_for(rf"^{parts}[^\n]*$")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Two pages and a service, each at a port of its own."""
    directory = tmp_path_factory.mktemp("place")
    port = free_port()
    page = SHOWN["page.html"].replace("http://localhost:8000", f"http://127.0.0.1:{port}")
    with ExitStack() as ends:
        trusted, untrusted = (ends.enter_context(at_another_origin(page)) for _ in range(2))
        settings = {
            "base_url": f"http://127.0.0.1:{port}",
            "trusted_origins": json.dumps([trusted]),
            "session.cookie_secure": "false",
        }
        live = ends.enter_context(serving(directory, settings, port=port))
        yield Place(live, trusted, untrusted, directory)


async def fill(page: Page, button: str, *, email: str = ADA, password: str = PASSWORD) -> None:
    """Fill in the form of the page, and press a button of it."""
    await page.get_by_label("Name").fill("Ada")
    await page.get_by_label("Email").fill(email)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name=button).click()


async def expect_signed_in(page: Page, email: str) -> None:
    """Wait until the page shows who is signed in; hidden, it still holds who was."""
    await expect(page.locator("#known")).to_be_visible()
    await expect(page.locator("#who")).to_have_text(f"Ada ({email})")


async def test_a_page_of_a_trusted_origin_signs_up_out_and_in(browser: Browser, place: Place) -> None:
    async with browsing(browser) as page:
        await page.goto(place.trusted)
        await picture(page, "cross-origin-1-stranger")
        await fill(page, "Sign up")
        await expect_signed_in(page, ADA)
        await picture(page, "cross-origin-2-signed-up")
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.locator("#stranger")).to_be_visible()
        await fill(page, "Sign in", password="quite another one")
        await expect(page.locator("#message")).to_have_text("Invalid email or password")
        await picture(page, "cross-origin-3-refused")
        await fill(page, "Sign in")
        await expect_signed_in(page, ADA)
        await page.reload()
        await expect_signed_in(page, ADA)

        [cookie] = await page.context.cookies(place.live.url)
        assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == (
            "service.session-token",
            True,
            "Lax",
        )
        assert await page.evaluate("document.cookie") == ""


async def test_a_page_of_an_untrusted_origin_learns_and_does_nothing(browser: Browser, place: Place) -> None:
    users = place.count("user")
    async with browsing(browser) as page:
        await page.goto(place.untrusted)
        await expect(page.locator("#message")).to_contain_text("No response:")

        await fill(page, "Sign up", email=EVE)

        await expect(page.locator("#message")).to_contain_text("Failed to fetch")
        await picture(page, "cross-origin-4-untrusted")
        assert await page.context.cookies(place.live.url) == []
        assert place.count("user") == users


async def test_an_untrusted_page_cannot_use_the_session_of_its_visitor(
    browser: Browser, place: Place
) -> None:
    async with browsing(browser) as page:
        await page.goto(place.trusted)
        await fill(page, "Sign up", email=BOB)
        await expect_signed_in(page, BOB)
        sessions = place.count("session")
        await page.goto(place.untrusted)
        await expect(page.locator("#message")).to_contain_text("No response:")
        sign_out, end = f"{place.live.url}/sign-out", f"{place.live.url}/revoke-sessions"

        plain = await page.evaluate(PLAIN_FETCH, [sign_out, "{}"])
        seen = await page.evaluate(SILENT_FETCH, [sign_out, "{}"])
        await page.evaluate(FORM, [end, "{}"])

        assert "Failed to fetch" in plain
        assert seen == "opaque"
        place.wait_for_refusal("/sign-out", "INVALID_ORIGIN")
        place.wait_for_refusal("/revoke-sessions", "INVALID_ORIGIN")
        await page.goto(place.trusted)
        await expect_signed_in(page, BOB)
        assert place.count("session") == sessions
        # The same from a page that is trusted has its effect.
        assert await page.evaluate(PLAIN_FETCH, [end, "{}"]) == 200
        assert place.count("session") == sessions - 1


@pytest.mark.parametrize(
    ("host", "code"),
    [("127.0.0.1", "INVALID_ORIGIN"), ("localhost", "CROSS_SITE_NAVIGATION_LOGIN_BLOCKED")],
    ids=["same-site", "other-site"],
)
async def test_a_forged_form_signs_nobody_up(browser: Browser, place: Place, host: str, code: str) -> None:
    users = place.count("user")
    address = f"{place.live.url}/sign-up/email"
    body = json.dumps({"name": "Eve", "email": EVE, "password": PASSWORD})
    async with browsing(browser) as page:
        await page.goto(place.untrusted.replace("127.0.0.1", host))

        await page.evaluate(FORM, [address, body])

        place.wait_for_refusal("/sign-up/email", code)
        assert await page.context.cookies(place.live.url) == []
        assert place.count("user") == users


@pytest.mark.parametrize("title", ["gatewright.toml", "development.toml"])
def test_the_settings_of_the_guide_are_settings(tmp_path: Path, title: str) -> None:
    (tmp_path / "gatewright.toml").write_text(SHOWN[title], "utf-8")

    settings = load_settings({"GATEWRIGHT_PROFILE": "development"}, tmp_path)

    assert settings.trusted_origins == tuple(tomllib.loads(SHOWN[title])["trusted_origins"])
