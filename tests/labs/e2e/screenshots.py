"""`python -m tests.labs.e2e.screenshots`: take pictures of every hosted page into build/screenshots.

`--gallery` also puts those of the documentation into docs/pages/assets/gallery. `--only console` takes those of the
console alone, `--only pages` the others.
"""

import argparse
import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from PIL import Image
from playwright.async_api import Browser, Page, ViewportSize

from tests.labs.e2e.browser import SCREENSHOTS, started
from tests.labs.e2e.console_walk import walk_console
from tests.labs.e2e.page_walk import Site, others, site, walk
from tests.live import ROOT

WIDE = ViewportSize(width=1280, height=800)
PHONE = ViewportSize(width=360, height=780)
Walk = Callable[[Page, Site], AsyncIterator[str]]

GALLERY = (
    "light/sign-in",
    "dark/sign-in",
    "light/sign-up-refused",
    "dark/two-factor",
    "light/overview",
    "dark/overview",
    "light/second-factor-setup",
    "light/sessions",
    "phone/api-keys",
    "ar/sign-in",
    "light/console",
    "dark/console",
    "light/console-users",
    "dark/console-users",
    "light/console-users-id",
)
"""The pictures of the documentation."""


def publish(chosen: str | None) -> None:
    """Put the pictures of the gallery that were taken into the documentation, in a smaller format."""
    folder = ROOT / "docs" / "pages" / "assets" / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    of_console = [name for name in GALLERY if "/console" in name]
    others = [name for name in GALLERY if name not in of_console]
    for name in {None: GALLERY, "console": of_console, "pages": others}[chosen]:
        with Image.open(SCREENSHOTS / f"{name}.png") as picture:
            picture.save(folder / f"{name.replace('/', '-')}.webp", quality=75, method=6)


async def main(chosen: str | None) -> None:
    """Walk in English, in light and dark and on a phone, and in Arabic."""
    async with started() as browser:
        for name, names in WALKS.items():
            for locale in ("en", "ar"):
                if chosen not in (None, name):
                    continue
                with tempfile.TemporaryDirectory() as directory, site(Path(directory)) as running:
                    await _walk(browser, running, locale, names)


async def _walk(browser: Browser, running: Site, locale: str, states: Walk) -> None:
    profile = await browser.new_context(locale=locale, viewport=WIDE, reduced_motion="reduce")
    page = await profile.new_page()
    names: list[str] = []
    async for name in states(page, running):
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


async def _pages(page: Page, running: Site) -> AsyncIterator[str]:
    seen: set[str] = set()
    async for name in walk(page, running):
        seen.add(urlsplit(page.url).path)
        yield name
    async for name in others(page, running, seen):
        yield name


async def _picture(page: Page, folder: str, name: str, scheme: Literal["light", "dark"] = "light") -> None:
    await page.emulate_media(color_scheme=scheme)
    await page.screenshot(path=SCREENSHOTS / folder / f"{name}.png", full_page=True)


WALKS: Mapping[str, Walk] = {"pages": _pages, "console": walk_console}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gallery", action="store_true")
    parser.add_argument("--only", choices=tuple(WALKS))
    arguments = parser.parse_args()
    asyncio.run(main(arguments.only))
    if arguments.gallery:
        publish(arguments.only)
