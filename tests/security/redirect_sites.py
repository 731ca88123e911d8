"""Every field of the contract that holds a redirect target, and requests that get as far as the field."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

import ada_url
import httpx

from codegen.walk import Operation, resolve
from tests.conftest import Headers
from tests.contract.reading import DOCUMENT_3_1, JSON_OPERATIONS, bodies, parameters, schemas_under
from tests.handlers import steps
from tests.handlers.steps import ADA
from tests.security.second_factor import SESSION, cookie, token_in
from tests.service import BASE_URL, PASSWORD, Service

FORMAT = "redirect-target"
APP = "https://app.test"
"""The one trusted origin beside the service's own, unless a test says otherwise."""

SETTINGS = {"trusted_origins": APP, "delete_user.confirm_by_mail": "true", "limits.enabled": "false"}
SETTINGS |= {"magic_links.confirm": "false"}
"""With mailed links wherever there can be one, and without the limits that thousands of requests would meet."""

REFUSALS = {
    "callbackURL": "403 INVALID_CALLBACK_URL",
    "redirectTo": "403 INVALID_REDIRECT_URL",
    "errorCallbackURL": "403 INVALID_ERROR_CALLBACK_URL",
    "newUserCallbackURL": "403 INVALID_NEW_USER_CALLBACK_URL",
}

TOKENS = ("emails.verify", "passwords.check_reset_token", "users.confirm_deletion", "magic_links.verify")
"""The operations that a mailed link leads to."""


@dataclass(frozen=True, slots=True)
class Site:
    """One field of one operation."""

    operation_id: str
    operation: Operation
    name: str
    in_query: bool

    @property
    def refusal(self) -> str:
        """What the field answers to a target that is not trusted."""
        return REFUSALS[self.name]

    @property
    def needs_session(self) -> bool:
        """Return whether the operation wants to know who calls, by bearer or cookie."""
        return self.operation.spec.get("security") is None

    def __str__(self) -> str:
        """Name the site in the output of the tests."""
        return f"{self.operation_id}.{self.name}"


def is_target(schema: dict[str, Any]) -> bool:
    """Return whether a schema, or one it is made of, describes a redirect target."""
    return any(part.get("format") == FORMAT for part in schemas_under(schema))


def _sites() -> Iterator[Site]:
    for operation_id, operation in JSON_OPERATIONS.items():
        for parameter in parameters(operation):
            if is_target(parameter["schema"]):
                yield Site(operation_id, operation, parameter["name"], in_query=True)
        for content in bodies(operation).values():
            for name, schema in resolve(DOCUMENT_3_1, content["schema"]).get("properties", {}).items():
                if is_target(schema):
                    yield Site(operation_id, operation, name, in_query=False)


SITES = tuple(_sites())


def example_of(operation: Operation) -> dict[str, Any]:
    """Return the contract's own example of an operation's JSON body, without redirect targets; empty without one."""
    content = bodies(operation).get("application/json", {})
    example: dict[str, Any] = content.get("example", {})
    for named in content.get("examples", {}).values():
        example = example or resolve(DOCUMENT_3_1, named)["value"]
    return {name: value for name, value in example.items() if name not in REFUSALS}


