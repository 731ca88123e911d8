"""The guide "Use the hosted pages": its applications in a browser, which goes to the pages and comes back."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest
from playwright.async_api import Browser, Page, expect

from tests.docs.typing_in import commands, guide, placed, typed, write_files
from tests.guides.protected import APPLICATION, GATEWRIGHT, running
from tests.labs.e2e.browser import browsing, started
from tests.live import ROOT, serving
from tests.ports import free_port
from tests.service import PASSWORD

PLACE = ROOT / "build" / "guides" / "hosted-pages"
"""The folder of the Express application, where the packages stay that were fetched once."""
ADA = "ada@example.com"


@dataclass(frozen=True, slots=True)
class Site:
    """The addresses of an application and of its Gatewright."""

    app: str
    gatewright: str


@pytest.fixture(scope="module", params=["FastAPI", "Express"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The applications of the guide, each beside a Gatewright with the settings of `make run`."""
    text, name = guide("hosted-pages"), str(request.param)
    install, _, start = commands(text, f"start {name}").partition("\n")
    place, directory = tmp_path_factory.mktemp(name), tmp_path_factory.mktemp("gatewright")
    if name == "Express":
        # The other packages are those of this environment.
        place = PLACE
        place.mkdir(parents=True, exist_ok=True)
        if not (place / "node_modules" / "express").is_dir():
            typed(install, place)
    write_files(text, place)
    port, own = free_port(), free_port()
    url = f"http://localhost:{own}"
    with serving(directory, {"base_url": url, "server.host": "localhost"}, port=own):
        places = {GATEWRIGHT: url, APPLICATION: str(port)}
        with running(placed(start, places), place, port, directory / "printed.txt"):
            yield Site(f"http://localhost:{port}", url)


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    """One browser for both applications."""
    async with started() as browser:
        yield browser


async def fill(page: Page, **fields: str) -> None:
    """Fill in a form; the names are the labels, with underscores for spaces."""
    for label, text in fields.items():
        await page.get_by_label(label.replace("_", " "), exact=True).fill(text)


async def test_people_go_to_the_pages_and_come_back(browser: Browser, site: Site) -> None:
    async with browsing(browser) as page:
        await page.goto(f"{site.app}/orders")
        await page.get_by_role("link", name="Create an account").click()
        await fill(page, Name="Ada <3", Email_address=ADA, Password=PASSWORD)
        await page.get_by_role("button", name="Create an account").click()
        await expect(page.get_by_role("heading", name="Orders of Ada <3")).to_be_visible()
        assert page.url == f"{site.app}/orders"

        await page.get_by_role("link", name="Account").click()
        await expect(page.get_by_role("heading", name="Your account", exact=True)).to_be_visible()
        await page.goto(f"{site.app}/orders")
        await page.get_by_role("link", name="Sign out").click()
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("heading", name="Welcome")).to_be_visible()
        assert page.url == f"{site.app}/"

        await page.goto(f"{site.app}/orders")
        assert page.url.startswith(f"{site.gatewright}/account/sign-in?")
        await fill(page, Email_address_or_username=ADA, Password=PASSWORD)
        await page.get_by_role("button", name="Sign in", exact=True).click()
        await expect(page.get_by_role("heading", name="Orders of Ada <3")).to_be_visible()
