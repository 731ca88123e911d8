"""A walk through every hosted page and its states, by names and addresses, so that it works in every language."""

import asyncio
import json
import re
import sqlite3
from collections.abc import AsyncIterator, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pyotp
from playwright.async_api import Locator, Page

from codegen.walk import Operation
from tests.contract.reading import OPERATIONS, responses
from tests.labs.e2e.sso_walk import single_sign_on
from tests.labs.e2e.virtual_authenticator import attach
from tests.labs.faults.asking import until
from tests.live import TIMEOUT, LiveService, administrator, serving
from tests.ports import free_port
from tests.service import PASSWORD, declared_settings, mails_in

ADA, EVE, GRACE, UNKNOWN = "ada@example.com", "eve@example.com", "grace@example.com", "nobody@example.com"
MALLORY, OSCAR = "mallory@example.com", "oscar@example.com"
"""Users whose address, and whose browser, is somebody else's."""
INVITED = "paula@example.com"
"""Somebody who is invited to an organization before having an account."""
FAILURES = 10
"""Wrong passwords after which everything has to wait, as `limits.failures` has it."""
NEW, NEW_ADDRESS = "nine green boats", "ada.king@example.com"
LONG = "a-name-without-a-space-" * 5
AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 "
    "Mobile/15E148 Safari/604.1",
    f"deploy-script/{LONG}",
)
LOGO = """<svg xmlns="http://www.w3.org/2000/svg" width="96" height="40">
<rect width="96" height="40" rx="10" fill="#2f55d4"/>
<text x="48" y="27" text-anchor="middle" fill="#fff" font-family="sans-serif" font-size="20">Acme</text>
</svg>"""
APPLICATION = "https://app.example.com"
SHOP = "https://shop.example.com"
"""An OAuth client."""
CLIENTS = {
    "shop": {
        "client_name": "Shop",
        "redirect_uris": [f"{SHOP}/callback"],
        "secret": "s" * 32,
        "client_uri": SHOP,
        "tos_uri": f"{SHOP}/terms",
        "policy_uri": f"{SHOP}/privacy",
    },
    "terminal": {
        "client_name": LONG[:64],
        "application_type": "native",
        "token_endpoint_auth_method": "none",
        "redirect_uris": ["http://127.0.0.1/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
        "scope": "openid profile email offline_access files",
        "resources": ["https://api.example.com"],
    },
}
STYLESHEET = ".bottom { letter-spacing: 0.01em; }"
DEVICES = {
    name: {
        "client_name": title,
        "token_endpoint_auth_method": "none",
        "grant_types": ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"],
        "scope": "openid profile email offline_access files",
        "session_sign_in": gets_session,
    }
    for name, title, gets_session in (("television", "Television", True), ("printer", LONG[:64], False))
}
"""Applications on devices; one gets a session, the other one tokens."""
SETTINGS = {
    **declared_settings("SETTINGS"),
    "session.cookie_secure": "false",
    "session.max_per_user": "0",
    "api_keys.enabled": "true",
    "api_keys.grantable": '{"files": ["read"]}',
    "email_codes.enabled": "true",
    "magic_links.enabled": "true",
    "delete_user.enabled": "true",
    "oauth.scopes": '{"files": "Read and change all files that you have stored in the archive of this service"}',
    "trusted_origins": f'["{APPLICATION}"]',
    "oauth.clients": json.dumps(CLIENTS | DEVICES),
    "oauth.resources": '{"https://api.example.com": {"name": "Orders", "scopes": ["files"]}}',
    "limits.failures": str(FAILURES),
    "passkey.rp_id": "localhost",
    "pages.terms_url": "https://example.com/terms",
    "pages.privacy_url": "https://example.com/privacy",
    **{f"providers.{name}.preset": name for name in ("google", "github")},
    **{f"providers.{name}.client_id": "web" for name in ("google", "github")},
    **{f"providers.{name}.client_secret": "s" * 32 for name in ("google", "github")},
}

_SHOWN: dict[str, Operation] = {
    name: operation
    for name, operation in OPERATIONS.items()
    if operation.method == "get"
    and operation.spec["tags"][0] != "mailbox"
    and "text/html" in responses(operation).get(200, {}).get("content", {})
}
"""The operations that show a page, by operationId; the walk through the mailbox names its pages by their ids."""
PAGES = {name: operation for name, operation in _SHOWN.items() if not name.startswith("console.")}
PATTERNS = {
    name: re.compile(re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(operation.path)))
    for name, operation in PAGES.items()
}
CONSOLE_PAGES = {name: operation for name, operation in _SHOWN.items() if name.startswith("console.")}


