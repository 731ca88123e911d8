"""The guide "A Next.js application": its pages, action and handlers beside a service, in a browser."""

import asyncio
import json
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, Page, expect
from standardwebhooks import Webhook

from server.services import load_settings
from tests.docs.typing_in import Shell, blocks, commands, guide, placed, typed, write_files
from tests.guides.protected import GATEWRIGHT, PATIENT, running
from tests.labs.e2e.browser import browsing, started
from tests.labs.faults.asking import until
from tests.labs.sdk.test_sdks import generate
from tests.live import ROOT, LiveService, environment, promote, serving
from tests.ports import free_port
from tests.service import PASSWORD

GUIDE = guide("nextjs")
PLACE = ROOT / "build" / "guides" / "nextjs"
"""The folder of the application, where the packages stay that were fetched once."""
SDK = "../gatewright/build/sdk/typescript"
AS_WRITTEN = {"organizations.enabled": None, "webhooks.enabled": None}
"""Settings that the guide decides."""


@dataclass(frozen=True, slots=True)
class Site:
    """A service with the settings of the guide, and its application."""

    live: LiveService
    folder: Path
    gatewright: str
    app: str
    webhook_secret: str

    def post(self, path: str, body: dict[str, object], token: str = "") -> httpx.Response:
        """Send a request to the service."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.post(
            f"{self.gatewright}{path}", json=body, headers=headers, trust_env=False, timeout=PATIENT
        )

    def sign_up(self) -> tuple[str, str]:
        """Sign a user up; return the email address and the token of a session."""
        email = f"ada.{secrets.token_hex(4)}@example.com"
        created = self.post("/sign-up/email", {"name": "Ada <3", "email": email, "password": PASSWORD})
        return email, str(created.raise_for_status().json()["token"])

    def user(self, token: str) -> dict[str, object]:
        """Return the user of a session, as the service describes them."""
        headers = {"Authorization": f"Bearer {token}"}
        session = httpx.get(
            f"{self.gatewright}/get-session", headers=headers, trust_env=False, timeout=PATIENT
        ).json()
        return dict(session["user"])

    def orders(self, token: str = "", accept: str = "application/json") -> httpx.Response:
        """Ask the route handler for orders."""
        headers = {"Accept": accept, **({"Authorization": f"Bearer {token}"} if token else {})}
        return httpx.get(f"{self.app}/api/orders", headers=headers, timeout=PATIENT, trust_env=False)

    def type(self, command: str) -> str:
        """Type a command in the folder of the service; return what it printed."""
        shell = Shell(self.folder, environment(AS_WRITTEN))
        printed = shell.type(placed(command, {}))
        assert shell.leave() == 0
        return printed.strip()


def installed(place: Path, version: str) -> Path:
    """Return a folder with the packages of the guide, and this version of Next.js."""
    sdk = generate("typescript")
    pack = commands(GUIDE, "pack the SDK").splitlines()[1]
    install = commands(GUIDE, "install").replace("next@16", version)
    wanted = pack + install + str((sdk / "dist" / "index.js").stat().st_mtime_ns)
    place.mkdir(parents=True, exist_ok=True)
    done = place / "installed.txt"
    if not done.exists() or done.read_text("utf-8") != wanted:
        (place / "package-lock.json").unlink(missing_ok=True)
        typed(placed(pack, {SDK: str(sdk)}), place)
        typed(install, place)
        done.write_text(wanted, "utf-8")
    return place


def built(place: Path, port: int) -> str:
    """Build the application in a folder; return the command that serves it on a port."""
    build, serve = placed(commands(GUIDE, "start"), {"3000": str(port)}).splitlines()
    typed(f"export NEXT_TELEMETRY_DISABLED=1\n{build}", place)
    return serve


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The guide, followed to its end."""
    place, folder = installed(PLACE, "next@16"), tmp_path_factory.mktemp("gatewright")
    own, port = free_port(), free_port()
    url, app = f"http://localhost:{own}", f"http://localhost:{port}"
    places = {GATEWRIGHT: url, "3000": str(port)}
    settings = {block.title: block.text for block in blocks(GUIDE, "toml")}
    here = f'profile = "development"\nbase_url = "{url}"\n{settings["gatewright.toml"]}'
    (folder / "gatewright.toml").write_text(here, "utf-8")
    write_files(placed(GUIDE, places), place)
    with serving(folder, {**AS_WRITTEN, "server.host": "localhost"}, port=own) as live:
        site = Site(live, folder, url, app, "")
        secret = site.type(placed(commands(GUIDE, "create the endpoint"), places))
        with (place / ".env.local").open("a", encoding="utf-8") as file:
            file.write(f"WEBHOOK_SECRET={secret}\n")
        printed = folder / "printed.txt"
        with running(built(place, port), place, port, printed, NEXT_TELEMETRY_DISABLED="1"):
            yield Site(live, folder, url, app, secret)


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    """One browser for all tests."""
    async with started() as browser:
        yield browser


