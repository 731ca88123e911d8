"""A real browser with older cookies of another scope: it signs in again, on the pages and from scripts."""

from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, Page

from tests.labs.e2e.browser import browsing
from tests.labs.e2e.test_pages_journey import create_account, heading, press, sign_in
from tests.live import LiveService, serving
from tests.ports import free_port
from tests.service import PASSWORD

NAME, STALE = "service.session-token", "x" * 32
HOST = "auth.app.localhost"
"""Browsers take every name below `localhost` to the loopback (RFC 6761, 6.3)."""

SEND = """async ([path, body]) => {
  const options = body ? { method: "POST", headers: { "Content-Type": "application/json" }, body } : {};
  return (await fetch(path, options)).status;
}"""
SIGN_IN = f'{{"email":"ada@example.com","password":"{PASSWORD}"}}'


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A service whose cookies are for all hosts of a domain."""
    port = free_port()
    settings = {
        "base_url": f"http://{HOST}:{port}",
        "session.cookie_domain": "app.localhost",
        "session.cookie_secure": "false",
    }
    with serving(tmp_path_factory.mktemp("service"), settings, port=port) as live:
        yield live


async def plant(page: Page, origin: str) -> None:
    """Leave the browser with cookies of earlier settings: of the host alone, and of paths of their own."""
    scopes: list[dict[str, str]] = [{"url": origin}]
    scopes += [{"domain": HOST, "path": path} for path in ("/account", "/get-session")]
    for number, scope in enumerate(scopes):
        await page.context.add_cookies([{"name": NAME, "value": f"{number}{STALE[1:]}", **scope}])  # type: ignore[typeddict-item]


async def scopes(page: Page) -> list[tuple[str, str]]:
    """Return domain and path of every session cookie that the browser keeps."""
    kept = await page.context.cookies()
    return sorted((one["domain"], one["path"]) for one in kept if one["name"] == NAME)


@pytest.mark.threat("V41", "V42")
async def test_a_browser_with_older_cookies_signs_in_again(browser: Browser, live: LiveService) -> None:
    async with browsing(browser) as page:
        await create_account(page, live)
        origin = "/".join(page.url.split("/")[:3])
        await plant(page, origin)
        # The live session still counts.
        await page.goto(f"{origin}/account")
        await heading(page, "Your account")
        assert await page.evaluate(SEND, ["/get-session", None]) == 200
        await press(page, "Sign out")
        await heading(page, "You are signed out")
        await plant(page, origin)

        await page.goto(f"{origin}/account")
        await heading(page, "Sign in")
        await sign_in(page, PASSWORD)
        await heading(page, "Your account")

        assert (HOST, "/") not in await scopes(page)
        assert await page.evaluate(SEND, ["/get-session", None]) == 200

        assert await page.evaluate(SEND, ["/sign-out", "{}"]) == 200
        await plant(page, origin)
        assert await page.evaluate(SEND, ["/sign-in/email", SIGN_IN]) == 200
        assert await page.evaluate(SEND, ["/get-session", None]) == 200
        await page.reload()
        await heading(page, "Your account")
        assert (HOST, "/") not in await scopes(page)
