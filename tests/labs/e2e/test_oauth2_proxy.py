"""oauth2-proxy, unmodified, protects a page: only users of the service see it."""

import json
import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from playwright.async_api import Browser, expect

from tests.labs.e2e.browser import browsing
from tests.labs.e2e.cross_origin import at_another_origin
from tests.labs.relying_parties.user import EMAIL, User
from tests.labs.sdk.test_sdks import run
from tests.labs.verifiers.test_verifiers import need
from tests.live import PROGRAM, ROOT, environment, serving
from tests.ports import free_port
from tests.service import PASSWORD

MODULE, VERSION = "github.com/oauth2-proxy/oauth2-proxy/v7", "v7.15.6"
SECRET = "s" * 32
TIME_LIMIT = 60.0

expect.set_options(timeout=30_000)


def program() -> Path:
    """Return the path of oauth2-proxy, which is built where it is not there."""
    need("go")
    folder = ROOT / "build" / "oauth2-proxy" / VERSION
    if not (folder / "oauth2-proxy").exists():
        run("go", "install", f"{MODULE}@{VERSION}", GOBIN=str(folder))
    return folder / "oauth2-proxy"


@dataclass(frozen=True, slots=True)
class Site:
    """The service, the proxy, and the database of the service."""

    service: str
    proxy: str
    user_id: str
    database: Path

    def count(self, statement: str) -> int:
        """Return a number from the database."""
        with closing(sqlite3.connect(self.database, timeout=30)) as database:
            return int(database.execute(statement).fetchone()[0])


@contextmanager
def proxying(service: str, upstream: str, port: int, log: Path) -> Iterator[str]:
    """Run the proxy in front of a page until the end of the block."""
    options = {
        "provider": "oidc",
        "oidc-issuer-url": service,
        "client-id": "proxy",
        "client-secret": SECRET,
        "code-challenge-method": "S256",
        "insecure-oidc-skip-nonce": "false",
        "scope": "openid profile email offline_access",
        "redirect-url": f"http://127.0.0.1:{port}/oauth2/callback",
        "http-address": f"127.0.0.1:{port}",
        "upstream": upstream,
        "email-domain": "example.com",
        "cookie-secret": SECRET,
        "cookie-secure": "false",
        "cookie-refresh": "1s",
        "whitelist-domain": service.removeprefix("http://"),
        "skip-provider-button": "true",
    }
    with log.open("wb") as output:
        command = [str(program()), *(f"--{name}={value}" for name, value in options.items())]
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + TIME_LIMIT
            while not _is_ready(f"http://127.0.0.1:{port}/ping"):
                assert process.poll() is None, log.read_text("utf-8")
                assert time.monotonic() < deadline, log.read_text("utf-8")
            yield f"http://127.0.0.1:{port}"
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
    """The service, the proxy and a page behind it."""
    program()
    port, outside = free_port(), free_port()
    client = {
        "client_name": "Wiki",
        "redirect_uris": [f"http://127.0.0.1:{outside}/oauth2/callback"],
        "post_logout_redirect_uris": [f"http://127.0.0.1:{outside}/"],
        "grant_types": ["authorization_code", "refresh_token"],
        "scope": "openid profile email offline_access",
        "secret": SECRET,
    }
    settings = {
        "base_url": f"http://127.0.0.1:{port}",
        "session.cookie_secure": "false",
        "limits.requests": "0",
        "jwt.enabled": "true",
        "jwt.algorithms": "RS256",
        "oauth.enabled": "true",
        "oauth.clients": json.dumps({"proxy": client}),
    }
    with at_another_origin("<!doctype html><title>Wiki</title><h1>Private page</h1>") as upstream:
        with serving(tmp_path, settings, port=port) as live:
            user = User(live.url)
            user_id = user.sign_up()
            user.close()
            verify = [str(PROGRAM), "users", "verify-email", EMAIL]
            subprocess.run(verify, cwd=tmp_path, env=environment(settings), check=True, capture_output=True)
            with proxying(live.url, upstream, outside, tmp_path / "proxy.log") as proxy:
                yield Site(live.url, proxy, user_id, tmp_path / "gatewright.db")
        assert live.output.faults() == []


@pytest.mark.skipif(not os.environ.get("GATEWRIGHT_LONG"), reason="builds a program: make test-oauth2-proxy")
async def test_the_proxy_shows_the_page_to_users(browser: Browser, site: Site) -> None:
    async with browsing(browser) as page:
        await page.goto(f"{site.proxy}/page")
        await page.locator("#identifier").fill(EMAIL)
        await page.locator("#password").fill(PASSWORD)
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="Allow", exact=True).click()
        await expect(page.get_by_role("heading")).to_have_text("Private page")
        assert page.url == f"{site.proxy}/page"
        who = await (await page.request.get(f"{site.proxy}/oauth2/userinfo")).json()

        deadline = time.monotonic() + TIME_LIMIT
        while not site.count("SELECT count(*) FROM oauth_token WHERE rotated_at IS NOT NULL"):
            assert time.monotonic() < deadline
            await page.reload()
        await expect(page.get_by_role("heading")).to_have_text("Private page")

        leave = urlencode({"client_id": "proxy", "post_logout_redirect_uri": f"{site.proxy}/"})
        target = urlencode({"rd": f"{site.service}/oauth2/end-session?{leave}"})
        await page.goto(f"{site.proxy}/oauth2/sign_out?{target}")
        await expect(page.locator("main")).to_contain_text("Wiki")
        before = site.count("SELECT count(*) FROM session")
        await page.get_by_role("button", name="Sign out", exact=True).click()
        # The proxy begins again, and the service has no session any more.
        await expect(page.locator("#identifier")).to_be_visible()

    assert who["email"] == EMAIL
    assert who["user"] == site.user_id
    assert site.count("SELECT count(*) FROM session") == before - 1
