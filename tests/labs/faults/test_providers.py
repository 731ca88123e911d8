"""What providers may do wrong without doing harm here, one group of tests per row of the fault list (R13 to R16)."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from models import Account, Session, User
from tests.conftest import Headers, MakeService
from tests.handlers.steps import code, count, join, works
from tests.labs.provider.process import ProviderProcess, providing
from tests.labs.provider.settings import social_settings
from tests.labs.provider.steps import (
    OOPS,
    as_user,
    ask,
    begin,
    begun,
    deliver,
    error_of,
    go_through,
    link,
    redirect_path,
    sign_in,
    sign_in_directly,
    visit,
)
from tests.live import LiveService, serving
from tests.service import START, Service

NOW = START.timestamp()
ADA = "ada@example.com"
UNAVAILABLE = "503 PROVIDER_UNAVAILABLE"
WITHIN = 10
"""Seconds that nothing here may take, by far."""
ENDPOINTS = ("discovery", "jwks", "token", "userinfo")
BOTH_DATABASES = pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])


@pytest.fixture
def dialect() -> str:
    """The database: one is enough where neither what it stores nor its locks decide."""
    return "sqlite"


class Mortal:
    """A provider that can be ended and started again on its port."""

    def __init__(self, ends: ExitStack) -> None:
        self._ends = ends
        self.process = ends.enter_context(providing(name="mortal"))
        self.process.control(now=NOW, user={"sub": "1001", "email": ADA})

    def die(self) -> None:
        """End it."""
        self.process.stop()

    def return_(self) -> None:
        """Start it anew, with new keys."""
        self.process = self._ends.enter_context(providing(name="mortal", port=self.process.port))
        self.process.control(now=NOW, user={"sub": "1001", "email": ADA})


@pytest.fixture
def mortal() -> Iterator[Mortal]:
    """A provider of this test alone."""
    with ExitStack() as ends:
        yield Mortal(ends)


async def came_of_it(service: Service) -> list[int]:
    """Return how many users, accounts and sessions there are."""
    return [await count(service, table) for table in (User, Account, Session)]


async def attempt(service: Service, provider: str = "test") -> str:
    """Begin to sign in and go on as far as it goes; give the code of the error, or "signed in"."""
    async with asyncio.timeout(WITHIN):
        answer = await ask(service, provider)
        if answer.status_code != 200:
            return code(answer)
        answer = await go_through(service, begun(answer))
        return error_of(answer) or "signed in"


async def asked(provider: ProviderProcess, endpoint: str, times: int = 1) -> None:
    """Return once an endpoint of the provider has been asked so many times."""
    async with asyncio.timeout(WITHIN):
        while len(await asyncio.to_thread(provider.log, endpoint)) < times:  # noqa: ASYNC110 (another process)
            await asyncio.sleep(0.02)


@pytest.mark.threat("R13")
class TestProviderDown:
    """A provider that is down."""

    async def test_the_address_comes_from_what_is_known(
        self, make_cold_service: MakeService, mortal: Mortal
    ) -> None:
        service = await make_cold_service(social_settings(mortal.process))
        known = await begin(service)
        mortal.die()

        soon = await begin(service)
        service.clock.advance(hours=30)
        late = await begin(service)

        assert [flow.url.copy_with(query=None) for flow in (soon, late)] == [
            known.url.copy_with(query=None)
        ] * 2

    async def test_unknown_and_down_is_told_stops_nothing_else_and_gets_better_by_itself(
        self, make_cold_service: MakeService, mortal: Mortal
    ) -> None:
        service = await make_cold_service(social_settings(mortal.process))
        token = mortal.process.mint()
        mortal.die()

        begun_ = await ask(service)
        direct = await sign_in_directly(service, token)
        plain = await ask(service, "plain")

        assert [code(answer) for answer in (begun_, direct, plain)] == [UNAVAILABLE, UNAVAILABLE, "200"]
        assert await came_of_it(service) == [0, 0, 0]
        assert await works(service, await join(service, "eve@example.com"))
        service.client.cookies.clear()
        mortal.return_()
        assert await attempt(service) == "signed in"

    @pytest.mark.parametrize("provider_id", ["test", "plain"])
    async def test_a_callback_leads_to_the_error_page_and_makes_nothing(
        self, make_cold_service: MakeService, mortal: Mortal, provider_id: str
    ) -> None:
        service = await make_cold_service(social_settings(mortal.process))
        flow = await begin(service, provider_id)
        back = await visit(flow)
        mortal.die()

        answer = await deliver(service, back, flow)

        assert (redirect_path(answer), error_of(answer)) == (OOPS, "provider_unavailable")
        assert await came_of_it(service) == [0, 0, 0]
        mortal.return_()
        assert await attempt(service, provider_id) == "signed in"

    async def test_keys_that_are_known_go_on_to_serve(
        self, make_cold_service: MakeService, mortal: Mortal
    ) -> None:
        service = await make_cold_service(social_settings(mortal.process))
        token = mortal.process.mint()
        assert code(await sign_in_directly(service, token)) == "200"
        mortal.die()

        service.clock.advance(minutes=59)
        young = await sign_in_directly(service, token)

        assert code(young) == "200"

    async def test_a_name_that_is_not_found(self, make_cold_service: MakeService) -> None:
        address = "https://provider.invalid/.well-known/openid-configuration"
        service = await make_cold_service(
            {
                "providers.test.client_id": "gatewright",
                "providers.test.client_secret": "gatewright-secret",
                "providers.test.discovery_url": address,
            }
        )

        assert await attempt(service) == UNAVAILABLE


Way = Callable[[Service, ProviderProcess, Headers], Coroutine[Any, Any, httpx.Response]]


async def begin_to_link(service: Service, provider: ProviderProcess, ada: Headers) -> httpx.Response:
    """Begin to link, for the answer as it comes."""
    return await service.post("/link-social", {"provider": "test"}, headers=ada)


async def link_directly(service: Service, provider: ProviderProcess, ada: Headers) -> httpx.Response:
    """Link by an ID token."""
    return await service.post("/link-social", {"provider": "test", "idToken": provider.mint()}, headers=ada)


async def read_tokens(service: Service, provider: ProviderProcess, ada: Headers) -> httpx.Response:
    """Ask for tokens, of which the access token has ended."""
    service.clock.advance(hours=2)
    return await service.post("/get-access-token", {"providerId": "test"}, headers=ada)


FIRST: dict[str, tuple[str, Way]] = {
    "to begin": ("discovery", lambda service, provider, ada: ask(service)),
    "to begin to link": ("discovery", begin_to_link),
    "an ID token": ("jwks", lambda service, provider, ada: sign_in_directly(service, provider.mint())),
    "a link by an ID token": ("jwks", link_directly),
}
"""Ways to ask a provider of which nothing is known yet, each with what is asked first."""

LATER: dict[str, tuple[str, Way]] = {
    "the way back": ("token", lambda service, provider, ada: sign_in(service)),
    "the way back of a link": ("userinfo", lambda service, provider, ada: link(service, ada)),
    "tokens": ("token", read_tokens),
    "new tokens": (
        "token",
        lambda service, provider, ada: service.post("/refresh-token", {"providerId": "test"}, headers=ada),
    ),
    "a profile": (
        "userinfo",
        lambda service, provider, ada: service.get("/account-info?providerId=test", headers=ada),
    ),
}
"""The other ways, for a user who is linked, each with what is asked last."""


@pytest.mark.threat("R14")
class TestSlowProvider:
    """A provider that is slow."""

    @pytest.mark.parametrize("slowness", [{"hang": 60}, {"drip": True}], ids=["hang", "drip"])
    @pytest.mark.parametrize("endpoint", ENDPOINTS)
    async def test_waiting_ends_and_keeps_nobody_else_waiting(
        self,
        make_cold_service: MakeService,
        provider: ProviderProcess,
        endpoint: str,
        slowness: dict[str, Any],
    ) -> None:
        service = await make_cold_service({**social_settings(provider), "social.http_timeout": "2s"})
        session = await join(service)
        as_user(provider, "bob@example.com", "1002")
        provider.control(misbehave={endpoint: slowness}, id_token={"email": None})
        before = await came_of_it(service)

        slow = asyncio.create_task(attempt(service))
        await asked(provider, endpoint)
        others = [await works(service, session) for _ in range(20)]
        waiting = not slow.done()

        assert (all(others), waiting) == (True, True)
        assert await slow in {UNAVAILABLE, "provider_unavailable"}
        assert await came_of_it(service) == before

    @BOTH_DATABASES
    async def test_many_who_wait_hold_no_connection_of_the_database(
        self, make_cold_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_cold_service(
            {**social_settings(provider), "social.http_timeout": "2s", "database.pool_size": "4"}
        )
        session = await join(service)
        as_user(provider, "bob@example.com", "1002")
        flows = [await begin(service) for _ in range(8)]
        provider.control(misbehave={"token": {"hang": 60}})

        slow = [asyncio.create_task(go_through(service, flow)) for flow in flows]
        await asked(provider, "token", len(flows))
        others = [await works(service, session) for _ in range(20)]
        waiting = not any(task.done() for task in slow)

        assert (all(others), waiting) == (True, True)
        assert {error_of(await task) for task in slow} == {"provider_unavailable"}

    @BOTH_DATABASES
    @pytest.mark.parametrize("way", [*FIRST, *LATER])
    async def test_who_waits_holds_no_row_and_no_lock(
        self, make_cold_service: MakeService, provider: ProviderProcess, way: str
    ) -> None:
        """The same user can be changed meanwhile, whichever operation waits."""
        times = {"social.http_timeout": "3s", "database.timeout": "1s"}
        service = await make_cold_service({**social_settings(provider), **times})
        ada = await join(service)
        service.client.cookies.clear()
        as_user(provider, ADA, "1001")
        if way in LATER:
            assert error_of(await link(service, ada)) is None
        endpoint, go = {**FIRST, **LATER}[way]
        seen = len(provider.log(endpoint))
        provider.control(misbehave={endpoint: {"hang": 60}})

        slow = asyncio.create_task(go(service, provider, ada))
        await asked(provider, endpoint, seen + 1)
        changed = await service.post("/update-user", {"name": "Countess"}, headers=ada)
        is_waiting = not slow.done()

        assert (changed.status_code, is_waiting) == (200, True)
        answer = await slow
        assert (code(answer) if answer.status_code != 302 else error_of(answer)) in CLEAN


GARBAGE: dict[str, dict[str, Any]] = {
    "a server error": {"status": 500},
    "a server error in HTML": {"status": 502, "html": True},
    "HTML": {"html": True},
    "half of it": {"truncate": True},
    "nothing": {"raw": ""},
    "100 MB": {"bytes": 100 * 2**20},
    "a bomb": {"gzip_bomb": True},
    "a list": {"json": []},
    "a text": {"json": "x"},
    "a number": {"json": 7},
    "null": {"json": None},
    "an empty table": {"json": {}},
    "not a number": {"raw": '{"access_token": NaN, "issuer": NaN, "keys": NaN, "sub": NaN, "id": NaN}'},
    "a huge number": {"raw": f'{{"expires_in": {"9" * 5000}, "sub": {"9" * 5000}, "id": {"9" * 5000}}}'},
    "deep": {"raw": "[" * 100_000},
    "wrong types": {
        "json": {
            "access_token": 7,
            "id_token": [],
            "token_type": {},
            "expires_in": "soon",
            "refresh_token": False,
            "scope": 1,
            "issuer": [],
            "authorization_endpoint": 1,
            "jwks_uri": {},
            "keys": "none",
            "sub": {},
            "id": [],
            "email": 7,
        }
    },
    "keys of wrong types": {"json": {"keys": [7, None, {"kty": "RSA", "n": 1, "e": []}, {"kty": "?"}]}},
    "lone surrogates": {
        "raw": '{"access_token": "\\ud800", "sub": "\\ud800", "id": "\\ud800", "issuer": "\\ud800"}'
    },
}
"""What comes instead of an answer, at any endpoint."""

CLEAN = {UNAVAILABLE, "provider_unavailable", "invalid_code", "unable_to_get_user_info", "email_not_found"}
"""How a flow may end that met garbage."""


@pytest.mark.threat("R15")
class TestGarbage:
    """A provider that answers garbage."""

    @pytest.mark.parametrize("endpoint", [*ENDPOINTS, "oauth_token", "oauth_user"])
    async def test_garbage_ends_the_flow_and_makes_nothing(
        self, make_cold_service: MakeService, provider: ProviderProcess, endpoint: str
    ) -> None:
        """Also of a provider without OpenID."""
        service = await make_cold_service(social_settings(provider))
        name = "plain" if endpoint.startswith("oauth") else "test"
        as_user(provider, ADA, "1001")
        provider.control(id_token={"email": None})
        ends = {}

        for what, behaviour in GARBAGE.items():
            provider.control(misbehave={endpoint: behaviour})
            ends[what] = await attempt(service, name)
            service.clock.advance(minutes=2)
            provider.control(now=service.clock.now.timestamp())

        assert {what: end for what, end in ends.items() if end not in CLEAN} == {}
        assert await came_of_it(service) == [0, 0, 0]
        provider.control(misbehave=None)
        assert await attempt(service, name) == "signed in"

    @BOTH_DATABASES
    @pytest.mark.parametrize(
        "claims",
        [
            {"email": 7},
            {"email": "no address"},
            {"email": "x" * 100_000 + "@example.com"},
            {"email": ["ada@example.com"]},
            {"email": ""},
            {"email": "ada\u0000@example.com"},
            {"email": None},
            {"sub": "x" * 5000},
            {"sub": "a\u0000b"},
        ],
    )
    async def test_a_profile_that_names_nobody(
        self, social: Service, provider: ProviderProcess, claims: dict[str, Any]
    ) -> None:
        provider.control(user=claims)

        end = await attempt(social, "plain")

        assert end in CLEAN
        assert await came_of_it(social) == [0, 0, 0]

    @BOTH_DATABASES
    @pytest.mark.parametrize(
        "claims",
        [
            {"name": 7},
            {"name": "x" * 10_000},
            {"name": "\u0000\u202e\r\n"},
            {"name": None},
            {"name": {}},
            {"picture": 7},
            {"picture": "javascript:alert(1)"},
            {"picture": "x" * 10_000},
            {"picture": []},
        ],
    )
    async def test_a_profile_with_garbage_beside_the_identity(
        self, social: Service, provider: ProviderProcess, claims: dict[str, Any]
    ) -> None:
        provider.control(user=claims)

        end = await attempt(social, "plain")

        assert end == "signed in"

    def test_memory_is_bounded(self, tmp_path: Path, provider: ProviderProcess) -> None:
        provider.reset(user={"sub": "1001", "email": ADA}, id_token={"email": None})
        settings = {**social_settings(provider), "limits.enabled": "false"}
        with serving(tmp_path, settings) as live:
            assert live_attempt(live, "test") == "signed in"
            before = peak_memory(live)

            for endpoint in ("token", "userinfo", "oauth_token", "oauth_user"):
                for what in ("100 MB", "a bomb", "deep", "a huge number"):
                    provider.control(misbehave={endpoint: GARBAGE[what]})
                    name = "plain" if endpoint.startswith("oauth") else "test"
                    assert live_attempt(live, name) in CLEAN, (endpoint, what)
                provider.control(misbehave={endpoint: {}})

            assert peak_memory(live) - before < 64 * 2**20


def live_attempt(live: LiveService, provider: str) -> str:
    """Sign in at a service in a process of its own; give the error, or "signed in"."""
    with httpx.Client(base_url=live.url, timeout=30, trust_env=False) as browser:
        body = {"provider": provider, "callbackURL": "/welcome", "errorCallbackURL": OOPS}
        flow = begun(browser.post("/sign-in/social", json=body))
        browser.cookies.clear()
        led = httpx.get(flow.url, trust_env=False).headers["location"]
        answer = browser.get(httpx.URL(led).raw_path.decode(), headers=flow.headers)
    return error_of(answer) or "signed in"


def peak_memory(live: LiveService) -> int:
    """Return the most memory the service has ever held, in bytes."""
    lines = Path(f"/proc/{live.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


@pytest.mark.threat("R16")
class TestChangingKeys:
    """Keys that change, and key ids that nobody has."""

    async def test_new_keys_are_found_by_one_fetch(
        self, make_cold_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_cold_service({**social_settings(provider), "limits.enabled": "false"})
        assert code(await sign_in_directly(service, provider.mint())) == "200"
        provider.rotate_keys()
        before = len(provider.log("jwks"))

        token = provider.mint()
        answers = await asyncio.gather(*(sign_in_directly(service, token) for _ in range(10)))

        assert Counter(map(code, answers)) == {"200": 10}
        assert len(provider.log("jwks")) - before == 1

    async def test_a_flood_at_the_callback_fetches_once(
        self, make_cold_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_cold_service({**social_settings(provider), "limits.enabled": "false"})
        as_user(provider, ADA, "1001")
        assert error_of(await sign_in(service)) is None
        provider.control(id_token_header={"kid": "unknown"})
        before = len(provider.log("jwks"))

        ends = [await attempt(service) for _ in range(20)]

        assert Counter(ends) == {"unable_to_get_user_info": 20}
        assert len(provider.log("jwks")) - before <= 1