async def open_signed_in(page: Page, site: Site, path: str, email: str) -> None:
    """Open a page of the application, and sign in where it leads."""
    await page.goto(f"{site.app}{path}")
    await page.locator("#identifier").fill(email)
    await page.locator("#password").fill(PASSWORD)
    await page.keyboard.press("Enter")


async def order(page: Page, item: str) -> None:
    """Send the form of the server action."""
    await page.get_by_label("Item").fill(item)
    await page.get_by_role("button", name="Order").click()


async def test_a_user_signs_up_orders_and_signs_out(browser: Browser, site: Site) -> None:
    async with browsing(browser) as page:
        await page.goto(site.app)
        await page.get_by_role("link", name="Sign in").click()
        await expect(page).to_have_url(re.compile(re.escape(f"{site.gatewright}/account/sign-in?")))
        await page.goto(f"{site.app}/orders")
        await page.get_by_role("link", name="Create an account").click()
        await page.get_by_label("Name", exact=True).fill("Ada <3")
        await page.get_by_label("Email address", exact=True).fill(f"{secrets.token_hex(4)}@example.com")
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        await page.get_by_role("button", name="Create an account").click()
        await expect(page.get_by_role("heading", name="Orders of Ada <3")).to_be_visible()
        assert page.url == f"{site.app}/orders"
        await order(page, "Milk")
        await expect(page.get_by_role("listitem")).to_have_text(["Milk"])
        await page.reload()
        await expect(page.get_by_role("listitem")).to_have_text(["Milk"])

        await page.get_by_role("link", name="Home").click()
        await expect(page.get_by_role("heading", name="Welcome, Ada <3")).to_be_visible()
        await page.get_by_role("link", name="Sign out").click()
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("heading", name="Shop")).to_be_visible()
        await page.goto(f"{site.app}/orders")
        assert page.url.startswith(f"{site.gatewright}/account/sign-in?")


async def test_a_role_is_required(browser: Browser, site: Site) -> None:
    email, _ = site.sign_up()
    async with browsing(browser) as page:
        await open_signed_in(page, site, "/reports", email)
        await expect(page.get_by_text("Your account may not see this page.")).to_be_visible()
        promote(email, site.folder, AS_WRITTEN)
        await page.goto(f"{site.app}/reports")
        await expect(page.get_by_role("heading", name="For Ada <3 only")).to_be_visible()
    demote(site, email)


def demote(site: Site, email: str) -> None:
    """Take the role of the last administrator away, as the guide says."""
    printed = site.type(f"echo y | .venv/bin/gatewright users demote {email}")
    assert f"{email} is the last administrator." in printed


async def test_a_role_in_an_organization_is_required(browser: Browser, site: Site) -> None:
    email, _ = site.sign_up()
    async with browsing(browser) as page:
        await open_signed_in(page, site, "/invoices", email)
        await expect(page.get_by_text("Choose an organization first.")).to_be_visible()
        await page.get_by_role("link", name="Organizations").click()
        await expect(page.get_by_role("heading", name="Organizations")).to_be_visible()
        await page.goto(f"{site.gatewright}/account/organizations")
        await page.get_by_label("Name", exact=True).fill("Acme")
        await page.get_by_label("Short name", exact=True).fill(f"acme-{secrets.token_hex(4)}")
        await page.get_by_role("button", name="Create the organization").click()
        await expect(page.get_by_role("heading", name="Acme", level=1)).to_be_visible()
        await page.goto(f"{site.app}/invoices")
        await expect(
            page.get_by_role("heading", name=re.compile("^Invoices of .+, for owner$"))
        ).to_be_visible()


async def test_an_action_without_a_session_leads_to_the_sign_in_page(browser: Browser, site: Site) -> None:
    email, token = site.sign_up()
    async with browsing(browser) as page:
        await open_signed_in(page, site, "/orders", email)
        await expect(page.get_by_role("heading", name="Orders of Ada <3")).to_be_visible()
        site.post("/revoke-other-sessions", {}, token).raise_for_status()
        await order(page, "Milk")
        await expect(page.locator("#identifier")).to_be_visible()
        assert page.url.startswith(f"{site.gatewright}/account/sign-in?")
    assert site.orders(token).json() == []


