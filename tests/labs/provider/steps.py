"""The way through a provider without a browser: begin at the service, be sent back by the provider, come back."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tests.conftest import Headers
from tests.handlers.steps import bearer
from tests.labs.provider.process import ProviderProcess
from tests.security.second_factor import SESSION, set_cookies
from tests.service import BASE_URL, NO_TLS, Service

WELCOME = "/welcome"
OOPS = "/oops"
STATE_COOKIE = "service.oauth-state-"


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow that was begun: the address of the provider's page, and the cookies of the browser that began it."""

    url: httpx.URL
    cookies: dict[str, str]

    @property
    def state(self) -> str:
        """The state in the address."""
        return self.url.params["state"]

    @property
    def headers(self) -> Headers:
        """The header by which the browser shows its cookies."""
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}


async def ask(service: Service, provider: str = "test", **body: Any) -> httpx.Response:
    """Begin to sign in, for the answer as it comes."""
    known = {"callbackURL": WELCOME, "errorCallbackURL": OOPS}
    return await service.post("/sign-in/social", {"provider": provider, **known, **body})


async def begin(service: Service, provider: str = "test", **body: Any) -> Flow:
    """Begin to sign in."""
    return begun(await ask(service, provider, **body))


async def begin_link(service: Service, session: Headers, provider: str = "test", **body: Any) -> Flow:
    """Begin to link an account to the user of a session."""
    known = {"callbackURL": WELCOME, "errorCallbackURL": OOPS}
    return begun(await service.post("/link-social", {"provider": provider, **known, **body}, headers=session))


def begun(answer: httpx.Response) -> Flow:
    """Return the flow that an answer begins."""
    assert answer.status_code == 200, answer.text
    cookies = {name: value for name, value in set_cookies(answer).items() if name.startswith(STATE_COOKIE)}
    assert len(cookies) == 1, answer.headers
    return Flow(httpx.URL(answer.json()["url"]), cookies)


async def visit(flow: Flow) -> str:
    """Open the provider's page, where somebody is decided on already; give where it sends the browser."""
    async with httpx.AsyncClient(trust_env=False, verify=NO_TLS, timeout=30) as browser:
        answer = await browser.get(flow.url)
    assert answer.status_code == 302, answer.text
    location = answer.headers["location"]
    assert location.startswith(f"{BASE_URL}/callback/"), location
    return str(location).removeprefix(BASE_URL)


async def deliver(service: Service, back: str, flow: Flow, **more: Any) -> httpx.Response:
    """Follow the provider's redirect in the browser that began the flow."""
    answer = await service.get(back, headers={**flow.headers, **more})
    service.client.cookies.clear()
    return answer


async def go_through(service: Service, flow: Flow) -> httpx.Response:
    """Visit the provider and come back."""
    return await deliver(service, await visit(flow), flow)


async def sign_in(service: Service, provider: str = "test", **body: Any) -> httpx.Response:
    """Sign in through a provider; give the answer of the callback."""
    return await go_through(service, await begin(service, provider, **body))


async def enter(service: Service, provider: str = "test", **body: Any) -> Headers:
    """Sign in through a provider; give the headers of the session, by bearer."""
    return session_of(await sign_in(service, provider, **body))


async def link(service: Service, session: Headers, provider: str = "test", **body: Any) -> httpx.Response:
    """Link an account of a provider to the user of a session; give the answer of the callback."""
    return await go_through(service, await begin_link(service, session, provider, **body))


async def sign_in_directly(
    service: Service, id_token: Any, provider: str = "test", **body: Any
) -> httpx.Response:
    """Sign in with an ID token, as an application does that got one by itself."""
    answer = await service.post("/sign-in/social", {"provider": provider, "idToken": id_token, **body})
    service.client.cookies.clear()
    return answer


@asynccontextmanager
async def held_back(
    provider: ProviderProcess, endpoint: str, request: Coroutine[Any, Any, httpx.Response], **answer: Any
) -> AsyncIterator["asyncio.Task[httpx.Response]"]:
    """Begin a request; until the block ends, hold back what the provider answers to it at an endpoint.

    `answer` is a misbehaviour, to be answered then instead of the truth. One request at a time can be held back.
    """
    known = len(provider.log(endpoint))
    provider.control(misbehave={endpoint: {"hang": 60, **answer}})
    coming = asyncio.create_task(request)
    async with asyncio.timeout(20):
        while len(await asyncio.to_thread(provider.log, endpoint)) == known:
            pass
    yield coming
    provider.control(misbehave={endpoint: None})


def session_of(answer: httpx.Response) -> Headers:
    """Return the headers of the session that a callback opened, by bearer."""
    assert error_of(answer) is None, answer.headers["location"]
    token = set_cookies(answer).get(SESSION)
    assert token, answer.headers
    return bearer(token)


def opened(answer: httpx.Response) -> bool:
    """Return whether an answer opens a session."""
    return bool(set_cookies(answer).get(SESSION)) or "set-auth-token" in answer.headers


def error_of(answer: httpx.Response) -> str | None:
    """Return the `error` a callback leads on with, or None."""
    assert answer.status_code == 302, answer.text
    error: str | None = httpx.URL(answer.headers["location"]).params.get("error")
    return error


def redirect_path(answer: httpx.Response) -> str:
    """Return where a callback leads, as a path without parameters."""
    url = httpx.URL(answer.headers["location"])
    assert str(url).startswith(BASE_URL), url
    return url.path


async def identities(service: Service) -> list[tuple[str, str]]:
    """Return the provider and the subject of every linked account, without passwords."""
    rows = await service.rows("SELECT provider_id, account_id FROM account WHERE provider_id <> 'credential'")
    return sorted((row.provider_id, row.account_id) for row in rows)


def as_user(provider: ProviderProcess, email: str, subject: str, **claims: Any) -> None:
    """Make the provider sign in this user from now on, without a login page."""
    provider.control(user={"sub": subject, "email": email, "name": email.partition("@")[0].title(), **claims})