@dataclass(frozen=True, slots=True)
class Site:
    """A running service with everything switched on, and where it keeps emails and rows."""

    live: LiveService
    origin: str
    """As browsers reach it: passkeys need a domain."""
    directory: Path

    def url(self, path: str) -> str:
        """Return the address of a page."""
        return f"{self.origin}{path}"

    def post(self, path: str, body: object, **headers: str) -> httpx.Response:
        """Call an operation as a program does. Raises HTTPStatusError where it is refused."""
        answer = httpx.post(self.url(path), json=body, headers=headers, trust_env=False, timeout=TIMEOUT)
        return answer.raise_for_status()

    def execute(self, statement: str) -> None:
        """Change rows of the database."""
        with sqlite3.connect(self.directory / "gatewright.db", timeout=30) as database:
            database.execute(statement)
        database.close()

    async def token(self, template: str, to: str = ADA) -> str:
        """Return the token of the link in the last email of this template."""
        return parse_qs(urlsplit(await self.link(template, to)).query)["token"][0]

    async def link(self, template: str, to: str) -> str:
        """Return the link in the last email of this template."""
        found: list[str] = []

        async def has_come() -> bool:
            mails = await asyncio.to_thread(mails_in, self.directory / "mail.jsonl")
            found[:] = [mail["link"] for mail in mails if (mail["template"], mail["to"]) == (template, to)]
            return bool(found)

        await until(has_come)
        return found[-1]

    async def not_me_token(self, to: str) -> str:
        """Return the token of the link "This was not me" in the last verification email to an address."""
        await self.token("verify-email", to)
        texts = [
            mail["text"]
            for mail in mails_in(self.directory / "mail.jsonl")
            if (mail["template"], mail["to"]) == ("verify-email", to)
        ]
        return str(re.findall(r"/not-me\?token=(\w+)", texts[-1])[0])


