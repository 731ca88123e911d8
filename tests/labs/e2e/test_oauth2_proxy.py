"""oauth2-proxy, unmodified and configured as the guide says, protects a page: only users of the service see it."""

import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from tests.docs.typing_in import commands, guide, placed, typed, write_files
from tests.labs.e2e.browser import browsing
from tests.labs.e2e.cross_origin import at_another_origin
from tests.labs.relying_parties.user import EMAIL, User
from tests.labs.sdk.test_sdks import run
from tests.labs.verifiers.test_verifiers import need
from tests.live import PROGRAM, ROOT, environment, serving
from tests.ports import free_port
from tests.service import PASSWORD

MODULE, VERSION = "github.com/oauth2-proxy/oauth2-proxy/v7", "v7.15.6"
GUIDE = guide("oauth2-proxy")
TIME_LIMIT = 60.0


def program() -> Path:
    """Return the path of oauth2-proxy, which is built where it is not there."""
    need("go")
    folder = ROOT / "build" / "oauth2-proxy" / VERSION
    if not (folder / "oauth2-proxy").exists():
        run("go", "install", f"{MODULE}@{VERSION}", GOBIN=str(folder))
    return folder / "oauth2-proxy"


@dataclass(frozen=True, slots=True)
class Site:
    """The service and the proxy, with what a test needs of them."""

    settings: Mapping[str, str]
    proxy: str
    user_id: str
    folder: Path
    """With the files of the guide and the database."""

    def count(self, statement: str) -> int:
        """Return a number from the database."""
        with closing(sqlite3.connect(self.folder / "gatewright.db", timeout=30)) as database:
            return int(database.execute(statement).fetchone()[0])


@contextmanager
def proxying(url: str, folder: Path) -> Iterator[None]:
    """Run the proxy with the configuration in a folder until the end of the block, without TLS."""
    log = folder / "proxy.log"
    with log.open("wb") as output:
        options = ("--config=oauth2-proxy.cfg", "--cookie-secure=false", "--cookie-refresh=1s")
        process = subprocess.Popen([program(), *options], cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + TIME_LIMIT
            while not _is_ready(f"{url}/ping"):
                assert process.poll() is None, log.read_text("utf-8")
                assert time.monotonic() < deadline, log.read_text("utf-8")
            yield
        finally:
            process.terminate()
            process.wait(timeout=TIME_LIMIT)


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False).is_success
    except httpx.ConnectError:
        return False


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """The service, the proxy and a page behind it, configured as the guide says."""
    program()
    port, outside = free_port(), free_port()
    service, proxy = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{outside}"
    settings = {
        "base_url": service,
        "session.cookie_secure": "false",
        "limits.requests": "0",
        "oauth.enabled": "true",
        "jwt.algorithms": "RS256",
    }
    typed(commands(GUIDE, "secrets"), tmp_path)
    with at_another_origin("<!doctype html><title>Wiki</title><h1>Private page</h1>") as upstream:
        places = {
            quote("https://auth.example.com", safe=""): quote(service, safe=""),
            quote(quote("https://wiki.example.com", safe=""), safe=""): quote(quote(proxy, safe=""), safe=""),
            "https://auth.example.com": service,
            "auth.example.com": f"127.0.0.1:{port}",
            "https://wiki.example.com": proxy,
            "127.0.0.1:4180": f"127.0.0.1:{outside}",
            "http://127.0.0.1:8080": upstream,
        }
        write_files(placed(GUIDE, places), tmp_path)
        with serving(tmp_path, settings, port=port) as live:
            user = User(live.url)
            user_id = user.sign_up()
            user.close()
            operate(tmp_path, settings, "users", "verify-email", EMAIL)
            with proxying(proxy, tmp_path):
                yield Site(settings, proxy, user_id, tmp_path)
        assert live.output.faults() == []


def operate(folder: Path, settings: Mapping[str, str], *words: str) -> None:
    """Run a command of the operator."""
    command = [str(PROGRAM), *words]
    subprocess.run(command, cwd=folder, env=environment(settings), check=True, capture_output=True)


@pytest.mark.skipif(not os.environ.get("GATEWRIGHT_LONG"), reason="builds a program: make test-oauth2-proxy")
async def test_the_proxy_shows_the_page_to_users(browser: Browser, site: Site) -> None:
    async with browsing(browser) as page:
        await page.goto(f"{site.proxy}/page")
        await sign_in(page)
        await page.get_by_role("button", name="Allow", exact=True).click()
        await expect(page.get_by_role("heading")).to_have_text("Private page")
        assert page.url == f"{site.proxy}/page"
        who = await (await page.request.get(f"{site.proxy}/oauth2/userinfo")).json()
        asked = await page.request.get(f"{site.proxy}/oauth2/auth")
        assert asked.status == 202
        headers = asked.headers

        deadline = time.monotonic() + TIME_LIMIT
        while not site.count("SELECT count(*) FROM oauth_token WHERE rotated_at IS NOT NULL"):
            assert time.monotonic() < deadline
            await page.reload()
        await expect(page.get_by_role("heading")).to_have_text("Private page")

        before = site.count("SELECT count(*) FROM session")
        await page.goto(site.proxy + (site.folder / "sign-out.txt").read_text("utf-8").strip())
        # The proxy begins again, and the service has no session any more.
        await expect(page.locator("#identifier")).to_be_visible()
        left = site.count("SELECT count(*) FROM session")

        await sign_in(page)
        await expect(page.get_by_role("heading")).to_have_text("Private page")
        operate(site.folder, site.settings, "users", "ban", EMAIL)
        while not await page.locator("#identifier").is_visible():
            assert time.monotonic() < deadline
            await page.reload()

    assert who["email"] == headers["x-auth-request-email"] == EMAIL
    assert who["user"] == headers["x-auth-request-user"] == site.user_id
    assert left == before - 1


async def sign_in(page: Page) -> None:
    """Fill in the sign-in page."""
    await page.locator("#identifier").fill(EMAIL)
    await page.locator("#password").fill(PASSWORD)
    await page.keyboard.press("Enter")
