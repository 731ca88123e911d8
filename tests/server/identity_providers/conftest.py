"""The clients of the real test provider, with the service's clock in hand, and the way of a user through it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from domain import tokens
from domain.identity_provider import AuthorizationParams, CallbackParams, VerifiedIdentity
from server.components.social import providers_of
from server.config.base import Settings
from server.identity_providers.client import ProviderClient
from server.identity_providers.configuration import Configuration, configurations
from server.services import load_settings
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.labs.provider.tokens import tampered
from tests.service import NO_TLS, MovableClock, environment

REDIRECT_URI = "http://localhost:8000/callback/test"
ADA = "ada@example.com"

Load = Callable[..., Settings]
Configured = Callable[..., Configuration]


@dataclass
class Visitor:
    """A client of the provider, and a user who goes through it."""

    client: ProviderClient
    clock: MovableClock

    async def ask(self, **changes: Any) -> tuple[AuthorizationParams, str]:
        """Return a question and the address it leads to."""
        question = AuthorizationParams(
            redirect_uri=changes.get("redirect_uri", REDIRECT_URI),
            state=tokens.token(),
            scopes=changes.get("scopes", self.client.traits.scopes),
            verifier=tokens.token(64),
            nonce=tokens.token(),
            login_hint=changes.get("login_hint", ADA),
        )
        return question, await self.client.authorization_url(question)

    async def visit(self, **changes: Any) -> CallbackParams:
        """Go to the provider's page; give what one comes back with."""
        question, url = await self.ask()
        async with httpx.AsyncClient(trust_env=False, verify=NO_TLS, timeout=30) as browser:
            back = httpx.URL((await browser.get(url)).headers["location"]).params
        assert back["state"] == question.state
        answer = {
            "redirect_uri": question.redirect_uri,
            "code": back["code"],
            "issuer": back.get("iss"),
            "form_user": None,
            "verifier": question.verifier,
            "nonce": question.nonce,
        }
        return CallbackParams(**{**answer, **changes})

    async def sign_in(self, **changes: Any) -> VerifiedIdentity:
        """Go through the provider; give what it proves. `changes` are to what one comes back with."""
        return await self.client.exchange(await self.visit(**changes), self.clock())


MakeVisitor = Callable[..., Visitor]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load settings of the development profile, given by names such as `providers.x.client_id`."""

    def load(settings: dict[str, str]) -> Settings:
        return load_settings(environment("sqlite:///absent.db", tmp_path / "mail", settings), tmp_path)

    return load


@pytest.fixture
def configured(load: Load) -> Configured:
    """Complete the settings of one provider, given by the keys of its table."""

    def configured(**table: str) -> Configuration:
        known = {"client_id": "ours", "client_secret": "hush", **table}
        return configurations(load({f"providers.x.{key}": value for key, value in known.items()}))["x"]

    return configured


@pytest.fixture
def clock() -> MovableClock:
    """The clock that the copies go by; it begins when the provider's does."""
    return MovableClock()


@pytest.fixture
async def make_visitor(
    provider: ProviderProcess, load: Load, clock: MovableClock
) -> AsyncIterator[MakeVisitor]:
    """Yield a visitor whose client has asked nothing yet.

    `settings` are whole names; `more` are keys of the provider `id_`, the values those of a variable.
    """
    async with AsyncExitStack() as ends:

        def make(id_: str = "test", settings: dict[str, str] | None = None, **more: str) -> Visitor:
            own = {f"providers.{id_}.{key}": value for key, value in more.items()}
            providers = providers_of(load({**social_settings(provider), **(settings or {}), **own}), clock)
            ends.push_async_callback(providers.close)
            client = providers.clients[id_]
            assert isinstance(client, ProviderClient)
            return Visitor(client, clock)

        yield make


@pytest.fixture
def visitor(make_visitor: MakeVisitor) -> Visitor:
    """A visitor of the provider as it comes, by OpenID Connect."""
    return make_visitor()


@pytest.fixture
def plain(make_visitor: MakeVisitor) -> Visitor:
    """A visitor of the provider by plain OAuth 2.0."""
    return make_visitor("plain")


def parameters(url: str) -> dict[str, str]:
    """Return the query of an address; none may be there twice."""
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True, strict_parsing=True)
    assert len(dict(pairs)) == len(pairs), url
    return dict(pairs)


def announced(provider: ProviderProcess, **changes: Any) -> dict[str, Any]:
    """Return the provider's discovery document with changes; None removes a member."""
    return tampered(provider.http.get("/.well-known/openid-configuration").json(), changes)
