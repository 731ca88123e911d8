"""The guide "Sign in with Gatewright": its three applications beside one service, in a browser."""

import re
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.docs.typing_in import Shell, blocks, commands, guide, placed, typed, write_files
from tests.guides.protected import APPLICATION, GATEWRIGHT, running
from tests.labs.e2e.browser import browsing, started
from tests.live import ROOT, TIMEOUT, environment, serving
from tests.ports import free_port
from tests.service import NO_TLS, PASSWORD

GUIDE = guide("sign-in-with-gatewright")
PLACE = ROOT / "build" / "guides" / "sign-in"
"""The folder of the applications of Node.js, where the packages stay that were fetched once."""
AS_WRITTEN = {"oauth.enabled": None, "jwt.algorithms": None}
"""Settings that the guide decides, or leaves as they are."""

EXPIRE = """refreshToken => {
  const key = Object.keys(sessionStorage).find((one) => one.startsWith("oidc.user:"));
  const user = JSON.parse(sessionStorage.getItem(key));
  const changed = { ...user, expires_at: 1, refresh_token: refreshToken ?? user.refresh_token };
  sessionStorage.setItem(key, JSON.stringify(changed));
}"""
"""A script that expires the tokens of the browser application, which then renews them."""


@dataclass(frozen=True, slots=True)
class Site:
    """The addresses of a service with the settings of the guide and of an application, and how commands are typed."""

    gatewright: str
    app: str
    folder: Path
    places: Mapping[str, str]

    def type(self, title: str, **variables: str) -> str:
        """Type commands of the guide in the folder of the service; return what they printed, errors included."""
        shell = Shell(self.folder, {**environment(AS_WRITTEN), **variables})
        printed = shell.type(f"({placed(commands(GUIDE, title), self.places)}) 2>&1")
        assert shell.leave() == 0
        return printed


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service with the settings of the guide."""
    folder, port, own = tmp_path_factory.mktemp("gatewright"), free_port(), free_port()
    [settings] = blocks(GUIDE, "toml")
    url = f"http://localhost:{own}"
    here = f'profile = "development"\nbase_url = "{url}"\n'
    (folder / "gatewright.toml").write_text(here + settings.text, "utf-8")
    with serving(folder, {**AS_WRITTEN, "server.host": "localhost"}, port=own) as live:
        places = {GATEWRIGHT: url, APPLICATION: str(port)}
        yield Site(url, f"http://localhost:{port}", folder, places)
    assert live.output.faults() == []


@pytest.fixture
def email(site: Site) -> str:
    """A user who has not allowed an application anything."""
    email = f"ada.{secrets.token_hex(4)}@example.com"
    body = {"name": "Ada <3", "email": email, "password": PASSWORD}
    httpx.post(
        f"{site.gatewright}/sign-up/email", json=body, verify=NO_TLS, trust_env=False, timeout=TIMEOUT
    ).raise_for_status()
    return email


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    """One browser for all applications."""
    async with started() as browser:
        yield browser


@pytest.fixture(scope="module")
def client(site: Site) -> Mapping[str, str]:
    """The placeholders of a client with a secret, and what the command printed instead."""
    found = re.search(r"(app_\w{24}).*\n(gws_\w{32})\n", site.type("register"))
    assert found is not None
    return {"paste the client id": found[1], "paste the secret": found[2]}


@pytest.fixture(params=["FastAPI", "Express"])
def server(
    request: pytest.FixtureRequest, site: Site, client: Mapping[str, str], tmp_path: Path
) -> Iterator[None]:
    """The applications with a server, one after the other."""
    install, _, start = commands(GUIDE, f"start {request.param}").partition("\n")
    # The packages of Python are those of this environment.
    place = tmp_path if request.param == "FastAPI" else with_packages("express", install)
    write_files(GUIDE, place)
    command = placed(start, {**site.places, **client})
    with running(command, place, int(site.app.rpartition(":")[2]), tmp_path / "printed.txt"):
        yield


def with_packages(name: str, install: str) -> Path:
    """Return a folder in which the packages of an application are installed."""
    place = PLACE / name
    place.mkdir(parents=True, exist_ok=True)
    done = place / "installed.sh"
    if not done.exists() or done.read_text("utf-8") != install:
        typed(install, place)
        done.write_text(install, "utf-8")
    return place


async def sign_in(page: Page, email: str, decision: str) -> None:
    """Sign in on the page of Gatewright, and press a button of the consent page."""
    await page.locator("#identifier").fill(email)
    await page.locator("#password").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name=decision, exact=True).click()


async def check_home(page: Page, site: Site, heading: str) -> None:
    """Check which home page the application shows."""
    await expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    assert page.url.partition("?")[0] == f"{site.app}/"


async def check_signed_out(page: Page, site: Site) -> None:
    """Check that the application has returned to its home page, and that there is no session at Gatewright."""
    await check_home(page, site, "Shop")
    await page.goto(f"{site.gatewright}/account")
    assert page.url.startswith(f"{site.gatewright}/account/sign-in")


@pytest.mark.usefixtures("server")
async def test_users_sign_in_and_out_at_an_application_with_a_server(
    browser: Browser, site: Site, email: str
) -> None:
    async with browsing(browser) as page:
        await page.goto(site.app)
        await page.get_by_role("link", name="Sign in").click()
        await sign_in(page, email, "Cancel")
        await expect(page.get_by_text("access_denied")).to_be_visible()
        callback = page.url
        await page.get_by_role("link", name="Try again").click()
        await page.get_by_role("button", name="Allow", exact=True).click()
        await check_home(page, site, "Hello Ada <3")
        await expect(page.get_by_text(email)).to_be_visible()
        await page.goto(callback)
        await expect(page.get_by_role("heading", name="Not signed in")).to_be_visible()
        await page.goto(site.app)
        await check_home(page, site, "Hello Ada <3")

        await page.get_by_role("button", name="Sign out").click()
        await check_signed_out(page, site)


async def test_users_sign_in_and_out_at_an_application_in_the_browser(
    browser: Browser, site: Site, email: str, tmp_path: Path
) -> None:
    install, _, start = commands(GUIDE, "start in the browser").partition("\n")
    client_id = site.type("register in the browser").split()[-1]
    place = with_packages("browser", install)
    write_files(placed(GUIDE, {**site.places, "paste the client id": client_id}), place)
    port = int(site.app.rpartition(":")[2])
    with running(placed(start, site.places), place, port, tmp_path / "printed.txt"):
        async with browsing(browser) as page:
            await page.clock.install()
            await page.goto(site.app)
            await page.get_by_role("button", name="Sign in").click()
            await sign_in(page, email, "Cancel")
            await expect(page.get_by_text("Not signed in: access_denied")).to_be_visible()
            await page.get_by_role("button", name="Sign in").click()
            await page.get_by_role("button", name="Allow", exact=True).click()
            await check_home(page, site, "Hello Ada <3")
            await expect(page.get_by_text(email)).to_be_visible()
            await page.reload()
            await check_home(page, site, "Hello Ada <3")

            async def pass_slowly(route: Route) -> None:
                """Raise the library's event for expired tokens while a renewal is running."""
                await page.clock.fast_forward(2000)
                await expect(page.get_by_role("button", name="Sign in")).to_be_hidden()
                await route.continue_()

            await page.route("**/oauth2/token", pass_slowly)
            for refresh_token, button in ((None, "Sign out"), ("gwr_unknown", "Sign in")):
                await page.evaluate(EXPIRE, refresh_token)
                await page.reload()
                await expect(page.get_by_role("button", name=button)).to_be_visible()
            await page.unroute("**/oauth2/token")
            await page.get_by_role("button", name="Sign in").click()
            await page.get_by_role("button", name="Allow", exact=True).click()
            await check_home(page, site, "Hello Ada <3")

            # The page says that the user is signed out before the browser goes to Gatewright.
            async with (
                page.expect_request("**/oauth2/revoke") as revoked,
                page.expect_response(f"{site.app}/"),
            ):
                await page.get_by_role("button", name="Sign out").click()
            assert "token_type_hint=refresh_token" in str((await revoked.value).post_data)
            await check_signed_out(page, site)


def test_the_document_names_the_endpoints(site: Site) -> None:
    assert f'"issuer":"{site.gatewright}"' in site.type("discover")


async def test_an_unknown_address_is_refused_on_a_page(
    browser: Browser, site: Site, client: Mapping[str, str]
) -> None:
    url = site.type("refused", CLIENT_ID=client["paste the client id"]).strip()
    assert url.startswith(f"{site.gatewright}/error?error=invalid_redirect_uri")

    async with browsing(browser) as page:
        await page.goto(url)
        for address in (f"http://127.0.0.1:{httpx.URL(site.app).port}/callback", f"{site.app}/callback"):
            await expect(page.get_by_text(address, exact=True)).to_be_visible()
