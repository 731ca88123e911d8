"""A single-page application signs a user in by oidc-client-ts, at an origin of its own and without a secret."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.labs.e2e.browser import browsing
from tests.labs.e2e.cross_origin import at_another_origin
from tests.labs.relying_parties.user import EMAIL, User
from tests.live import ROOT, serving
from tests.packages import from_npm
from tests.ports import free_port
from tests.service import PASSWORD

PACKAGE = ROOT / "tests" / "labs" / "relying_parties" / "node" / "package.json"
APPLICATION = """<!doctype html><title>Shop</title><p id=state></p><script>%s</script><script>
const manager = new oidc.UserManager({
  authority: "%s",
  client_id: new URLSearchParams(location.search).get("as") ?? sessionStorage.as,
  redirect_uri: location.origin + "/callback",
  silent_redirect_uri: location.origin + "/silent",
  post_logout_redirect_uri: location.origin + "/goodbye",
  scope: sessionStorage.scope ?? "openid profile email",
  loadUserInfo: true,
  automaticSilentRenew: false,
  revokeTokenTypes: ["refresh_token"],
});
sessionStorage.as = manager.settings.client_id;
const say = (text) => document.querySelector("#state").textContent = text;
(async () => {
  if (location.pathname === "/callback") say((await manager.signinRedirectCallback()).profile.email);
  else if (location.pathname === "/silent") await manager.signinSilentCallback();
  else if (location.pathname === "/goodbye") say("left " + (await manager.signoutRedirectCallback()).userState);
  else say("ready");
})().catch((error) => say(error.error ?? error.message));
</script>"""


@dataclass(frozen=True, slots=True)
class Site:
    """Where the application is: on the site of the service, and on another one."""

    near: str
    far: str
    user_id: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The service and the application."""
    packages = from_npm("relying-parties-node", PACKAGE)
    library = packages / "node_modules" / "oidc-client-ts" / "dist" / "browser" / "oidc-client-ts.min.js"
    port = free_port()
    service = f"http://127.0.0.1:{port}"
    with at_another_origin(APPLICATION % (library.read_text("utf-8"), service)) as near:
        far = near.replace("127.0.0.1", "localhost")
        with serving(tmp_path_factory.mktemp("service"), settings(service, near, far), port=port) as live:
            user = User(live.url)
            user_id = user.sign_up()
            user.close()
            yield Site(near, far, user_id)
        assert live.output.faults() == []


def settings(service: str, *origins: str) -> dict[str, str]:
    """Return the settings of the service: it trusts no origin but its own."""
    client: dict[str, Any] = {
        "client_name": "Shop",
        "token_endpoint_auth_method": "none",
        "redirect_uris": [f"{origin}/{path}" for origin in origins for path in ("callback", "silent")],
        "post_logout_redirect_uris": [f"{origin}/goodbye" for origin in origins],
        "grant_types": ["authorization_code", "refresh_token"],
        "scope": "openid profile email offline_access",
    }
    return {
        "base_url": service,
        "session.cookie_secure": "false",
        "limits.requests": "0",
        "jwt.enabled": "true",
        "jwt.algorithms": "RS256",
        "oauth.enabled": "true",
        "oauth.clients": json.dumps({"own": {**client, "skip_consent": True}, "foreign": client}),
    }


async def sign_in(page: Page, origin: str, client_id: str, scope: str = "openid profile email") -> None:
    """Begin at the application, sign in at the service, and allow what the application asks for."""
    await page.goto(f"{origin}/?as={client_id}")
    await page.evaluate("scope => { sessionStorage.scope = scope }", scope)
    await page.goto(f"{origin}/?as={client_id}")
    await page.evaluate("() => { manager.signinRedirect() }")
    await page.locator("#identifier").fill(EMAIL)
    await page.locator("#password").fill(PASSWORD)
    await page.keyboard.press("Enter")
    if client_id == "foreign":
        await page.get_by_role("button", name="Allow", exact=True).click()
    await expect(page.locator("#state")).to_have_text(EMAIL)
    assert page.url.startswith(f"{origin}/callback?")


async def user(page: Page) -> dict[str, Any]:
    """Return what the application keeps of the user."""
    kept: dict[str, Any] = await page.evaluate("manager.getUser()")
    return kept


async def renew(page: Page) -> str | None:
    """Renew the tokens in the background; return the error, if any."""
    error: str | None = await page.evaluate(
        "manager.signinSilent().then(() => null, (error) => error.error ?? error.message)"
    )
    return error


async def sign_out(page: Page) -> None:
    """Sign out at the service, and return to the application."""
    await page.evaluate("() => { manager.signoutRedirect({ state: 'happily' }) }")
    await expect(page.locator("#state")).to_have_text("left happily")


async def test_an_iframe_renews_tokens_as_long_as_the_session_lives(browser: Browser, site: Site) -> None:
    async with browsing(browser) as page:
        await sign_in(page, site.near, "own")
        first = await user(page)
        assert await renew(page) is None
        second = await user(page)
        await sign_out(page)
        after = await renew(page)

    assert first["profile"]["sub"] == second["profile"]["sub"] == site.user_id
    assert first["profile"]["name"] == "Ada"
    assert first["refresh_token"] is None
    assert first["access_token"] != second["access_token"]
    assert after == "login_required"


async def test_an_iframe_of_another_site_has_no_session(browser: Browser, site: Site) -> None:
    async with browsing(browser) as page:
        await sign_in(page, site.far, "own")
        assert await renew(page) == "login_required"


@pytest.mark.parametrize("origin", ["near", "far"])
async def test_a_refresh_token_renews_tokens_on_every_site(browser: Browser, site: Site, origin: str) -> None:
    async with browsing(browser) as page:
        await sign_in(page, getattr(site, origin), "foreign", "openid profile email offline_access")
        first = await user(page)
        assert await renew(page) is None
        second = await user(page)
        await page.evaluate("manager.revokeTokens()")
        old = await page.evaluate(
            """token => fetch(manager.settings.authority + "/oauth2/token", {method: "POST", body: new URLSearchParams({
              grant_type: "refresh_token", refresh_token: token, client_id: manager.settings.client_id,
            })}).then((response) => response.json())""",
            second["refresh_token"],
        )
        await sign_out(page)

    assert first["profile"]["sub"] == second["profile"]["sub"] == site.user_id
    assert first["refresh_token"] != second["refresh_token"]
    assert old["error"] == "invalid_grant"
