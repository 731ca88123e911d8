"""A browser without scripts: it opens pages, fills in their forms and follows redirects."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx

from models import User
from tests.handlers.steps import ADA, join, set_user
from tests.service import Service

APP = "https://app.example.com"
SETTINGS = {
    "session.cookie_secure": "false",
    "trusted_origins": f'["{APP}"]',
    "api_keys.enabled": "true",
    "api_keys.grantable": '{"files": ["read"]}',
}
"""Settings of most tests of pages. The test's browser keeps no cookies for https at an address of http."""
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}
"""What browsers say of a form that one of our pages sends."""
SHOWN_ONCE = ("/account/api-keys/created", "/account/second-factor/codes", "/account/second-factor/set-up")
"""The pages that show what was just created."""


@dataclass
class Form:
    """A form of a page: where it goes, and what is in it."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)


class Page(HTMLParser):
    """A page as somebody sees it."""

    def __init__(self, answer: httpx.Response) -> None:
        super().__init__()
        self.status = answer.status_code
        self.headers = answer.headers
        self.path = answer.request.url.raw_path.decode()
        self.forms: list[Form] = []
        self.links: dict[str, str] = {}
        self.targets: set[str] = set()
        self.inputs: dict[str, dict[str, str | None]] = {}
        self.language = self.direction = self.title = self.refresh = ""
        self.texts: list[str] = []
        self._open: list[str] = []
        self._link: str | None = None
        self._area: str | None = None
        self._choice = ""
        self.feed(answer.text)

    @property
    def text(self) -> str:
        """All text, with single spaces."""
        return " ".join(" ".join(self.texts).split())

    @property
    def query(self) -> Mapping[str, str]:
        """The query of the address."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}

    def form(self, action: str, field: str | None = None) -> Form:
        """The form that is sent to this path, and has this field."""
        return next(
            form for form in self.forms if form.action == action and (field is None or field in form.fields)
        )

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        self._open.append(tag)
        match tag:
            case "html":
                self.language, self.direction = said["lang"] or "", said["dir"] or ""
            case "form":
                self.forms.append(Form(said.get("action") or ""))
            case "input" if self.forms:
                name = said.get("name") or ""
                self.inputs[name] = said
                if said.get("type") not in ("checkbox", "radio") or "checked" in said:
                    self.forms[-1].fields[name] = said.get("value") or ""
            case "textarea":
                self.forms[-1].fields[said["name"] or ""] = ""
                self._area = said["name"]
            case "select":
                self._choice = said["name"] or ""
            case "option" if "selected" in said or self._choice not in self.forms[-1].fields:
                self.forms[-1].fields[self._choice] = said["value"] or ""
            case "a":
                self._link = said.get("href")
                self.targets.add(self._link or "")
            case "meta" if said.get("http-equiv") == "refresh":
                self.refresh = (said["content"] or "").partition("url=")[2]

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._link = None
        if tag == "textarea":
            self._area = None

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            # A browser leaves out the line break after the tag, and sends others as CR LF.
            self.forms[-1].fields[self._area] += data.removeprefix("\n").replace("\n", "\r\n")
        words = " ".join(data.split())
        if not words:
            return
        if self._open[-1:] == ["title"]:
            self.title = self.title or words
        if self._link is not None:
            self.links[words] = self._link
        self.texts.append(words)


@dataclass
class Browser:
    """A window of a browser: it keeps cookies with the client of the service, and knows the page it shows."""

    service: Service
    languages: str = "en"
    page: Page = field(init=False)

    async def open(self, path: str) -> Page:
        """Open an address, and follow redirects within the service."""
        answer = await self.service.get(
            path, headers={"Accept-Language": self.languages, "Accept": "text/html"}
        )
        return await self._arrive(answer)

    async def submit(self, action: str, headers: Mapping[str, str] = SAME_ORIGIN, /, **typed: str) -> Page:
        """Fill in the form of the page that is sent to this path, and send it."""
        fields = {**self.page.form(action).fields, **typed}
        answer = await self.service.client.post(
            action, data=fields, headers={"Accept-Language": self.languages, **headers}
        )
        return await self._arrive(answer)

    async def _arrive(self, answer: httpx.Response) -> Page:
        """Follow redirects, and pages that go on by themselves, as long as they stay within the service."""
        while True:
            self.page = Page(answer)
            location = answer.headers["location"] if answer.is_redirect else self.page.refresh
            if not location:
                return self.page
            target = urljoin(str(answer.request.url), location)
            if not target.startswith(str(self.service.client.base_url).rstrip("/")):
                self.page.path = target
                return self.page
            answer = await self.service.get(
                target, headers={"Accept-Language": self.languages, "Accept": "text/html"}
            )


async def send(
    service: Service, path: str, headers: Mapping[str, str] = SAME_ORIGIN, /, **fields: str
) -> httpx.Response:
    """Post a form that none of the pages may have shown.

    Returns the form that is shown again if it is refused, and the page with what it created if that is shown once.
    """
    if not service.client.cookies:
        service.client.cookies.set("theme", "dark")  # A browser without any cookie is one that blocks them.
    answer = await service.client.post(path, data=fields, headers=headers)
    location = urljoin(str(answer.request.url), answer.headers.get("location", ""))
    parts = urlsplit(location)
    is_shown = "entries" in parse_qs(parts.query) or parts.path.endswith(SHOWN_ONCE)
    return await service.get(location) if is_shown else answer


async def signed_in(service: Service) -> str | None:
    """Return the address of who the browser is signed in as."""
    answer = await service.get("/get-session")
    return answer.json()["user"]["email"] if answer.status_code == 200 else None


@contextmanager
def other_profile(service: Service) -> Iterator[None]:
    """Use a profile of the browser without cookies; the former one is back after the block."""
    kept = dict(service.client.cookies)
    service.client.cookies.clear()
    yield
    service.client.cookies.clear()
    service.client.cookies.update(kept)


async def stored_user(service: Service, email: str = ADA) -> User:
    """Return the row of a user."""
    [row] = await service.rows('SELECT * FROM "user" WHERE email = :email', email=email)
    user: User = row
    return user


async def act_as(service: Service, email: str = ADA) -> None:
    """Sign the browser in as an administrator who acts in the name of a user."""
    user = await stored_user(service, email)
    service.client.cookies.clear()
    await join(service, "root@example.com")
    await set_user(service, "root@example.com", role="admin")
    answer = await service.post("/admin/impersonate-user", {"userId": user.id})
    assert answer.status_code == 200, answer.text


async def recorded(service: Service, event: str) -> int:
    """Return how often an event is in the audit trail."""
    return len(await service.rows("SELECT id FROM audit WHERE event = :event", event=event))
