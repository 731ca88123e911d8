"""What administrators do in the console: with scripts and without, on a desktop and on a phone, by keyboard alone."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import pyotp
import pytest
from playwright.async_api import Browser, Page, ViewportSize, expect

from tests.labs.e2e.page_walk import Site, site
from tests.labs.e2e.test_pages_journey import follow, heading, press, sign_in
from tests.live import promote
from tests.service import PASSWORD

DESKTOP, PHONE = ViewportSize(width=1280, height=800), ViewportSize(width=360, height=780)
PEOPLE = ("Mary Jackson", "Dorothy Vaughan", "Annie Easley")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service with a few users; every test has an administrator and a target of its own."""
    with site(tmp_path_factory.mktemp("service")) as running:
        for name in PEOPLE:
            add_user(running, f"{name.split()[0].lower()}@example.com", name)
        yield running


def add_user(running: Site, email: str, name: str) -> str:
    """Sign a user up as a program does; return the token of the session."""
    joined = running.post("/sign-up/email", {"name": name, "email": email, "password": PASSWORD})
    return str(joined.json()["token"])


def add_administrator(running: Site, email: str) -> None:
    """Sign a user up, and make them an administrator with the command."""
    add_user(running, email, "Root")
    promote(email, running.directory, {})


def with_second_factor(running: Site, token: str) -> None:
    """Turn on two-factor authentication as a program does."""
    bearer = {"Authorization": f"Bearer {token}"}
    uri = running.post("/two-factor/enable", {"password": PASSWORD}, **bearer).json()["totpURI"]
    code = pyotp.TOTP(parse_qs(urlsplit(uri).query)["secret"][0]).now()
    running.post("/two-factor/verify-totp", {"code": code}, **bearer)


@asynccontextmanager
async def window(browser: Browser, size: ViewportSize, *, scripts: bool = True) -> AsyncIterator[Page]:
    """Yield a page of a new profile; what a page throws fails the test."""
    profile = await browser.new_context(viewport=size, java_script_enabled=scripts, locale="en")
    page = await profile.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    yield page
    await profile.close()
    assert faults == []


async def enter(page: Page, running: Site, email: str) -> None:
    """Open the console, sign in on the page that it leads to, and be back in the console."""
    await page.goto(running.url("/console"))
    await expect(page).to_have_url(running.url("/account/sign-in?callbackURL=%2Fconsole"))
    await sign_in(page, PASSWORD, email)
    await heading(page, "Overview")


async def find(page: Page, text: str, email: str) -> None:
    """Search for a part of an email address that one user has."""
    await page.locator(".find input").fill(text)
    await page.locator(".find input").press("Enter")
    await expect(page).to_have_url(re.compile(r"/console/users/\w{32}$"))
    await expect(page.locator("main")).to_contain_text(email)


async def told(page: Page, text: str) -> None:
    """Wait for the notice of what was done."""
    await expect(page.get_by_role("status")).to_contain_text(text)


async def ban_and_unban(page: Page) -> None:
    await follow(page, "Ban")
    await heading(page, "Ban the user")
    await page.get_by_label("Reason").fill("Sends spam")
    await page.get_by_label("in 7 days").check()
    await press(page, "Ban the user")
    await told(page, "banned")
    await expect(page.locator("main")).to_contain_text("Sends spam")
    await press(page, "Lift the ban")
    await told(page, "The ban is lifted.")
    await expect(page.get_by_text("Banned", exact=True)).to_have_count(0)


async def reset_second_factor(page: Page) -> None:
    await follow(page, "Reset the second factor")
    await page.locator("main form button[type=submit]").click()
    await told(page, "second factor")
    await expect(page.get_by_role("link", name="Reset the second factor")).to_have_count(0)


async def impersonate_and_stop(page: Page, running: Site, email: str) -> None:
    """See the banner on our pages, find the console closed, and stop."""
    await follow(page, "Impersonate")
    await press(page, "Impersonate")
    await heading(page, "Your account")
    for path in ("/account", "/account/profile", "/account/sessions"):
        await page.goto(running.url(path))
        await expect(page.locator(".banner")).to_contain_text(email)
    answer = await page.goto(running.url("/console"))
    assert answer is not None
    assert answer.status == 403
    await expect(page.locator(".banner")).to_contain_text(email)
    await press(page, "Stop")
    await expect(page.locator(".banner")).to_have_count(0)


