"""Every hosted page in a real browser: accessible, valid, light, and whole on a small screen, in dark, in Arabic."""

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, Response, ViewportSize, expect

from tests import packages
from tests.labs.e2e.browser import program
from tests.labs.e2e.console_walk import template_of, walk_console
from tests.labs.e2e.page_walk import (
    ADA,
    CONSOLE_PAGES,
    PAGES,
    PATTERNS,
    Site,
    authorize_path,
    others,
    site,
    walk,
)
from tests.live import administrator
from tests.service import PASSWORD

HERE = Path(__file__).parent / "page_quality"
TIME_LIMIT = 300.0
MOST_BYTES, MOST_REQUESTS = 40_000, 4
LEAST_PERFORMANCE = 95
"""The score of Lighthouse for a phone with a slow processor and network."""
WIDE = ViewportSize(width=1280, height=1024)
ZOOMED = ViewportSize(width=320, height=256)
"""What is left of a window of 1280 by 1024 pixels at 400 %."""

LONG = pytest.mark.skipif(not os.environ.get("GATEWRIGHT_LONG"), reason="takes a minute: make page-quality")
Walk = Callable[[Page, Site], AsyncIterator[str]]

OF_LOOKS = ["color-contrast", "link-in-text-block", "target-size", "scrollable-region-focusable"]
"""The rules of axe-core that the colour scheme and the size of the window decide on."""

WEIGHT = """async () => {
  // What a script asks for in the end, such as the challenge for passkeys, is not loaded to show the page; what a frame
  // shows, such as the preview of an email, is a page of its own.
  const loaded = performance.getEntriesByType("resource")
    .filter((one) => !["fetch", "iframe"].includes(one.initiatorType));
  const packed = await new Response(
    new Blob([document.documentElement.outerHTML]).stream().pipeThrough(new CompressionStream("gzip"))
  ).arrayBuffer();
  return {
    bytes: loaded.reduce((sum, one) => sum + one.encodedBodySize, packed.byteLength),
    requests: 1 + new Set(loaded.map((one) => one.name)).size,
    foreign: loaded.map((one) => one.name).filter((name) => new URL(name).origin !== location.origin),
  };
}"""
OVERFLOW = """() => {
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide) return [];
  const range = document.createRange();
  const isOutside = (box) => box.right > wide + 1 || box.left < -1;
  return [...document.querySelectorAll("body *")]
    .filter((one) => {
      range.selectNodeContents(one); // Text that leaves its element does not make it wider.
      return isOutside(one.getBoundingClientRect()) || isOutside(range.getBoundingClientRect());
    })
    .map((one) => `${one.tagName}.${one.className}`);
}"""
FOCUSABLE = """() => {
  const found = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")];
  const isReached = (one) => one.type !== "radio" || one.checked; // The arrow keys go on from there.
  const shown = found.filter((one) => !one.disabled && one.checkVisibility() && isReached(one));
  document.body.tabIndex = -1;
  document.body.focus();
  document.body.removeAttribute("tabindex");
  window.turns = [];
  document.addEventListener("focusin", ({target}) => {
    const style = getComputedStyle(target), box = target.getBoundingClientRect();
    const over = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    const isOutlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    const isSeen = over !== null && (target.contains(over) || over.contains(target));
    const isInTurn = shown[window.turns.length] === target;
    window.turns.push(isOutlined && isSeen && isInTurn ? null : {
      isOutlined, isSeen, isInTurn, html: target.outerHTML.slice(0, 120)
    });
  });
  return shown.length;
}"""


@pytest.fixture(scope="module")
def judges() -> Path:
    """A folder with axe-core, html-validate and Lighthouse."""
    return packages.from_npm("page_quality", HERE / "package.json")


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Site]:
    """A service that shows everything it can."""
    with site(tmp_path) as running:
        yield running