def test_a_route_handler_requires_a_session(site: Site) -> None:
    _, token = site.sign_up()

    refused, page = site.orders(), site.orders(accept="text/html")

    assert site.orders(token).json() == []
    assert (refused.status_code, refused.json()["code"]) == (401, "UNAUTHORIZED")
    assert page.headers["location"].startswith(f"{site.gatewright}/account/sign-in?callbackURL=")


async def test_a_webhook_deletes_the_orders_of_a_user(browser: Browser, site: Site) -> None:
    email, token = site.sign_up()
    async with browsing(browser) as page:
        await open_signed_in(page, site, "/orders", email)
        await order(page, "Milk")
        await expect(page.get_by_role("listitem")).to_have_text(["Milk"])
        user = site.user(token)

        wrong = deleted(site, user, "whsec_" + "A" * 43 + "=")
        before = site.orders(token).json()
        right = deleted(site, user, site.webhook_secret)

        assert (wrong, before) == (401, ["Milk"])
        assert (right, site.orders(token).json()) == (204, [])
        promote(email, site.folder, AS_WRITTEN)
        demote(site, email)
        await page.goto(f"{site.gatewright}/account/data")
        await page.get_by_label("Password", exact=True).fill(PASSWORD)
        delete = page.get_by_role("button", name="Delete the account permanently")
        await delete.click()
        await expect(delete).to_be_hidden()

    async def is_delivered() -> bool:
        printed = await asyncio.to_thread(site.type, ".venv/bin/gatewright webhooks deliveries shop")
        return "delivered" in printed

    await until(is_delivered)


def deleted(site: Site, user: dict[str, object], secret: str) -> int:
    """Send the webhook of a deleted user; return the status."""
    now = datetime.now(UTC)
    body = json.dumps({"type": "user.deleted", "timestamp": now.isoformat(), "data": {"user": user}})
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign("msg_1", now, body),
    }
    url = f"{site.app}/api/webhooks"
    return httpx.post(url, content=body, headers=headers, timeout=PATIENT, trust_env=False).status_code


async def test_a_user_switches_between_organizations(browser: Browser, site: Site) -> None:
    email, token = site.sign_up()
    names = {}
    for name in ("Wheels", "Boats"):
        slug = f"{name.lower()}-{secrets.token_hex(4)}"
        created = site.post("/organization/create", {"name": name, "slug": slug}, token)
        names[name] = created.raise_for_status().json()["id"]
    async with browsing(browser) as page:
        await open_signed_in(page, site, "/organizations", email)
        await page.get_by_role("button", name="Wheels").click()
        await expect(page.get_by_role("button", name="Wheels")).to_be_disabled()
        await expect(page.get_by_role("button", name="Boats")).to_be_enabled()
        await page.goto(f"{site.app}/invoices")
        await expect(page.get_by_role("heading", name=f"Invoices of {names['Wheels']}")).to_be_visible()


def test_a_route_handler_requires_a_role(site: Site) -> None:
    email, token = site.sign_up()

    def reports() -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.get(f"{site.app}/api/reports", headers=headers, timeout=PATIENT, trust_env=False)

    refused = reports()
    promote(email, site.folder, AS_WRITTEN)
    allowed = reports()

    assert (refused.status_code, refused.json()["code"]) == (403, "ROLE_REQUIRED")
    assert (allowed.status_code, allowed.json()) == (200, {"for": "Ada <3"})


def test_it_builds_and_serves_with_cache_components(site: Site) -> None:
    """The line of the section for `create-next-app`, in every page, with the configuration that it writes."""
    _, token = site.sign_up()
    [line] = [block.text for block in blocks(GUIDE, "typescript") if "instant" in block.text]
    for page in PLACE.glob("app/**/page.tsx"):
        page.write_text(f"{page.read_text('utf-8')}\n{line}", "utf-8")
    configuration, port, printed = PLACE / "next.config.ts", free_port(), site.folder / "cached.txt"
    options = '{ cacheComponents: true, partialPrefetching: true, distDir: ".next-cached" }'
    configuration.write_text(f"export default {options};\n", "utf-8")
    try:
        with running(built(PLACE, port), PLACE, port, printed, NEXT_TELEMETRY_DISABLED="1"):
            headers = {"Cookie": f"service.session-token={token}"}
            url = f"http://localhost:{port}/orders"
            page_of_ada = httpx.get(url, headers=headers, timeout=PATIENT, trust_env=False)
    finally:
        configuration.unlink()
        write_files(GUIDE, PLACE)

    assert (page_of_ada.status_code, "Orders of" in page_of_ada.text) == (200, True)
    assert "Error" not in printed.read_text("utf-8")