async def create_user(page: Page, running: Site, email: str) -> None:
    await page.goto(running.url("/console/users"))
    await follow(page, "Create a user")
    await page.get_by_label("Name").fill("Valerie Thomas")
    await page.get_by_label("Email address", exact=True).fill(email)
    await expect(page.locator("[name=newPassword]")).to_be_hidden()
    await page.get_by_label("Set one here").check()
    await page.locator("[name=newPassword]").fill(PASSWORD)
    await press(page, "Create the user")
    await heading(page, "Valerie Thomas")


async def delete_user(page: Page, email: str) -> None:
    """Type a wrong address first."""
    await follow(page, "Delete the user")
    await heading(page, "Delete the user")
    await page.get_by_label("Email address of the user").fill("mary@example.com")
    await press(page, "Delete permanently")
    await expect(page.get_by_role("alert")).to_be_visible()
    await page.get_by_label("Email address of the user").fill(email)
    await press(page, "Delete permanently")
    await told(page, "The user is deleted.")
    await heading(page, "Users")


@pytest.mark.threat("C10")
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_the_first_administrator_helps_a_user(
    browser: Browser, running: Site, size: ViewportSize, *, scripts: bool
) -> None:
    mark = f"{size['width']}-{scripts}".lower()
    root, walter, valerie = (f"{name}-{mark}@example.com" for name in ("root", "walter", "valerie"))
    await asyncio.to_thread(add_administrator, running, root)
    with_second_factor(running, add_user(running, walter, "Walter Long"))
    async with window(browser, size, scripts=scripts) as page:
        await enter(page, running, root)
        await find(page, f"alter-{mark}", walter)
        await ban_and_unban(page)
        await reset_second_factor(page)
        await impersonate_and_stop(page, running, walter)
        await create_user(page, running, valerie)
        await delete_user(page, valerie)

        await page.goto(running.url(f"/console/users?search={valerie}"))
        await expect(page.locator("main")).to_contain_text("No user matches.")


async def focused(page: Page) -> str:
    """Return the id of the element that has the focus, or its text."""
    named = "document.activeElement.id || document.activeElement.textContent.trim()"
    return str(await page.evaluate(named))


async def test_an_administrator_walks_by_keyboard_alone(browser: Browser, running: Site) -> None:
    root = "keys@example.com"
    await asyncio.to_thread(add_administrator, running, root)
    async with window(browser, DESKTOP) as page:
        keys = page.keyboard
        await page.goto(running.url("/console/users?sort=name"))
        await expect(page.locator("#identifier")).to_be_focused()
        await keys.type(root)
        await keys.press("Tab")
        await keys.type(PASSWORD)
        await keys.press("Enter")
        await heading(page, "Users")

        await keys.press("/")
        await expect(page.get_by_role("searchbox", name="Search the console")).to_be_focused()
        await keys.type("j?")
        await expect(page.get_by_role("dialog")).to_be_hidden()
        await keys.press("Escape")
        await expect(page.get_by_role("searchbox", name="Search the console")).not_to_be_focused()
        await keys.press("?")
        await expect(page.get_by_role("dialog")).to_be_visible()
        await expect(page.get_by_role("button", name="Close")).to_be_focused()
        await keys.press("j")
        await keys.press("Escape")
        await expect(page.get_by_role("dialog")).to_be_hidden()

        rows = page.locator(".row-link")
        names = await rows.all_inner_texts()
        places = []
        for key in ("j", "j", "j", "k", "k", "k", "j"):
            await keys.press(key)
            places.append(await focused(page))
        assert places == [names[number] for number in (0, 1, 2, 1, 0, 0, 1)]
        await keys.press("Enter")
        await heading(page, names[1])


async def test_tab_goes_from_the_frame_to_the_page(browser: Browser, running: Site) -> None:
    root = "tabs@example.com"
    await asyncio.to_thread(add_administrator, running, root)
    async with window(browser, DESKTOP) as page:
        await enter(page, running, root)
        await page.goto(running.url("/console/users"))
        places = []
        while "Create a user" not in places:
            await page.keyboard.press("Tab")
            places.append(await focused(page))

        pages = await page.locator(".side a").all_inner_texts()
        assert places[:6] == [
            "Skip to the content",
            "",
            "search",
            "Search",
            root,
            "Sign out",
        ]  # "" is the logo.
        assert places[6 : 6 + len(pages)] == pages
        await page.locator(".skip").focus()
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.closest('main') !== null")