@dataclass
class Audit:
    """Looks at one page after the other, and keeps what is wrong with each."""

    page: Page
    axe: str
    faults: list[str] = field(default_factory=list)
    documents: dict[str, str] = field(default_factory=dict)
    """The HTML of each page as the service sent it, by the name of the page."""
    seen: Counter[str] = field(default_factory=Counter)
    """How often each path was shown."""
    menus: int = 0
    """How many menus were opened."""
    _last: Response | None = None

    def listen(self) -> None:
        """Keep each document that arrives, and what the browser complains of."""
        self.page.on("response", self._arrived)
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.faults.append(f"{self.page.url}: {error}"))

    async def look(self, name: str) -> None:
        """Look at the page that is shown, in light on a large screen, and in dark on the smallest."""
        await self._open(name)
        if self.seen[urlsplit(self.page.url).path] == 1:
            await self._weigh(name)
            await self._walk_by_keyboard(name)
        await self._judge(f"{name}, light")
        await self.page.set_viewport_size(ZOOMED)
        await self.page.emulate_media(color_scheme="dark")
        await self._judge(f"{name}, dark, 320 pixels", runOnly=OF_LOOKS)
        await self._measure(name)
        await self._look_at_menu(name)
        await self.page.emulate_media(color_scheme="light")
        await self.page.set_viewport_size(WIDE)

    async def look_at_translation(self, name: str) -> None:
        """Look at the page that is shown, in another language, on a small screen."""
        await self._open(name)
        if self.seen[urlsplit(self.page.url).path] == 1:
            await self._judge(f"{name}, translated")
        await self._measure(name)
        await self._look_at_menu(name)

    async def _look_at_menu(self, name: str) -> None:
        """Open the list of pages that small screens hide, by keyboard, look at it, and close it: once."""
        button = self.page.locator("[popovertarget=sections]")
        if self.menus or not await button.is_visible():
            return
        self.menus += 1
        links = self.page.locator("#sections a")
        await button.press("Enter")
        await expect(links.last).to_be_visible()
        await self._judge(f"{name}, menu")
        await self._measure(f"{name}, menu")
        for link in await links.all():
            await self.page.keyboard.press("Tab")
            await expect(link).to_be_focused()
            await expect(link).to_be_in_viewport(ratio=1)
        await self.page.keyboard.press("Escape")
        await expect(links.last).to_be_hidden()
        await expect(button).to_be_focused()

    async def _open(self, name: str) -> None:
        assert self._last is not None
        self.seen[urlsplit(self.page.url).path] += 1
        self.documents[name] = await self._last.text()

    async def _measure(self, name: str) -> None:
        self._note(name, "wider than 320 pixels", await self.page.evaluate(OVERFLOW))

    async def _judge(self, name: str, **options: Any) -> None:
        if not await self.page.evaluate("'axe' in window"):
            await self.page.evaluate(self.axe)
        result = await self.page.evaluate(
            "async (options) => (await axe.run(document, options)).violations",
            {"resultTypes": ["violations"], **options},
        )
        self._note(
            name,
            "axe",
            [f"{one['id']} {[node['html'][:200] for node in one['nodes']]}" for one in result],
        )

    async def _weigh(self, name: str) -> None:
        weight = await self.page.evaluate(WEIGHT)
        self._note(name, "foreign", weight["foreign"])
        if weight["bytes"] > MOST_BYTES or weight["requests"] > MOST_REQUESTS:
            self._note(name, "weight", [weight])

    async def _walk_by_keyboard(self, name: str) -> None:
        number = await self.page.evaluate(FOCUSABLE)
        stops = number + 10 * await self.page.locator("iframe").count()  # A frame has stops of its own.
        for _ in range(stops):
            await self.page.keyboard.press("Tab")
            if await self.page.evaluate("window.turns.length") >= number:
                break
        turns = await self.page.evaluate("window.turns")
        self._note(name, "focus", [turn for turn in turns if turn is not None])
        if len(turns) != number:
            self._note(name, "focus", [f"{len(turns)} of {number} can be reached"])

    def _note(self, name: str, what: str, found: list[Any]) -> None:
        self.faults += [f"{name}: {what}: {one}" for one in found]

    def _arrived(self, response: Response) -> None:
        request = response.request
        if request.is_navigation_request() and request.frame == self.page.main_frame:
            self._last = response if not 300 <= response.status < 400 else self._last

    def _said(self, message: ConsoleMessage) -> None:
        # The status of a form that was refused is an error for the browser, too.
        if message.type == "error" and "the server responded with a status of" not in message.text:
            self.faults.append(f"{self.page.url}: {message.text}")


def faults_of_html(judges: Path, documents: dict[str, str]) -> list[str]:
    return run(judges, "html.mjs", given=json.dumps(documents)).splitlines()