def test_it_builds_and_serves_with_next_15(site: Site) -> None:
    """In a folder of its own, with the changes that the section for Next.js 15 names."""
    _, token = site.sign_up()
    place, port = installed(PLACE.with_name("nextjs-15"), "next@15"), free_port()
    write_files(placed(GUIDE, {GATEWRIGHT: site.gatewright, "3000": str(port)}), place)
    [line] = [block.text for block in blocks(GUIDE, "typescript") if "nodejs" in block.text]
    proxy = (place / "proxy.ts").read_text("utf-8").replace("function proxy", "function middleware")
    (place / "middleware.ts").write_text(proxy.partition("export const config")[0] + line, "utf-8")
    (place / "proxy.ts").unlink()
    with running(built(place, port), place, port, site.folder / "15.txt", NEXT_TELEMETRY_DISABLED="1"):
        url, headers = f"http://localhost:{port}/orders", {"Accept": "text/html"}
        refused = httpx.get(url, headers=headers, timeout=PATIENT, trust_env=False)
        headers["Cookie"] = f"service.session-token={token}"
        page_of_ada = httpx.get(url, headers=headers, timeout=PATIENT, trust_env=False)

    assert refused.headers["location"].startswith(f"{site.gatewright}/account/sign-in?callbackURL=")
    assert (page_of_ada.status_code, "Orders of" in page_of_ada.text) == (200, True)


async def test_the_example_signs_users_in(browser: Browser, tmp_path: Path) -> None:
    """Copied out of the SDK, registered and started as the section for another domain says."""
    place, own, port = PLACE.with_name("nextjs-example"), free_port(), free_port()
    place.mkdir(parents=True, exist_ok=True)
    (place / "package-lock.json").unlink(missing_ok=True)
    typed(placed(commands(GUIDE, "install the example"), {SDK: str(generate("typescript"))}), place)
    url, app = f"http://localhost:{own}", f"http://localhost:{port}"
    places = {"http://localhost:3000": app}
    here = f'profile = "development"\nbase_url = "{url}"\n[oauth]\nenabled = true\n[organizations]\nenabled = true\n'
    (tmp_path / "gatewright.toml").write_text(here, "utf-8")
    with serving(tmp_path, {**AS_WRITTEN, "server.host": "localhost"}, port=own) as live:
        site = Site(live, tmp_path, url, app, "")
        email, _ = site.sign_up()
        printed = site.type(f"({placed(commands(GUIDE, 'register the example'), places)}) 2>&1")
        found = re.search(r"(app_\w{24}).*\n(gws_\w{32})$", printed)
        assert found is not None, printed
        shown = {"paste the client id": found[1], "paste the secret": found[2]}
        start = placed(commands(GUIDE, "start the example"), shown)
        variables = {"AUTH_URL": url, "APP_URL": app, "PORT": str(port)}
        with running(start, place, port, tmp_path / "printed.txt", **variables):
            async with browsing(browser) as page:
                await open_signed_in(page, site, "/sign-in", email)
                await page.wait_for_url(f"{app}/")
                assert json.loads(await page.inner_text("body")) == {"email": email}


def test_the_settings_for_production_are_settings(tmp_path: Path) -> None:
    [text] = [block.text for block in blocks(GUIDE, "toml") if block.title == "production.toml"]
    (tmp_path / "gatewright.toml").write_text(text, "utf-8")

    settings = load_settings({"GATEWRIGHT_PROFILE": "development"}, tmp_path)

    assert settings.trusted_origins == ("https://app.example.com",)


async def test_an_outage_signs_nobody_out(browser: Browser, site: Site) -> None:
    """The last one, because it ends the service."""
    email, token = site.sign_up()
    async with browsing(browser) as page:
        await open_signed_in(page, site, "/orders", email)
        await expect(page.get_by_role("heading", name="Orders of Ada <3")).to_be_visible()
        site.live.process.terminate()
        site.live.process.wait(timeout=60)
        assert site.orders(token).status_code == 503
        response = await page.goto(f"{site.app}/orders")
        assert response is not None
        assert (response.status, response.headers["retry-after"]) == (503, "5")
        await expect(page.get_by_text("That did not work. Try again in a moment.")).to_be_visible()
        await page.goto(site.app)
        await expect(page.get_by_role("heading", name="That did not work")).to_be_visible()
        port = int(site.gatewright.rpartition(":")[2])
        with serving(site.folder, {**AS_WRITTEN, "server.host": "localhost"}, port=port):
            await page.get_by_role("button", name="Try again").click()
            await expect(page.get_by_role("heading", name="Welcome, Ada <3")).to_be_visible()
        assert [one["name"] for one in await page.context.cookies(site.app)].count(
            "service.session-token"
        ) == 1
