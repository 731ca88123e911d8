"""The guide "A single-page application on another domain": its page and its API next to a service, in a browser."""

import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import httpx
import pytest
from playwright.async_api import Browser, expect

from tests.docs.typing_in import Shell, blocks, commands, guide, placed, typed, write_files
from tests.guides.protected import GATEWRIGHT, running
from tests.guides.test_sign_in import AS_WRITTEN, with_packages
from tests.labs.e2e.browser import browsing, started
from tests.live import TIMEOUT, environment, serving
from tests.ports import free_port
from tests.service import PASSWORD

GUIDE = guide("single-page-application-on-another-domain")


@dataclass(frozen=True, slots=True)
class Site:
    """The URLs of a service with the settings of the guide, of its page and of its API."""

    gatewright: str
    page: str
    api: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The guide, followed to its end."""
    place = with_packages("another-domain", commands(GUIDE, "install"))
    folder, own, page, api = tmp_path_factory.mktemp("gatewright"), free_port(), free_port(), free_port()
    url = f"http://localhost:{own}"
    [settings] = blocks(GUIDE, "toml")
    here = f'profile = "development"\nbase_url = "{url}"\n'
    (folder / "gatewright.toml").write_text(here + settings.text, "utf-8")
    with serving(folder, {**AS_WRITTEN, "server.host": "localhost"}, port=own) as live:
        places = {GATEWRIGHT: url, "3001": str(api), "5173": str(page)}
        shell = Shell(folder, environment(AS_WRITTEN))
        client_id = shell.type(placed(commands(GUIDE, "register"), places)).split()[-1]
        assert shell.leave() == 0
        write_files(placed(GUIDE, {**places, "paste the client id": client_id}), place)
        typed(commands(GUIDE, "build"), place)
        with (
            running(placed(commands(GUIDE, "serve the API"), places), place, api, folder / "api.txt"),
            running(commands(GUIDE, "serve the page"), place, page, folder / "page.txt"),
        ):
            yield Site(url, f"http://localhost:{page}", f"http://localhost:{api}")
    assert live.output.faults() == []


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    """One browser for all tests."""
    async with started() as browser:
        yield browser


async def test_a_user_signs_up_orders_and_signs_out(browser: Browser, site: Site) -> None:
    async with browsing(browser) as page:
        await page.goto(site.page)
        await page.get_by_role("button", name="Sign in").click()
        await page.get_by_role("link", name="Create an account").click()
        await page.get_by_label("Name", exact=True).fill("Ada <3")
        await page.get_by_label("Email address", exact=True).fill(f"{secrets.token_hex(4)}@example.com")
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        await page.get_by_role("button", name="Create an account").click()
        await page.get_by_role("button", name="Cancel", exact=True).click()
        await expect(page.get_by_text("Not signed in: access_denied")).to_be_visible()
        await page.get_by_role("button", name="Sign in").click()
        await page.get_by_role("button", name="Allow", exact=True).click()
        await expect(page.get_by_role("heading", name="Orders of Ada <3")).to_be_visible()
        assert page.url == f"{site.page}/"

        await page.get_by_label("Item").fill("Milk")
        await page.get_by_role("button", name="Order").click()
        await expect(page.get_by_role("listitem")).to_have_text(["Milk"])
        await page.reload()
        await expect(page.get_by_role("listitem")).to_have_text(["Milk"])

        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("heading", name="Shop")).to_be_visible()
        await page.goto(f"{site.gatewright}/account")
        assert page.url.startswith(f"{site.gatewright}/account/sign-in")


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer nonsense"}])
def test_callers_without_a_token_are_refused(site: Site, headers: dict[str, str]) -> None:
    assert (
        httpx.get(f"{site.api}/orders", headers=headers, trust_env=False, timeout=TIMEOUT).status_code == 401
    )


def test_pages_of_other_origins_cannot_read_orders(site: Site) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "GET"}

    response = httpx.options(f"{site.api}/orders", headers=asked, trust_env=False, timeout=TIMEOUT)

    assert response.headers["access-control-allow-origin"] == site.page