def run(judges: Path, script: str, *arguments: str, given: str = "") -> str:
    """Return what a script of Node.js prints."""
    copy = shutil.copy(HERE / script, judges)
    done = subprocess.run(
        ["node", copy, *arguments],
        input=given, capture_output=True, text=True, timeout=TIME_LIMIT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def audit(browser: Browser, judges: Path, **options: Any) -> Audit:
    """Return an audit in a new profile, with these options of Playwright."""
    axe = (judges / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")
    profile = await browser.new_context(reduced_motion="reduce", **options)
    audit = Audit(await profile.new_page(), axe)
    audit.listen()
    return audit


async def test_every_page_is_accessible_valid_and_light(
    browser: Browser, running: Site, judges: Path
) -> None:
    english = await audit(browser, judges, viewport=WIDE)
    async for name in walk(english.page, running):
        await english.look(name)
    async for name in others(english.page, running, english.seen):
        await english.look(name)
    await english.page.context.close()

    assert [*english.faults, *faults_of_html(judges, english.documents)] == []
    assert english.menus == 1
    assert [name for name in PAGES if not any(map(PATTERNS[name].fullmatch, english.seen))] == []


async def test_every_page_of_the_console_is_accessible_valid_and_light(
    browser: Browser, running: Site, judges: Path
) -> None:
    english = await audit(browser, judges, viewport=WIDE)
    async for name in walk_console(english.page, running):
        await english.look(name)
    await english.page.context.close()
    seen = {template_of(path) for path in english.seen}

    assert [*english.faults, *faults_of_html(judges, english.documents)] == []
    assert english.menus == 1
    assert [name for name, operation in CONSOLE_PAGES.items() if operation.path not in seen] == []


@pytest.mark.parametrize("states", [walk, pytest.param(walk_console, marks=LONG)])
async def test_every_page_is_accessible_from_right_to_left(
    browser: Browser, running: Site, judges: Path, states: Walk
) -> None:
    arabic = await audit(browser, judges, viewport=ZOOMED, locale="ar")
    async for name in states(arabic.page, running):
        await arabic.look_at_translation(name)
    await arabic.page.context.close()

    assert [*arabic.faults, *faults_of_html(judges, arabic.documents)] == []
    assert arabic.menus == 1


def session_cookie(running: Site, email: str) -> str:
    """Sign in as a program does, and return the cookie of the session: its name, an equals sign, its value."""
    signed_in = running.post("/sign-in/email", {"email": email, "password": PASSWORD}, Origin=running.origin)
    return signed_in.headers["set-cookie"].partition(";")[0]


def arrived(running: Site, path: str, cookie: str) -> str:
    """Return the URL of the page that a path leads to."""
    name, _, value = cookie.partition("=")
    cookies = {name: value} if cookie else {}
    response = httpx.get(running.url(path), cookies=cookies, follow_redirects=True, trust_env=False)
    return str(response.raise_for_status().url)


def lighthouse_pages(running: Site) -> dict[str, tuple[str, str]]:
    """Return the URL of each page that Lighthouse rates, and the cookie of the session."""
    running.post("/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD})
    ada = session_cookie(running, ADA)
    root = session_cookie(running, administrator(running.origin, running.directory))
    device = {"client_id": "television", "scope": "openid profile"}
    code = running.post("/device/code", device).json()["user_code"]
    paths = {
        "sign-in": ("/account/sign-in", ""),
        "overview": ("/account", ada),
        "console-users": ("/console/users", root),
        "sign-up": ("/account/sign-up", ""),
        "console": ("/console", root),
        "console-user": (f"/console/search?search={ADA}", root),
        "console-audit": ("/console/audit", root),
        "consent": (authorize_path("terminal", resource="https://api.example.com"), ada),
        "select-account": (authorize_path("shop", prompt="select_account"), ada),
        "device": ("/account/device", ada),
        "device-code": (f"/account/device?user_code={code}", ada),
    }
    return {name: (arrived(running, path, cookie), cookie) for name, (path, cookie) in paths.items()}


@LONG
def test_lighthouse_finds_nothing(running: Site, judges: Path) -> None:
    pages = lighthouse_pages(running)

    scores = json.loads(run(judges, "lighthouse.mjs", program(), json.dumps(pages)))

    for name, score in scores.items():
        rated = score["accessibility"], score["best-practices"], score["url"]
        assert rated == (100, 100, pages[name][0]), score["broken"]


@LONG
def test_lighthouse_finds_every_page_fast(running: Site, judges: Path) -> None:
    slow: dict[str, Any] = lighthouse_pages(running)

    for _ in range(3):  # Other programs on the machine take the processor from the browser at times.
        scores = json.loads(run(judges, "lighthouse.mjs", program(), json.dumps(slow), "performance"))
        rated = {name: score["performance"] for name, score in scores.items()}
        slow = {name: page for name, page in slow.items() if rated[name] < LEAST_PERFORMANCE}
        if not slow:
            break

    assert list(slow) == [], rated