@contextmanager
def site(directory: Path) -> Iterator[Site]:
    """Run a service with a logo, providers, API keys and everything else that pages show."""
    port = free_port()
    origin = f"http://localhost:{port}"
    (directory / "logo.svg").write_text(LOGO, "utf-8")
    (directory / "brand.css").write_text(STYLESHEET, "utf-8")
    settings = {
        **SETTINGS,
        "base_url": origin,
        "passkey.origins": origin,
        "pages.logo": str(directory / "logo.svg"),
        "pages.stylesheet": str(directory / "brand.css"),
        "mail.file_path": str(directory / "mail.jsonl"),
    }
    (directory / "mail.jsonl").touch()
    with serving(directory, settings, port=port) as live:
        yield Site(live, origin, directory)


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody at a browser, who knows pages by their addresses and fields by their names."""

    page: Page
    site: Site

    async def open(self, path: str) -> None:
        """Open a page."""
        await self.page.goto(self.site.url(path))

    def form(self, action: str) -> Locator:
        """Return the first form that is sent to this path."""
        return self.page.locator(f'main form[action="{action}"]').first

    async def send(self, action: str, *, button: str = "", **typed: str) -> None:
        """Fill in a form, and press its button."""
        form = self.form(action)
        for name, value in typed.items():
            await form.locator(f'[name="{name}"]').fill(value)
        await form.locator(f"button[type=submit]{button}").click()
        await self.page.wait_for_load_state()

    async def forget(self) -> None:
        """Lose every cookie."""
        await self.page.context.clear_cookies()

    async def sign_in(self, path: str = "/account", password: str = PASSWORD, email: str = ADA) -> None:
        """Sign in with the password, and go to a page."""
        await self.forget()
        await self.open(f"/account/sign-in?callbackURL={path}")
        await self.send("/account/sign-in", identifier=email, password=password)


async def walk(page: Page, site: Site) -> AsyncIterator[str]:
    """Yield the name of every state while the page shows it: first as it is opened, then what came of its forms."""
    visitor = Visitor(page, site)
    way_in = (_way_in, _links, _account, _passkeys, _second_factor, _waiting)
    account = (
        _api_keys,
        _connections,
        _applications,
        _requests,
        _organizations,
        _invitations,
        single_sign_on,
        _devices,
        _last,
    )
    for part in (*way_in, *account):
        async for name in part(visitor):
            yield name


async def others(page: Page, site: Site, seen: Container[str]) -> AsyncIterator[str]:
    """Yield the pages whose paths were not `seen`, for somebody who is signed in, then for somebody who is not."""
    visitor = Visitor(page, site)
    left = {
        name: operation.path
        for name, operation in PAGES.items()
        if operation.path not in seen and "{" not in operation.path
    }
    if left:
        await visitor.sign_in(email=EVE)
    for _ in ("signed in", "signed out"):
        for name, path in list(left.items()):
            await visitor.open(path)
            if urlsplit(page.url).path == path:
                del left[name]
                yield name
        await visitor.forget()


async def _way_in(visitor: Visitor) -> AsyncIterator[str]:
    await visitor.open("/")
    yield "root"
    await visitor.open("/account/sign-up")
    yield "sign-up"
    await visitor.send("/account/sign-up", name="Ada", email="ada", password="x")
    yield "sign-up-refused"
    await visitor.send("/account/sign-up", name="Ada Lovelace", email=ADA, password=PASSWORD)
    yield "overview-new"
    await visitor.forget()
    await visitor.open("/account/sign-in")
    yield "sign-in"
    await visitor.send("/account/sign-in", identifier="", password="")
    yield "sign-in-empty"
    await visitor.send("/account/sign-in", identifier=ADA, password="wrong")
    yield "sign-in-wrong"
    for _ in range(FAILURES):
        wrong = {"email": UNKNOWN, "password": "wrong"}
        await asyncio.to_thread(httpx.post, visitor.site.url("/sign-in/email"), json=wrong)
    await visitor.send("/account/sign-in", identifier=UNKNOWN, password="wrong")
    yield "sign-in-limited"
    for reason in ("expired", "reset"):
        await visitor.open(f"/account/sign-in?reason={reason}")
        yield f"sign-in-{reason}"
    await visitor.open("/account/forgot-password?reason=dead")
    yield "forgot-password-dead"
    await visitor.send("/account/forgot-password", email="ada")
    yield "forgot-password-refused"
    await visitor.send("/account/forgot-password", email=ADA)
    yield "mail-sent"
    await visitor.open("/account/sign-in/email")
    await visitor.send("/account/sign-in/email", button='[value="code"]', email="")
    yield "email-sign-in-refused"
    await visitor.send("/account/sign-in/email", button='[value="code"]', email=ADA)
    yield "email-code"
    await visitor.send("/account/sign-in/code", code="000000")
    yield "email-code-wrong"
    await visitor.open("/account/sign-in/sso")
    await visitor.send("/account/sign-in/sso", email="eve@nowhere.example")
    yield "sso-sign-in-refused"
    await visitor.open("/account/error?error=access_denied&error_description=The+user+refused")
    yield "provider-error"
    await visitor.open("/account/sign-in?callbackURL=https%3A%2F%2Fevil.example.com")
    yield "error-callback"
    await visitor.open("/account/nowhere")
    yield "not-found"


async def _links(visitor: Visitor) -> AsyncIterator[str]:
    site = visitor.site
    await visitor.open(f"/account/verify-email?token={await site.token('verify-email')}")
    yield "verify-email"
    await visitor.send("/account/verify-email")
    yield "verify-email-verified"
    await visitor.open("/account/verify-email?token=spent")
    yield "verify-email-dead"
    await visitor.open(f"/account/reset-password?token={await site.token('reset-password')}")
    yield "reset-password"
    await visitor.send("/account/reset-password", newPassword="x")
    yield "reset-password-refused"
    site.post("/sign-in/magic-link", {"email": ADA})
    await visitor.open(f"/account/magic-link?token={await site.token('magic-link')}")
    yield "magic-link"
    await visitor.open("/account/magic-link?token=spent")
    yield "magic-link-dead"
    site.post("/sign-up/email", {"name": "Mallory", "email": MALLORY, "password": PASSWORD})
    not_me = f"/account/not-me?token={await site.not_me_token(MALLORY)}"
    await visitor.open(not_me)
    yield "not-me"
    await visitor.send("/account/not-me")
    yield "not-me-deleted"
    await visitor.open(not_me)
    yield "not-me-dead"
    await visitor.open(f"/account/not-me?token={await site.not_me_token(ADA)}")
    yield "not-me-verified"
    await visitor.open("/dev/mailbox")
    yield "mailbox"
    await visitor.page.locator("main li a").first.click()
    await visitor.page.wait_for_load_state()
    yield "mailbox-mail"
    site.post("/sign-up/email", {"name": "Grace", "email": GRACE, "password": PASSWORD})
    site.post("/sign-in/magic-link", {"email": GRACE})
    await visitor.open(f"/account/magic-link?token={await site.token('magic-link', GRACE)}")
    await visitor.send("/account/magic-link")
    yield "removed-access"


async def _account(visitor: Visitor) -> AsyncIterator[str]:
    site = visitor.site
    for agent in AGENTS:
        site.post("/sign-in/email", {"email": ADA, "password": PASSWORD}, **{"User-Agent": agent})
    await visitor.sign_in()
    yield "overview"
    for name in ("profile", "email", "password", "sessions", "history", "data"):
        await visitor.open(f"/account/{name}")
        yield name
    await visitor.open("/account/sign-in")
    yield "continue"
    await visitor.open("/account/sign-out")
    yield "sign-out"
    await visitor.open("/account/profile")
    await visitor.send("/account/profile", name=LONG, username="a")
    yield "profile-refused"
    await visitor.send("/account/profile", name=LONG, username="ada")
    yield "profile-saved"
    await visitor.open("/account/email")
    await visitor.send("/account/email", newEmail="ada")
    yield "email-refused"
    await visitor.send("/account/email", newEmail=NEW_ADDRESS)
    link = f"/account/verify-email?reason=change&token={await site.token('change-email', NEW_ADDRESS)}"
    await visitor.open(link)
    yield "change-email"
    site.post("/sign-up/email", {"name": "Oscar", "email": OSCAR, "password": PASSWORD})
    await visitor.sign_in(email=OSCAR)
    await visitor.open(link)
    yield "change-email-foreign"
    await visitor.open("/account/verify-email?reason=change&token=spent")
    yield "change-email-dead"
    await visitor.sign_in()
    await visitor.open("/account/password")
    await visitor.send("/account/password", currentPassword="wrong", newPassword=NEW)
    yield "password-refused"
    await visitor.open("/account/data")
    await visitor.send("/account/data/delete", password="wrong")
    yield "data-refused"
    await visitor.open("/account/delete?token=spent")
    yield "delete"


async def _passkeys(visitor: Visitor) -> AsyncIterator[str]:
    page, path = visitor.page, "/account/passkeys"
    await visitor.open(path)
    yield "passkeys-empty"
    for name in ("Laptop", LONG[:64]):
        device = await attach(page)
        await visitor.open(path)
        await visitor.form(path).locator("[name=name]").fill(name)
        await visitor.form(path).locator("button[type=submit]").click()
        await page.wait_for_url("**?reason=added*")
        await device.devtools.detach()
    yield "passkeys"
    await page.locator("main a[href*='step=']").first.click()
    await page.wait_for_load_state()
    yield "passkeys-rename"
    await page.locator("main a[href*='/passkeys/remove']").first.click()
    await page.wait_for_load_state()
    yield "passkeys-remove"
    visitor.site.execute("UPDATE session SET created_at = created_at - 864000000")
    await visitor.open("/account/password")
    yield "confirm"
    await visitor.send("/account/confirm", password="wrong")
    yield "confirm-wrong"
    await visitor.send("/account/confirm", password=PASSWORD)


async def _second_factor(visitor: Visitor) -> AsyncIterator[str]:
    page = visitor.page
    await visitor.open("/account/second-factor?step=totp")
    yield "second-factor-begin"
    await visitor.send("/account/second-factor/enable", password=PASSWORD)
    yield "second-factor-setup"
    authenticator = pyotp.TOTP("".join((await page.locator("#key").inner_text()).split()))
    await visitor.send("/account/second-factor/confirm", code="000000")
    yield "second-factor-wrong"
    await visitor.send("/account/second-factor/confirm", code=authenticator.now())
    yield "second-factor-on"
    await visitor.open("/account/second-factor?step=backup-codes")
    await visitor.send("/account/second-factor/backup-codes", password=PASSWORD)
    yield "backup-codes"
    codes = await page.locator("#codes li").all_inner_texts()
    for code in codes[:2]:
        await visitor.sign_in()
        await visitor.open("/account/two-factor?method=backup")
        await page.locator("[name=trustDevice]").check()
        await visitor.send("/account/two-factor", code=code)
    await visitor.open("/account/second-factor?step=disable")
    yield "second-factor-off"


async def _waiting(visitor: Visitor) -> AsyncIterator[str]:
    await visitor.sign_in()
    yield "two-factor"
    await visitor.send("/account/two-factor", code="000000")
    yield "two-factor-wrong"
    await visitor.open("/account/two-factor?method=backup")
    yield "two-factor-backup"
    await visitor.open("/account/two-factor?method=otp")
    yield "two-factor-email"
    await visitor.send("/account/two-factor/code")
    yield "two-factor-sent"
    await visitor.forget()
    visitor.site.execute('UPDATE "user" SET email_verified = 0')
    await visitor.open(f"/account/magic-link?token={await visitor.site.token('magic-link')}")
    await visitor.send("/account/magic-link")
    yield "two-factor-not-me"
    visitor.site.execute('UPDATE "user" SET email_verified = 1')


async def _api_keys(visitor: Visitor) -> AsyncIterator[str]:
    visitor.site.post("/sign-up/email", {"name": "Eve", "email": EVE, "password": PASSWORD})
    await visitor.sign_in(email=EVE)
    await visitor.open("/account/api-keys")
    yield "api-keys-empty"
    await visitor.send("/account/api-keys", name="x" * 32, permissions="nothing:here")
    yield "api-keys-refused"
    for name in ("ci", "y" * 32):
        await visitor.open("/account/api-keys")
        await visitor.send("/account/api-keys", name=name, permissions="files:read")
    yield "api-key-created"
    await visitor.open("/account/api-keys")
    yield "api-keys"
    await visitor.page.locator("main a[href*='/api-keys/delete']").first.click()
    await visitor.page.wait_for_load_state()
    yield "api-keys-delete"


async def _connections(visitor: Visitor) -> AsyncIterator[str]:
    await visitor.open("/account/connections")
    yield "connections-empty"
    visitor.site.execute(
        "INSERT INTO account (id, account_id, issuer, provider_id, user_id, created_at, updated_at)"
        " SELECT id, id, '', 'github', id, created_at, updated_at FROM \"user\""
    )
    await visitor.open("/account/connections")
    yield "connections"
    await visitor.page.locator("main a[href*='/connections/disconnect']").first.click()
    await visitor.page.wait_for_load_state()
    yield "connections-disconnect"


async def _applications(visitor: Visitor) -> AsyncIterator[str]:
    await visitor.open("/account/applications")
    yield "applications-empty"
    visitor.site.execute(
        "INSERT INTO oauth_client (client_id, client_name, registration, source, created_at, updated_at)"
        f" SELECT column1, column2, '{{}}', column1, 0, 0 FROM (VALUES ('cli', 'Shop'), ('dynamic', '{LONG[:64]}'))"
    )
    visitor.site.execute(
        "INSERT INTO oauth_consent (id, user_id, client_id, scopes, resources, created_at, updated_at)"
        ' SELECT substr("user".id, 9) || client_id, "user".id, client_id,'
        " 'openid profile email offline_access', '',"
        ' "user".created_at, "user".updated_at FROM "user", oauth_client WHERE client_id IN (\'cli\', \'dynamic\')'
    )
    await visitor.open("/account/applications")
    yield "applications"
    await visitor.page.locator("main a[href*='/applications/revoke']").first.click()
    await visitor.page.wait_for_load_state()
    yield "applications-revoke"
    await visitor.open("/oauth2/end-session?client_id=dynamic")
    yield "log-out"
    await visitor.open("/account/log-out?request=gone")
    yield "log-out-gone"


async def _organizations(visitor: Visitor) -> AsyncIterator[str]:
    page, path = visitor.page, "/account/organizations"
    await visitor.open(path)
    yield "organizations-empty"
    await visitor.send(path, name=" ", slug="-")
    yield "organizations-refused"
    await visitor.send(path, name=LONG[:128], slug="long")
    yield "organization-long"
    await visitor.open(path)
    await visitor.send(path, name="Acme", slug="acme")
    yield "organization-created"
    acme = urlsplit(page.url).path
    await visitor.send(f"{acme}/invitations", email="nobody")
    yield "organization-invitation-refused"
    await visitor.send(f"{acme}/invitations", email=INVITED)
    await visitor.send(f"{acme}/invitations", email=UNKNOWN)
    await visitor.send(f"{acme}/teams", teamName="Sales")
    yield "organization"
    await visitor.open(path)
    yield "organizations"
    for name in ("edit", "leave", "delete"):
        await visitor.open(f"{acme}/{name}")
        yield f"organization-{name}"
    await visitor.send(f"{acme}/delete", typedSlug="acne")
    yield "organization-delete-refused"
    await visitor.open(acme)
    await page.locator("main a[href*='/member?']").first.click()
    await page.wait_for_load_state()
    yield "organization-member"
    await visitor.open(acme)
    await page.locator("main a[href*='/team?']").last.click()
    await page.wait_for_load_state()
    yield "organization-team-empty"
    await visitor.send(f"{acme}/team/members/add", email=EVE)
    yield "organization-team"
    await page.locator("main a[href*='/team/remove']").click()
    await page.wait_for_load_state()
    yield "organization-team-remove"


async def _invitations(visitor: Visitor) -> AsyncIterator[str]:
    site = visitor.site
    link = urlsplit(await site.link("organization-invitation", INVITED)).path
    await visitor.open(link)
    yield "invitation-of-other"
    await visitor.forget()
    await visitor.open(link)
    yield "invitation-signed-out"
    await visitor.open("/account/invitation/unknown")
    yield "invitation-hidden"
    await visitor.open("/account/invitation/inv_unknown")
    yield "invitation-gone"
    await asyncio.to_thread(
        site.post, "/sign-up/email", {"name": "Paula", "email": INVITED, "password": PASSWORD}
    )
    await visitor.sign_in(link, email=INVITED)
    yield "invitation"
    await visitor.send(f"{link}/accept")
    yield "invitation-accepted"
    await visitor.open(link)
    yield "invitation-of-member"
    site.execute("UPDATE member SET created_at = created_at + 1 WHERE NOT is_owner")
    await visitor.open("/account/organizations")
    await visitor.page.locator("main h3 a").click()
    await visitor.page.wait_for_load_state()
    yield "organization-of-member"
    acme = urlsplit(visitor.page.url).path
    await visitor.sign_in(acme, email=EVE)
    await visitor.page.locator("main a[href*='/member?']").last.click()
    await visitor.page.wait_for_load_state()
    yield "organization-other-member"
    await visitor.page.locator("main a[href*='/member/remove']").click()
    await visitor.page.wait_for_load_state()
    yield "organization-member-remove"
    link = urlsplit(await site.link("organization-invitation", UNKNOWN)).path
    site.execute(f"UPDATE \"user\" SET email = '{UNKNOWN}', email_verified = 0 WHERE email = '{INVITED}'")
    await visitor.sign_in("/account/organizations", email=UNKNOWN)
    yield "organizations-unverified"
    site.execute(f"UPDATE \"user\" SET email_verified = 1 WHERE email = '{UNKNOWN}'")
    await visitor.open("/account/organizations")
    yield "organizations-invited"
    await visitor.sign_in("/account/organizations", email=EVE)


async def _devices(visitor: Visitor) -> AsyncIterator[str]:
    path = "/account/device"
    await visitor.open(path)
    yield "device"
    await visitor.send(path, user_code="BBBB-BBBB")
    yield "device-wrong"
    for client, metadata in DEVICES.items():
        asked = {"client_id": client, "scope": metadata["scope"]}
        codes = [visitor.site.post("/device/code", asked, **{"User-Agent": AGENTS[2]}).json() for _ in "12"]
        await visitor.open(f"{path}?user_code={codes[0]['user_code']}")
        yield f"device-{client}"
        await visitor.send(f"{path}/approve")
        yield f"device-{client}-approved"
        await visitor.open(f"{path}?user_code={codes[0]['user_code']}")
        yield f"device-{client}-decided"
        await visitor.open(f"{path}?user_code={codes[1]['user_code']}")
        await visitor.send(f"{path}/deny")
        yield f"device-{client}-denied"


def authorize_path(client_id: str, **more: str) -> str:
    """Return the path and query that an application sends its user to."""
    client: Any = CLIENTS[client_id]
    asked = {
        "client_id": client_id,
        "response_type": "code",
        "redirect_uri": client["redirect_uris"][0],
        "scope": client.get("scope", "openid profile email"),
        "code_challenge": "x" * 43,
        "code_challenge_method": "S256",
        **more,
    }
    return f"/oauth2/authorize?{urlencode(asked)}"


async def _requests(visitor: Visitor) -> AsyncIterator[str]:
    await visitor.page.route(f"{SHOP}/**", lambda route: route.fulfill(status=204))
    await visitor.open(authorize_path("shop", prompt="select_account"))
    yield "application-account"
    await visitor.open(authorize_path("shop", prompt="login"))
    yield "application-sign-in-again"
    await visitor.open(authorize_path("shop", prompt="create"))
    yield "application-sign-up"
    await visitor.open(authorize_path("terminal", resource="https://api.example.com"))
    yield "consent-on-device"
    visitor.site.execute("UPDATE oauth_client SET source = 'dynamic' WHERE client_id = 'terminal'")
    await visitor.page.reload()
    yield "consent-unverified"
    await visitor.forget()
    await visitor.open(authorize_path("shop", login_hint=EVE))
    yield "application-sign-in"
    await visitor.send("/account/sign-in", password=PASSWORD)
    await visitor.page.wait_for_url("**/consent?*")
    yield "consent"
    await visitor.form("/account/consent").locator("[value=allow]").click()
    await visitor.page.wait_for_url("**/leaving?*")
    await visitor.open("/account/consent?request=unknown")
    yield "application-expired"
    await visitor.open(authorize_path("shop", redirect_uri=f"{SHOP}/callback/"))
    yield "application-error"


async def _last(visitor: Visitor) -> AsyncIterator[str]:
    site, programs = visitor.site, visitor.page.context.request
    user = (await (await programs.get(site.url("/get-session"))).json())["user"]
    await visitor.sign_in(email=await asyncio.to_thread(administrator, site.origin, site.directory))
    await programs.post(
        site.url("/admin/impersonate-user"), data={"userId": user["id"]}, headers={"Origin": site.origin}
    )
    await visitor.open("/account")
    yield "impersonated"
    await visitor.sign_in(email=EVE)
    await visitor.open("/account/sign-out")
    await visitor.send("/account/sign-out")
    yield "signed-out"
    await visitor.open("/account/leaving")
    yield "leaving-expired"
    # A response without content leaves the browser where it is (HTML, "navigate").
    await visitor.page.route(f"{APPLICATION}/**", lambda route: route.fulfill(status=204))
    await visitor.sign_in(f"{APPLICATION}/welcome", email=EVE)
    yield "leaving"
