"""`python -m tests.labs.e2e.screenshots`: take pictures of every hosted page into build/screenshots.

`--gallery` also puts those of the documentation into docs/pages/assets/gallery.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from PIL import Image
from playwright.async_api import Browser, Page, ViewportSize

from tests.labs.e2e.browser import SCREENSHOTS, started
from tests.labs.e2e.page_walk import Site, others, site, walk
from tests.live import ROOT

WIDE = ViewportSize(width=1280, height=800)
PHONE = ViewportSize(width=390, height=844)


GALLERY = (
    "light/sign-in",
    "light/sign-up-refused",
    "dark/two-factor",
    "dark/overview",
    "light/second-factor-setup",
    "light/sessions",
    "phone/api-keys",
    "ar/sign-in",
)
"""The pictures of the documentation."""


def publish() -> None:
    """Put the pictures of the gallery into the documentation, in a smaller format."""
    folder = ROOT / "docs" / "pages" / "assets" / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    for name in GALLERY:
        with Image.open(SCREENSHOTS / f"{name}.png") as picture:
            picture.save(folder / f"{name.replace('/', '-')}.webp", quality=75, method=6)


async def main() -> None:
    """Walk in English, in light and dark and on a phone, and in Arabic."""
    async with started() as browser:
        for locale in ("en", "ar"):
            with tempfile.TemporaryDirectory() as directory, site(Path(directory)) as running:
                await _walk(browser, running, locale)


async def _walk(browser: Browser, running: Site, locale: str) -> None:
    profile = await browser.new_context(locale=locale, viewport=WIDE, reduced_motion="reduce")
    page = await profile.new_page()
    names: list[str] = []
    async for name in _names(page, running):
        names.append(name)
        if locale == "ar":
            await _picture(page, "ar", name)
            continue
        await _picture(page, "light", name)
        await _picture(page, "dark", name, "dark")
        await page.set_viewport_size(PHONE)
        await _picture(page, "phone", name)
        await page.set_viewport_size(WIDE)
    print(f"{locale}: {len(names)} pages in {SCREENSHOTS}")
    await profile.close()


async def _names(page: Page, running: Site) -> AsyncIterator[str]:
    seen: set[str] = set()
    async for name in walk(page, running):
        seen.add(urlsplit(page.url).path)
        yield name
    async for name in others(page, running, seen):
        yield name


async def _picture(page: Page, folder: str, name: str, scheme: Literal["light", "dark"] = "light") -> None:
    await page.emulate_media(color_scheme=scheme)
    await page.screenshot(path=SCREENSHOTS / folder / f"{name}.png", full_page=True)


if __name__ == "__main__":
    asyncio.run(main())
    if "--gallery" in sys.argv:
        publish()
