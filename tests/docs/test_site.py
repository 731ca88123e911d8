"""The documentation site: it is built without a complaint, takes nothing from elsewhere, and can be read everywhere."""

import functools
import os
import re
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import pytest
from playwright.async_api import Browser, expect

from docs.hooks import completed
from docs.links import mended
from tests.labs.e2e.browser import browsing, picture, started
from tests.live import ROOT

PAGES = (
    "index.html",
    "quick-start.html",
    "guides/index.html",
    "operations/data-protection.html",
    "operations/email-providers.html",
    "reference/operations/sessions.html",
    "reference/settings.html",
    "security/tests.html",
)
CLICKS = 3
"""How far a page may be from the home page."""
FOREIGN = re.compile(
    r"<(?:script|img|iframe|source)[^>]+src=[\"']?(?:https?:)?//"
    r"|<link[^>]+rel=[\"']?(?:stylesheet|icon|preload|preconnect)[^>]+href=[\"']?(?:https?:)?//"
    r"|@import|url\([\"']?(?:https?:)?//"
)
"""What makes a browser ask another host."""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing of it."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Keep the request to itself."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make docs` does."""
    place = tmp_path_factory.mktemp("site")
    finished = subprocess.run(
        [ROOT / ".ci" / "docs.sh", "build", "--site-dir", place],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    assert "WARNING" not in finished.stderr
    return place


@pytest.fixture
def address(built: Path) -> Iterator[str]:
    """Serve the site; give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(built)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_it_holds_what_was_promised(built: Path) -> None:
    pages = {path.relative_to(built).as_posix() for path in built.rglob("*.html")}

    assert set(PAGES) <= pages
    assert {
        "reference/errors.html",
        "reference/commands.html",
        "changelog.html",
        "questions.html",
        "contributing/how-a-request-travels.html",
        "concepts/one-time-tokens.html",
        "contributing/layout.html",
        "security/index.html",
    } <= pages
    assert "SESSION_EXPIRED" in (built / "search" / "search_index.json").read_text("utf-8")


def test_it_takes_nothing_from_elsewhere(built: Path) -> None:
    texts = [path for path in built.rglob("*") if path.suffix in {".html", ".css"}]

    assert len(texts) > 30
    assert {str(path): FOREIGN.findall(path.read_text("utf-8")) for path in texts} == {
        str(path): [] for path in texts
    }


class Links(HTMLParser):
    """What a page refers to, what its text links to, and the anchors that it has."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.in_text: set[str] = set()
        self.anchors: set[str] = set()
        self._in_text = False
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        """Note the links of a tag, and its anchor."""
        self._in_text = self._in_text or tag == "article"
        values = dict(attrs)
        self.anchors.add(values.get("id") or "")
        for target in filter(None, (values.get("href"), values.get("src"))):
            self.targets.add(target)
            if self._in_text and tag == "a":
                self.in_text.add(target)

    def handle_endtag(self, tag: str) -> None:
        """Note the end of the text."""
        self._in_text = self._in_text and tag != "article"


@pytest.fixture(scope="module")
def linked(built: Path) -> Mapping[Path, Links]:
    """Read every page, except the one for pages that do not exist, whose links depend on where the site is."""
    return {path: Links(path) for path in built.rglob("*.html") if path.name != "404.html"}


def leads_to(page: Path, target: str) -> tuple[Path, str]:
    """Return the file that a link of a page names, and the anchor there."""
    url = urlsplit(target)
    return Path(os.path.normpath(page.parent / unquote(url.path))) if url.path else page, unquote(
        url.fragment
    )


def test_no_link_is_dead(linked: Mapping[Path, Links]) -> None:
    dead = []
    for page, links in linked.items():
        for target in links.targets:
            if urlsplit(target).scheme or target.startswith("//"):
                continue
            file, anchor = leads_to(page, target)
            if not file.is_file() or (anchor and file in linked and anchor not in linked[file].anchors):
                dead.append((page.name, target))

    assert dead == []


def test_every_page_is_within_three_clicks_on_links_in_texts(
    built: Path, linked: Mapping[Path, Links]
) -> None:
    seen = {built / "index.html"}
    for _ in range(CLICKS):
        seen |= {
            leads_to(page, target)[0] for page in seen & linked.keys() for target in linked[page].in_text
        }

    assert sorted(str(page.relative_to(built)) for page in linked.keys() - seen) == []


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    """One browser for all pages."""
    async with started() as browser:
        yield browser


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1400), ("dark", 1400), ("light", 360), ("dark", 360)]
)
async def test_it_can_be_read(
    browser: Browser, address: str, scheme: Literal["light", "dark"], width: int
) -> None:
    asked: list[str] = []
    async with browsing(browser) as page:
        page.on("request", lambda one: asked.append(one.url))
        await page.emulate_media(color_scheme=scheme)
        await page.set_viewport_size({"width": width, "height": 800})
        for path in PAGES:
            await page.goto(f"{address}/{path}")
            await picture(page, f"site-{scheme}-{width}-{path.removesuffix('.html').replace('/', '-')}")
            shown = await page.evaluate(
                "[document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor]"
            )

            assert shown[0] <= width
            bright = sum(int(part) for part in re.findall(r"\d+", shown[1])[:3]) / 3
            assert bright < 60 if scheme == "dark" else bright > 200

    assert [one for one in asked if not one.startswith((address, "data:"))] == []


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("reset password", "/guides/reset-and-verification-pages.html"),
        ("customize email", "/guides/customize-emails.html"),
        ("roles", "/concepts/roles.html"),
        ("passkeys", "/guides/passkeys.html"),
        ("smtp", "/operations/email-providers.html"),
        ("gdpr", "/operations/data-protection.html"),
    ],
)
async def test_search_finds_the_right_page_first(
    browser: Browser, address: str, query: str, first: str
) -> None:
    async with browsing(browser) as page:
        await page.goto(f"{address}/")
        # What is typed before the page has loaded its index is lost.
        await page.wait_for_selector("text=Type to start searching", state="attached")
        # Key by key: the page looks at what was typed when a key is released.
        await page.locator("[data-md-component=search-query]").press_sequentially(query)
        found = page.locator(".md-search-result__item > a").first

        await expect(found).to_have_attribute("href", re.compile(re.escape(first)), timeout=30_000)


async def test_search_works_in_pages_opened_as_files(browser: Browser, built: Path) -> None:
    asked: list[str] = []
    async with browsing(browser) as page:
        page.on("request", lambda one: asked.append(one.url))
        await page.set_viewport_size({"width": 1400, "height": 800})
        await page.goto((built / "guides" / "index.html").as_uri())
        query = page.locator("[data-md-component=search-query]")
        # The index is loaded when the search is opened.
        await query.click()
        await page.wait_for_selector("text=Type to start searching", state="attached")
        await query.press_sequentially("customize email")
        found = page.locator(".md-search-result__item > a").first

        await expect(found).to_have_attribute("href", re.compile(r"/customize-emails\.html"), timeout=30_000)
        await found.click()
        await expect(page.locator("h1")).to_contain_text("Customize emails")
    assert [one for one in asked if not one.startswith(("file:", "data:"))] == []


def test_paths_in_the_layout_exist() -> None:
    """The page names real files and folders, so that it has to follow when they move."""
    text = (ROOT / "docs" / "pages" / "contributing" / "layout.md").read_text("utf-8")
    named = re.findall(r"`([\w.-]+/[\w./-]+)`", text)

    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("folder", ["domain", "server", "tests/labs"])
def test_the_layout_lists_every_package(folder: str) -> None:
    text = (ROOT / "docs" / "pages" / "contributing" / "layout.md").read_text("utf-8")
    packages = [file.parent.name for file in (ROOT / folder).glob("*/__init__.py")]

    assert packages
    assert [name for name in packages if f"`{name}/`" not in text] == []


@pytest.mark.parametrize(
    ("text", "document", "page", "expected"),
    [
        (
            "[rows](SECURITY-TESTS.md) [limits](docs/pages/guides/limits.md#behind)",
            "SECURITY.md",
            "security/index.md",
            "[rows](tests.md) [limits](../guides/limits.md#behind)",
        ),
        (
            "[the errors](../../../domain/errors.py), [`Makefile`](../../../Makefile)",
            "docs/pages/guides/x.md",
            "guides/x.md",
            "`the errors`, `Makefile`",
        ),
        *(
            (text, "docs/pages/guides/x.md", "guides/x.md", text)
            for text in ("[x](nowhere.md)", "[x](https://example.com/a.md)", "[x](#here)")
        ),
        ("```sh\n[x](Makefile)\n```", "README.md", "index.md", "```sh\n[x](Makefile)\n```"),
    ],
)
def test_links_lead_to_pages_and_other_files_become_names(
    text: str, document: str, page: str, expected: str
) -> None:
    assert mended(text, document, page) == expected


def test_navigation_has_every_page_of_a_folder_in_the_order_of_its_index() -> None:
    named = ["guides/c.md", {"Guides": ["guides/index.md", "guides/gone.md", "guides/b.md"]}]
    index = "[E](e.md#part), [D](d.md), [F](../other/f.md), [C](c.md), [E again](e.md)"
    names = ("guides/a.md", "guides/b.md", "guides/c.md", "guides/d.md", "guides/e.md", "other/f.md")

    assert completed(named, {"guides/index.md": index, **dict.fromkeys(names, "")}) == [
        "guides/c.md",
        {"Guides": ["guides/index.md", "guides/b.md", "guides/e.md", "guides/d.md", "guides/a.md"]},
    ]


def test_headings_of_an_index_are_groups_of_the_navigation() -> None:
    index = (
        "[A](a.md)\n\n## Sign in\n\n[C](c.md), [B](b.md)\n\n## Run\n\n[D](d.md), [B again](b.md)\n\n## Else\n"
    )
    names = ("guides/a.md", "guides/b.md", "guides/c.md", "guides/d.md", "guides/e.md")

    assert completed(
        [{"Guides": ["guides/index.md"]}], {"guides/index.md": index, **dict.fromkeys(names, "")}
    ) == [
        {
            "Guides": [
                "guides/index.md",
                "guides/a.md",
                {"Sign in": ["guides/c.md", "guides/b.md"]},
                {"Run": ["guides/d.md"]},
                "guides/e.md",
            ]
        },
    ]


def test_an_only_heading_of_an_index_makes_no_group() -> None:
    index = "## All pages\n\n[B](b.md), [A](a.md)\n"

    assert completed(["x/index.md"], {"x/index.md": index, "x/a.md": "", "x/b.md": ""}) == [
        "x/index.md",
        "x/b.md",
        "x/a.md",
    ]
