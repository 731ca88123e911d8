"""A service during an upgrade, as its users and its operator see it."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.handlers.steps import token_in
from tests.labs.faults.places import Place
from tests.labs.provider.process import ProviderProcess
from tests.live import PROGRAM, ROOT
from tests.receiver import Receiver
from tests.service import PASSWORD

TIMEOUT = 60.0
JSON = dict[str, Any]
_NUMBERS = itertools.count(1)


@dataclass
class Site:
    """The clients of one or more processes on one database. Requests go to `target`."""

    place: Place
    settings: Mapping[str, str]
    provider: ProviderProcess
    receiver: Receiver
    client: httpx.AsyncClient
    target: str = ""
    """The URL of the process that gets the next requests."""
    program: Path = PROGRAM
    """The program of that process."""
    migrated: bool = False
    """Whether the present program has migrated the database: commands of an older release refuse a newer schema."""

    @property
    def files(self) -> Path:
        """The folder with the packages of the program."""
        return ROOT if self.program == PROGRAM else self.program.parent

    @property
    def commands(self) -> Path:
        """The folder with the packages of the program whose commands the operator uses."""
        return ROOT if self.migrated else self.files

    def at(self, url: str, program: Path) -> "Site":
        """Return the clients of one process."""
        return replace(self, target=url, program=program)

    async def request(
        self,
        method: str,
        path: str,
        caller: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        cookies: Mapping[str, str] | None = None,
        **options: Any,
    ) -> httpx.Response:
        """Send a request, with a token as bearer or with cookies. Raises AssertionError for a 5xx."""
        headers = {**(headers or {}), **({"Authorization": f"Bearer {caller}"} if caller else {})}
        if cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        answer = await self.client.request(method, self.target + path, headers=headers, **options)
        self.client.cookies.clear()
        assert answer.status_code < 500, f"{method} {self.target}{path}: {answer.status_code} {answer.text}"
        return answer

    async def get(self, path: str, caller: str = "", **query: str) -> Any:
        """Return the body of a successful GET."""
        return _body(await self.request("GET", path, caller, params=query))

    async def post(self, path: str, caller: str = "", /, **body: Any) -> Any:
        """Return the body of a successful POST."""
        return _body(await self.request("POST", path, caller, json=body))

    async def post_form(self, path: str, caller: str = "", /, **form: str) -> Any:
        """Return the body of a successful POST of a form."""
        return _body(await self.request("POST", path, caller, data=form))

    def email(self, name: str) -> str:
        """Return an email address that no user has."""
        return f"{name}-{next(_NUMBERS)}@example.com"

    async def join(self, email: str, *, verified: bool = False) -> str:
        """Create a user; return the token of the session."""
        made = await self.post("/sign-up/email", name="Ada", email=email, password=PASSWORD)
        if verified:
            await self.verify(email)
        return str(made["token"])

    async def verify(self, email: str) -> None:
        """Verify an email address by the link in the email."""
        link = await self.link(email, "verify-email")
        answer = await self.request("GET", "/verify-email", params={"token": link})
        assert answer.status_code == 200, answer.text

    async def sign_in(self, email: str, password: str = PASSWORD, **more: Any) -> JSON:
        """Sign in by password; return the body."""
        body: JSON = await self.post("/sign-in/email", email=email, password=password, **more)
        return body

    async def opens(self, email: str, password: str) -> bool:
        """Return whether a password signs in."""
        body = {"email": email, "password": password}
        answer = await self.request("POST", "/sign-in/email", json=body)
        assert answer.status_code in (200, 401), answer.text
        return answer.status_code == 200

    async def is_live(self, token: str) -> bool:
        """Return whether a session has not ended."""
        answer = await self.request("GET", "/get-session", token)
        assert answer.status_code in (200, 401), answer.text
        return answer.status_code == 200

    async def user(self, token: str) -> JSON:
        """Return the user of a session."""
        user: JSON = (await self.get("/get-session", token))["user"]
        return user

    async def administrator(self) -> str:
        """Create an administrator, as no operation can; return the token of the session."""
        email = self.email("root")
        token = await self.join(email, verified=True)
        await self.place.rows(f"UPDATE \"user\" SET role = 'admin' WHERE email = '{email}'")
        return token

    async def link(self, email: str, template: str) -> str:
        """Return the token in the link of an email, once the email has come."""
        return token_in((await self.place.mail(email, template))["link"])

    async def code(self, email: str, template: str) -> str:
        """Return the code in an email, once the email has come."""
        return str((await self.place.mail(email, template))["code"])


def cookies_of(answer: httpx.Response) -> dict[str, str]:
    """Return the cookies that a response sets, by name."""
    pairs = [line.partition(";")[0].partition("=") for line in answer.headers.get_list("set-cookie")]
    return {name: value for name, _, value in pairs}


def query_of(url: str) -> dict[str, str]:
    """Return the query of a URL."""
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def _body(answer: httpx.Response) -> Any:
    assert answer.is_success, (
        f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
    )
    return json.loads(answer.content) if answer.content else None
