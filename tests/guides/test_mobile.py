"""The guide "A mobile application": the requests of its application, and a browser for its user."""

import base64
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from playwright.async_api import Browser, Page, Response

from tests.docs.typing_in import Shell, blocks, commands, guide, placed
from tests.guides.protected import GATEWRIGHT
from tests.labs.e2e.browser import browsing, started
from tests.labs.relying_parties.user import User
from tests.live import TIMEOUT, environment, serving
from tests.ports import free_port
from tests.service import PASSWORD

GUIDE = guide("mobile")
AS_WRITTEN = {"oauth.enabled": None, "jwt.algorithms": None}
"""Settings that the guide decides, or leaves as they are."""
LOOPBACK = "http://127.0.0.1:51004/callback"
SCHEME = "com.example.shop:/callback"
CLAIMED = "https://app.example.com/mobile/callback"


@dataclass(frozen=True, slots=True)
class Terminal:
    """A shell in the folder of a service with the settings of the guide."""

    shell: Shell
    gatewright: str

    def type(self, title: str, **places: str) -> str:
        """Type commands of the guide; return what they printed."""
        written = {name.replace("_", " "): value for name, value in places.items()}
        return self.shell.type(
            placed(commands(GUIDE, title), {GATEWRIGHT: self.gatewright, **written})
        ).strip()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A service with the settings of the guide, and a terminal."""
    own = free_port()
    [written] = blocks(GUIDE, "toml")
    url = f"http://localhost:{own}"
    here = f'profile = "development"\nbase_url = "{url}"\n{written.text}'
    (tmp_path / "gatewright.toml").write_text(here, "utf-8")
    # Unlike browsers, httpx sends no Secure cookie over http.
    settings = {**AS_WRITTEN, "server.host": "localhost", "session.cookie_secure": "false"}
    with serving(tmp_path, settings, port=own) as live:
        shell = Shell(tmp_path, environment(AS_WRITTEN))
        yield Terminal(shell, url)
        assert shell.leave() == 0
    assert live.output.faults() == []


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    """The browser of the system."""
    async with started() as browser:
        yield browser


async def sign_up(page: Page, url: str) -> None:
    """Open a URL of the application, and create an account where it leads."""
    await page.goto(url)
    await page.get_by_role("link", name="Create an account").click()
    await page.get_by_label("Name", exact=True).fill("Ada")
    await page.get_by_label("Email address", exact=True).fill("ada@example.com")
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Create an account").click()


async def allow(page: Page, redirect_uri: str) -> str:
    """Press the button of the consent page; return the URL that the browser hands to the application."""
    async with page.expect_response(is_redirect_to(redirect_uri)) as answer:
        await page.get_by_role("button", name="Allow", exact=True).click()
    return (await answer.value).headers["location"]


def is_redirect_to(uri: str) -> Callable[[Response], bool]:
    """Return whether a response redirects there. Browsers show nothing of a scheme that no program has declared."""
    return lambda response: response.headers.get("location", "").startswith(uri)


async def test_an_application_signs_in_renews_its_tokens_and_signs_out(
    browser: Browser, terminal: Terminal
) -> None:
    client_id = terminal.type("register").split()[-1]
    begun = terminal.type("begin", paste_the_client_id=client_id)
    async with browsing(browser) as page:
        await sign_up(page, begun)
        came_back = await allow(page, LOOPBACK)
        user = json.loads(terminal.type("finish", paste_the_URL_of_the_address_bar=came_back))

        assert (user["name"], user["email"]) == ("Ada", "ada@example.com")
        assert terminal.type("renew") == "replaced"
        assert terminal.type("reuse").count('"error":"invalid_grant"') == 2

        # The session in the browser goes on; another application could have asked, so the user is asked again.
        scheme = {LOOPBACK: SCHEME}
        await page.goto(terminal.type("begin", paste_the_client_id=client_id, **scheme))
        came_back = await allow(page, SCHEME)
        terminal.type("finish", paste_the_URL_of_the_address_bar=came_back)
        status, leave = terminal.type("sign out").splitlines()
        assert status == "200"
        assert "invalid_grant" in terminal.shell.type('renew "$(field refresh_token)"')
        async with page.expect_response(is_redirect_to("com.example.shop:/signed-out")):
            await page.evaluate("url => { location.href = url }", leave)
        await page.goto(f"{terminal.gatewright}/account")
        assert page.url.startswith(f"{terminal.gatewright}/account/sign-in")


def test_a_claimed_link_asks_for_consent_once(terminal: Terminal) -> None:
    client_id = terminal.type("register").split()[-1]
    begun = terminal.type("begin", paste_the_client_id=client_id, **{LOOPBACK: quote(CLAIMED, safe="")})
    user = User(terminal.gatewright)
    user.sign_up()

    opened = [user.open(begun) for _ in range(2)]
    user.close()

    assert [url.partition("?")[0] for url in opened] == [CLAIMED] * 2
    assert user.pages == ["sign-in", "consent"]


def test_an_answer_to_another_request_is_noticed(terminal: Terminal) -> None:
    terminal.type("begin", paste_the_client_id="app_unknown")

    printed = terminal.type(
        "finish", paste_the_URL_of_the_address_bar=f"{LOOPBACK}?code=gwc_other&state=other"
    )

    assert printed.startswith("not the answer to this request")
    assert '"error":"invalid_' in printed


def test_the_files_of_the_domain_name_the_application(terminal: Terminal) -> None:
    shown = {block.title: json.loads(block.text) for block in blocks(GUIDE, "json")}
    apple, [android] = shown["apple-app-site-association"], shown["assetlinks.json"]
    names = {apple["webcredentials"]["apps"][0], apple["applinks"]["details"][0]["appIDs"][0]}

    served = [
        httpx.get(f"{terminal.gatewright}/.well-known/{name}", trust_env=False, timeout=TIMEOUT)
        for name in shown
    ]

    assert names == {f"ABCDE12345.{android['target']['package_name']}"}
    assert len(base64.b16decode(android["target"]["sha256_cert_fingerprints"][0].replace(":", ""))) == 32
    assert [response.status_code for response in served] == [404, 404]
