"""The service with connections to realms of Keycloak, made by the command line, and users of it in a browser."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from playwright.async_api import Page

from tests.labs.keycloak.server import GROUP, PASSWORD, Realm
from tests.live import PROGRAM, environment, serving
from tests.name_server import NameServer, name_server_in_thread
from tests.ports import free_port
from tests.service import PASSWORD as OWNERS_PASSWORD

OWNER = "owner@elsewhere.example"


@dataclass(frozen=True, slots=True)
class Site:
    """The running service, and the folder that its commands run in."""

    url: str
    settings: dict[str, str]
    folder: Path
    owner: str
    """The session token of the owner of all organizations."""
    names: NameServer
    """The name server that the service asks for the records of domains."""

    def operate(self, *words: str) -> str:
        """Return what a command of the operator prints."""
        command = [str(PROGRAM), *words]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=environment(self.settings),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def join(self, name: str, email: str) -> str:
        """Sign somebody up; return the token of their session."""
        return _join(self.url, name, email)

    def found(self, realm: Realm, owner: str) -> None:
        """Create an organization with the name of a realm, with the session of its owner."""
        company = {"name": realm.name.title(), "slug": realm.name}
        headers = {"authorization": f"Bearer {owner}"}
        httpx.post(f"{self.url}/organization/create", json=company, headers=headers).raise_for_status()

    def refusal_of_password(self, email: str) -> str:
        """Return the code with which a sign-in by password is refused."""
        known = {"email": email, "password": OWNERS_PASSWORD}
        return str(httpx.post(f"{self.url}/sign-in/email", json=known).json()["code"])

    def connect(self, realm: Realm, *options: str, **fields: Any) -> None:
        """Create an organization and its connection to a realm, both with the name of the realm."""
        self.found(realm, self.owner)
        usual = ("--domain", realm.domain, "--organization", realm.name, "--group-role", f"{GROUP}=admin")
        self.operate("sso", "create", realm.name, *usual, *options, *self.written(fields))

    def update(self, realm: Realm, *options: str, **fields: Any) -> None:
        """Change the connection to a realm."""
        self.operate("sso", "update", realm.name, *options, *self.written(fields))

    def metadata_file(self, realm: Realm) -> str:
        """Return a file with the present metadata of a realm."""
        return self._file(f"{realm.name}.xml", realm.metadata())

    def written(self, fields: dict[str, Any]) -> tuple[str, ...]:
        """Return the option for fields of a connection that have no option of their own."""
        return ("--fields", self._file("fields.json", json.dumps(fields))) if fields else ()

    def own_metadata(self, realm: Realm) -> bytes:
        """Return the SAML metadata of the service for the connection to a realm."""
        address = f"{self.url}/sso/saml2/sp/metadata"
        return httpx.get(address, params={"providerId": realm.name}).raise_for_status().content

    def _file(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, "utf-8")
        return name


def _join(url: str, name: str, email: str) -> str:
    sent = {"name": name, "email": email, "password": OWNERS_PASSWORD}
    return str(httpx.post(f"{url}/sign-up/email", json=sent).raise_for_status().json()["token"])


@contextmanager
def serving_site(folder: Path, database_url: str) -> Iterator[Site]:
    """Run the service with single sign-on until the end of the block, and check that it has logged no fault."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    settings = {
        "database_url": database_url,
        "base_url": url,
        "session.cookie_secure": "false",
        "limits.enabled": "false",
        "sso.idp_initiated": "true",
    }
    with name_server_in_thread(free_port()) as names:
        settings["sso.resolvers"] = f'["{names.address}"]'
        with serving(folder, settings, port=port) as live:
            yield Site(url, settings, folder, _join(url, "Owner", OWNER), names)
    assert live.output.faults() == []


@dataclass(frozen=True, slots=True)
class Visitor:
    """A user in front of a browser, at the service and at a realm."""

    page: Page
    site: Site
    realm: Realm

    async def begin(self) -> None:
        """Name the email address on the sign-in page, and continue at the identity provider."""
        await self.page.goto(f"{self.site.url}/account/sign-in/sso")
        await self.page.locator("#email").fill(self.realm.email)
        await self.page.get_by_role("button", name="Continue", exact=True).click()

    async def enter_password(self) -> None:
        """Fill in the login page of Keycloak."""
        await self.page.wait_for_url(f"{self.realm.url}/**")
        await self.page.locator("#username, #password").first.wait_for()
        username = self.page.locator("#username")
        if await username.is_visible() and await username.is_editable():
            await username.fill("ada")
        await self.page.locator("#password").fill(PASSWORD)
        await self.page.locator("#kc-login").click()

    async def arrive(self) -> str:
        """Wait for the service; return the `error` of its URL, or an empty text."""
        await self.page.wait_for_url(f"{self.site.url}/**")
        return str(httpx.URL(self.page.url).params.get("error", ""))

    async def sign_in(self) -> str:
        """Sign in from the beginning; return the error, or an empty text."""
        await self.begin()
        await self.enter_password()
        return await self.arrive()

    async def session(self) -> dict[str, Any] | None:
        """Return the session and the user as the service knows them; None without a session."""
        answer = await self.page.request.get(f"{self.site.url}/get-session")
        if answer.status == 401:
            return None
        known: dict[str, Any] = await answer.json()
        return known

    async def email(self) -> str | None:
        """Return the email address of the user who is signed in; None if nobody is."""
        known = await self.session()
        return None if known is None else str(known["user"]["email"])

    async def role(self) -> str:
        """Return the role in the active organization."""
        answer = await self.page.request.get(f"{self.site.url}/organization/get-active-member-role")
        return str((await answer.json())["role"])

    async def sign_out(self) -> None:
        """Sign out at the service and at the identity provider."""
        path = f"/sso/saml2/logout/{self.realm.name}"
        answer = await self.page.request.post(
            f"{self.site.url}{path}", data={}, headers={"origin": self.site.url}
        )
        assert answer.ok, await answer.text()
        await self.page.goto((await answer.json())["url"])
