"""A page of another site that frames hosted pages, in a real browser."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from tests.labs.e2e.browser import browsing
from tests.labs.e2e.page_walk import ADA
from tests.labs.e2e.test_reset_pages import file_server
from tests.live import serving
from tests.service import PASSWORD

FRAMED = (
    *("/account/sign-in", "/account/sign-up", "/account", "/account/password", "/account/device"),
    *("/account/consent", "/account/select-account"),
    "/account/nowhere",
)
DEVICES = {"oauth.enabled": "true", "oauth.device.enabled": "true", "jwt.enabled": "true"}


@pytest.mark.threat("H2", "O6")
async def test_the_browser_refuses_to_frame_a_page(browser: Browser, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    with (
        serving(tmp_path, {"session.cookie_secure": "false", **DEVICES}) as live,
        file_server(site) as origin,
    ):
        frames = "".join(f'<iframe src="{live.url}{path}"></iframe>' for path in (*FRAMED, "/ok"))
        (site / "index.html").write_text(frames, "utf-8")
        async with browsing(browser) as page:
            await page.goto(f"{live.url}/account/sign-up")
            for name, value in {"name": "Ada", "email": ADA, "password": PASSWORD}.items():
                await page.fill(f"[name={name}]", value)
            await page.click("main button[type=submit]")
            await page.wait_for_url(f"{live.url}/account")
            refused: list[str] = []
            page.on("console", lambda message: refused.append(message.text))
            await page.goto(f"{origin}/index.html")
            expected = ["chrome-error://chromewebdata/"] * len(FRAMED) + [f"{live.url}/ok"]
            with suppress(TimeoutError):
                async with asyncio.timeout(60):
                    while refusals(refused) < len(FRAMED) or addresses(page) != expected:
                        await page.wait_for_timeout(50)
            shown = addresses(page)

    assert shown == expected
    assert refusals(refused) == len(FRAMED)


def refusals(messages: Sequence[str]) -> int:
    """Return how many messages of the browser tell that a page must not be framed."""
    return sum("frame-ancestors" in text for text in messages)


def addresses(page: Page) -> list[str]:
    """Return what the frames of a page show."""
    return [frame.url for frame in page.frames[1:]]
