"""A real browser: the Chromium of this machine without a window, driven by Playwright."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, Page, async_playwright, expect

from tests.live import ROOT

SCREENSHOTS = ROOT / "build" / "screenshots"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")

expect.set_options(timeout=60_000)


def program() -> str:
    """Return the path of Chromium; GATEWRIGHT_TEST_CHROMIUM names another one."""
    given = os.environ.get("GATEWRIGHT_TEST_CHROMIUM")
    found = given or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        raise RuntimeError(
            "the tests need Chromium (on Debian: apt install chromium), or GATEWRIGHT_TEST_CHROMIUM=/path/to/it"
        )
    return found


@asynccontextmanager
async def started() -> AsyncIterator[Browser]:
    """Start the browser. It takes longer than most of what is done with it, so several tests may share one."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        yield browser
        await browser.close()


@asynccontextmanager
async def browsing(browser: Browser, locale: str = "en-US") -> AsyncIterator[Page]:
    """Yield a page of a new profile, without cookies; what a page logs as an error or throws fails the test."""
    profile = await browser.new_context(viewport={"width": 900, "height": 700}, locale=locale)
    page = await profile.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    try:
        yield page
    finally:
        await profile.close()
    assert faults == []


async def picture(page: Page, name: str) -> None:
    """Keep what is to be seen in build/screenshots."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=SCREENSHOTS / f"{name}.png")