@dataclass
class Visitor:
    """A user who holds a live token for every link a mail can bring, and sends requests to any site."""

    service: Service
    email: str
    session: Headers
    tokens: dict[str, str] = field(default_factory=dict)

    @classmethod
    async def arrive(cls, service: Service, number: int = 0) -> "Visitor":
        """Sign up, and ask for everything that is sent by mail."""
        email = f"ada{number}@example.com" if number else ADA
        session = await steps.join(service, email, username=f"ada_l{number}")
        await service.post("/delete-user", headers=session)
        verify, delete = [
            steps.token_in(await steps.last_link(service, template, email))
            for template in ("verify-email", "delete-account")
        ]
        reset = await steps.reset_token(service, email)
        await service.post("/sign-in/magic-link", {"email": f"new.{email}"})
        link = steps.token_in(await steps.last_link(service, "magic-link", f"new.{email}"))
        return cls(service, email, session, dict(zip(TOKENS, (verify, reset, delete, link), strict=True)))

    def by_cookie(self) -> "Visitor":
        """The same user, whose session travels in the cookie."""
        return replace(self, session=cookie(SESSION, token_in(self.session)))

    def carriers(self, site: Site) -> "tuple[Visitor, ...]":
        """The ways to call this site: by bearer and by cookie where a session is needed, otherwise once."""
        return (self, self.by_cookie()) if site.needs_session else (self,)

    def path(self, site: Site) -> str:
        """Return the path of a site, with the right token where one belongs into it."""
        token = self.tokens.get(site.operation_id, "")
        return site.operation.path.replace("{token}", token).replace("{provider}", "github")

    def query(self, site: Site) -> dict[str, Any]:
        """Return the rest of the query: the right token, where it stands there."""
        names = {parameter["name"] for parameter in parameters(site.operation) if parameter["in"] == "query"}
        return {"token": self.tokens[site.operation_id]} if "token" in names else {}

    def body(self, site: Site) -> dict[str, Any]:
        """Return a body with which the operation would work."""
        own = {
            "authentication.sign_up_email": {"email": f"new.{self.email}"},
            "authentication.sign_in_email": {"email": self.email, "password": PASSWORD},
            "authentication.sign_in_username": {"username": self._username(), "password": PASSWORD},
            "passwords.request_reset": {"email": self.email},
            "passwords.forget": {"email": self.email},
            "emails.send_verification": {"email": self.email},
            "emails.change": {"newEmail": f"other.{self.email}"},
            "users.delete": {"password": PASSWORD},
            "magic_links.request": {"email": self.email},
            "magic_links.confirm": {"token": self.tokens["magic_links.verify"]},
        }
        return {**example_of(site.operation), **own.get(site.operation_id, {})}

    def _username(self) -> str:
        return f"ada_l{self.email.partition('@')[0].removeprefix('ada') or 0}"

    async def send(self, site: Site, value: Any) -> httpx.Response:
        """Send a request that is right in all but the redirect target, which is `value`."""
        headers = self.session if site.needs_session else {}
        if site.in_query:
            query = {**self.query(site), site.name: value}
            return await self.service.get(self.path(site), params=query, headers=headers)
        body = {**self.body(site), site.name: value}
        return await self.service.post(self.path(site), body, headers=headers)

    async def send_verbatim(self, site: Site, text: str) -> httpx.Response:
        """GET with a query in which the target stands as it is, but for what no URL can hold."""
        headers = self.session if site.needs_session else {}
        known = "".join(f"{name}={value}&" for name, value in self.query(site).items())
        plain = "".join(quote(letter) if letter < " " else letter for letter in text)
        return await self.service.get(f"{self.path(site)}?{known}{site.name}={plain}", headers=headers)


def origin_in_a_browser(url: str) -> str:
    """Return the origin a browser ends up at when a page of the service leads it to `url` (the WHATWG URL standard).

    What the standard calls invalid leads nowhere; that is given as `invalid`.
    """
    try:
        return ada_url.URL(url, base=f"{BASE_URL}/page").origin
    except ValueError:
        return "invalid"


def leads(answer: httpx.Response) -> list[str]:
    """Return every place an answer leads a browser to: its Location, and the `url` its body tells the client."""
    body = answer.json() if answer.content else None
    url = body.get("url") if isinstance(body, dict) else None
    return [place for place in (answer.headers.get("location"), url) if place]


def links(mail: dict[str, Any]) -> list[str]:
    """Return where a mail leads: its link, and what the link says in turn."""
    link = mail.get("link")
    if not link:
        return []
    return [link, *(value for name, value in httpx.URL(link).params.multi_items() if name in REFUSALS)]


async def stored(service: Service) -> dict[str, list[str]]:
    """Return everything the service keeps of users, sessions, tokens and mail, to see whether it has changed.

    Not the challenges for passkeys: each GET of options makes one, and it is nothing without an authenticator.
    """
    tables = ("user", "account", "session", "grant", "two_factor", "outbox", "passkey")
    chosen = {"grant": " WHERE purpose NOT LIKE 'passkey-%'"}
    return {
        table: sorted(
            repr(tuple(row)) for row in await service.rows(f'SELECT * FROM "{table}"{chosen.get(table, "")}')
        )
        for table in tables
    }
