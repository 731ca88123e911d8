"""The guide on sign-in by mail, followed in a real browser, and its pages without scripts."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from tests.docs.typing_in import BASE, blocks, guide
from tests.labs.e2e.browser import browsing, picture
from tests.labs.e2e.test_reset_pages import file_server
from tests.live import TIMEOUT, LiveService, serving
from tests.ports import free_port

ADA = "ada@example.com"
NO_PAGE = "page = "
"""What the guide says to leave out of its settings where there is no page of one's own."""


@pytest.fixture(params=["hosted page", "page of the guide"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[LiveService, str]]:
    """The service with the settings of the guide, and the origin of an application, which has the page of the guide."""
    shown = {block.title: block.text for block in blocks(guide("sign-in-by-mail")) if block.title}
    port, pages = free_port(), tmp_path / "pages"
    pages.mkdir()
    (pages / "confirm.html").write_text(
        shown["confirm.html"].replace(BASE, f"http://127.0.0.1:{port}"), "utf-8"
    )
    (pages / "welcome.html").write_text("<!doctype html><title>Welcome</title><h1>Welcome</h1>", "utf-8")
    with file_server(pages) as origin:
        text = shown["gatewright.toml"].replace("https://app.example.com", origin)
        if request.param == "hosted page":
            text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(NO_PAGE))
        (tmp_path / "gatewright.toml").write_text(text, "utf-8")
        settings = {
            "base_url": f"http://127.0.0.1:{port}",
            "trusted_origins": json.dumps([origin]),
            "session.cookie_secure": "false",
            "mail.sender": "console",
        }
        with serving(tmp_path, settings, port=port) as live:
            yield live, origin


def mailed(live: LiveService, template: str, pattern: str) -> str:
    """Return the link or code in the last email of a template."""
    return live.output.wait_for(rf"^── email: {template} [^\n]*\nto +{ADA}\n[^\n]*\n(?:code +)?({pattern})$")[
        1
    ]


def request_link(live: LiveService, **body: str) -> str:
    """Request a link; return it."""
    answer = httpx.post(
        f"{live.url}/sign-in/magic-link", json={"email": ADA, **body}, trust_env=False, timeout=TIMEOUT
    )
    assert answer.json() == {"status": True}
    return mailed(live, "magic-link", r"http\S+")


async def whose(page: Page, live: LiveService) -> str | None:
    """Return the address of who the browser is signed in as."""
    answer = await page.request.get(f"{live.url}/get-session")
    return str((await answer.json())["user"]["email"]) if answer.status == 200 else None


@pytest.mark.threat("M1", "M9")
async def test_a_link_signs_in_when_its_button_is_pressed(
    browser: Browser, place: tuple[LiveService, str]
) -> None:
    live, origin = place
    link = request_link(live, callbackURL=f"{origin}/welcome.html")
    async with browsing(browser) as page:
        for _ in range(3):  # As scanners of mail do, scripts included.
            await page.goto(link, wait_until="networkidle")
        assert await whose(page, live) is None
        await expect(page.get_by_text("a***@example.com")).to_be_visible()
        await picture(page, "magic-link")
        await page.get_by_role("button", name=re.compile("^(Sign in|Create the account)$")).click()

        await expect(page.get_by_role("heading", level=1)).to_have_text("Welcome")
        assert await whose(page, live) == ADA
        assert link.partition("token=")[2][:32] not in await page.evaluate("document.referrer")

        await page.goto(link)
        await expect(page.get_by_text("no longer valid")).to_be_visible()


@pytest.mark.parametrize("place", ["hosted page"], indirect=True)
async def test_the_pages_need_no_scripts(browser: Browser, place: tuple[LiveService, str]) -> None:
    live, _ = place
    profile = await browser.new_context(java_script_enabled=False)
    page = await profile.new_page()
    for way in ("link", "code"):
        await page.goto(f"{live.url}/account/sign-in?callbackURL=/account/sessions")
        await page.get_by_role("link", name="Email me a sign-in link").click()
        await page.get_by_label("Email address").fill(ADA)
        await page.get_by_role("button", name=way).click()
        if way == "link":
            await expect(page.get_by_text("we have sent a link to it")).to_be_visible()
            await page.goto(mailed(live, "magic-link", r"http\S+"))
            await page.get_by_role("button", name="Create the account").click()
        else:
            await page.get_by_label("Code from the email").fill(mailed(live, "sign-in-code", r"\d{6}"))
            await page.get_by_role("button", name="Sign in", exact=True).click()

        await expect(page.get_by_role("heading", level=1)).to_have_text("Devices and sessions")
        assert await whose(page, live) == ADA
        await profile.clear_cookies()
    await profile.close()
