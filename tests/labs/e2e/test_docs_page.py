"""The contract as the running service shows it at /docs: in a real browser, from this origin alone, light and dark."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from codegen.bundle import bundle
from codegen.client_forms import for_programs
from codegen.walk import operations
from tests.labs.e2e.browser import browsing, picture
from tests.live import TIMEOUT, LiveService, serving

SIGN_UP = "#operations-authentication-authentication_sign_up_email"
Scheme = Literal["light", "dark"]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    with serving(tmp_path_factory.mktemp("docs"), {}) as service:
        yield service


BEHIND = ("html", f"{SIGN_UP} textarea")
WRITTEN = (
    ".info p",
    ".opblock-tag a",
    ".opblock-summary-path a",
    ".opblock-summary-description",
    f"{SIGN_UP} .opblock-description p",
    f"{SIGN_UP} .opblock-section-header h4",
    f"{SIGN_UP} textarea",
    f"{SIGN_UP} .responses-table .response-col_status",
)


async def brightness(page: Page, selector: str, what: str = "backgroundColor") -> float:
    """Return how bright a colour of an element is, from 0 for black to 255."""
    colour = await page.locator(selector).first.evaluate(f"element => getComputedStyle(element).{what}")
    red, green, blue = (int(part) for part in re.findall(r"\d+", colour)[:3])
    return (red + green + blue) / 3


async def shown_by_scrolling(page: Page, number: int) -> set[str]:
    """Return the operations that are shown, once there are so many or half a minute has passed; go back up.

    The page draws only those in view, which may take longer than the way past them.
    """
    seen: set[str] = set()
    deadline = time.monotonic() + 30
    while len(seen) < number and time.monotonic() < deadline:
        seen |= await seen_on_the_way_down(page)
    return seen


async def seen_on_the_way_down(page: Page) -> set[str]:
    """Return the operations that are seen while the page is scrolled to its end; go back up."""
    seen: set[str] = set()
    is_at_end = False
    while not is_at_end:
        seen |= set(await page.locator(".opblock").evaluate_all("all => all.map(one => one.id)"))
        is_at_end = await page.evaluate(
            """async () => {
              const before = scrollY;
              scrollBy(0, innerHeight / 2);
              for (let frame = 0; frame < 4; frame++) await new Promise(requestAnimationFrame);
              return scrollY === before;
            }"""
        )
    await page.evaluate("scrollTo(0, 0)")
    return seen


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_it_lists_every_operation_tries_one_and_is_as_bright_as_the_system(
    browser: Browser, live: LiveService, scheme: Scheme
) -> None:
    asked: list[str] = []
    async with browsing(browser) as page:
        page.on("request", lambda one: asked.append(one.url))
        await page.emulate_media(color_scheme=scheme)
        await page.goto(f"{live.url}/docs")
        await expect(page.locator(SIGN_UP)).to_be_visible()
        number = len(list(operations(for_programs(bundle()))))
        assert len(await shown_by_scrolling(page, number)) == number
        await picture(page, f"docs-{scheme}-1-list")

        await page.locator(f"{SIGN_UP} .opblock-summary").click()
        body = page.locator(f"{SIGN_UP} textarea")
        await expect(body).to_be_visible()
        behind = [await brightness(page, one) for one in BEHIND]
        written = [await brightness(page, one, "color") for one in WRITTEN]
        await body.fill((await body.input_value()).replace("ada@", f"ada.{scheme}@"))
        await page.locator(f"{SIGN_UP} .execute").click()

        answer = page.locator(f"{SIGN_UP} .live-responses-table .response")
        await expect(answer.locator(".response-col_status")).to_contain_text("200")
        await expect(answer.locator(".highlight-code").first).to_contain_text(f"ada.{scheme}@example.com")
        await answer.scroll_into_view_if_needed()
        await picture(page, f"docs-{scheme}-2-answer")

    if scheme == "dark":
        assert max(behind) < 60
        assert min(written) > 130
    else:
        assert max(written) < 130
    assert {re.sub(r"^blob:|(?<=\d)/.*$", "", one) for one in asked} == {live.url}


async def test_it_begins_with_the_operations_and_asks_for_one_token(
    browser: Browser, live: LiveService
) -> None:
    async with browsing(browser) as page:
        await page.goto(f"{live.url}/docs")
        first = page.locator(".opblock").first
        await expect(first).to_be_in_viewport()
        await expect(page.locator(".info p").first).to_be_hidden()

        await page.locator(".introduction summary").click()
        await expect(page.locator(".info p").first).to_be_visible()
        await page.locator(".auth-wrapper .authorize").click()
        await expect(page.locator(".auth-container h4")).to_have_count(1)
        grace = {"name": "Grace", "email": "grace@example.com", "password": "seven red bicycles"}
        async with httpx.AsyncClient(timeout=TIMEOUT) as client:
            token = (await client.post(f"{live.url}/sign-up/email", json=grace)).json()["token"]
        await page.locator(".auth-container input").fill(token)
        await page.locator(".auth-container .authorize").click()
        await page.locator(".auth-container .btn-done").click()
        session = page.locator("#operations-sessions-sessions_get_current")
        await session.locator(".opblock-summary").click()
        await session.locator(".execute").click()

        answer = session.locator(".live-responses-table .response")
        await expect(answer.locator(".highlight-code").first).to_contain_text("grace@example.com")


async def test_it_fits_a_telephone(browser: Browser, live: LiveService, tmp_path: Path) -> None:
    async with browsing(browser) as page:
        await page.set_viewport_size({"width": 390, "height": 800})
        await page.goto(f"{live.url}/docs")
        await expect(page.locator(".opblock").first).to_be_visible()
        await picture(page, "docs-telephone")

        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
