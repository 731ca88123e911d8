"""The OAuth provider while the database stops, processes are killed, and keys are rotated: row O26."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from domain.oauth_clients.metadata import DEVICE_CODE
from tests.conftest import Headers
from tests.handlers import device_steps
from tests.handlers.steps import join
from tests.labs.faults.asking import PLAIN, until_ready
from tests.labs.faults.engines import OwnCluster
from tests.labs.faults.places import Place
from tests.oauth import REDIRECT_URI, OAuthTestClient, add_client
from tests.oauth_codes import EVERYTHING, SETTINGS, add_code, ask, error, first_tokens, redeem, refresh
from tests.oauth_flow import STATE, arrive, arrive_by_uri, is_at_client, parameters_of, push, query_of
from tests.service import BASE_URL, Service, running_service

BROWSER = {"Accept": "text/html,application/xhtml+xml", "Sec-Fetch-Mode": "navigate"}
UNAVAILABLE = "503 temporarily_unavailable"
DOCUMENTS = ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server", "/jwks")

READING = ("introspect", "userinfo", "userinfo by POST")
REDIRECTING = ("authorize", "authorize a pushed request", "authorize by POST")

BUG = """CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$"""
CAUSE_IT = "CREATE TRIGGER fail BEFORE INSERT ON oauth_code FOR EACH ROW EXECUTE FUNCTION fail()"

Send = Callable[[], Awaitable[httpx.Response]]


def metadata(**changes: Any) -> dict[str, Any]:
    """Return the metadata of a client that may use every grant type, and need not ask its users."""
    types = [*EVERYTHING["grant_types"], DEVICE_CODE]
    return {**EVERYTHING, "grant_types": types, "skip_consent": True, **changes}


async def requests_of(service: Service, shop: OAuthTestClient, ada: Headers) -> dict[str, Send]:
    """Return a request to each operation of the protocol that succeeds once, as soon as the database is there."""
    client, pushed = service.client, (await push(service, shop)).json()["request_uri"]
    tokens = await first_tokens(service, shop, ada)
    other = await first_tokens(service, shop, ada)
    code = await add_code(service, shop, ada)
    television = await device_steps.add_television(service)
    started = {one.client_id: await device_steps.start(service, one) for one in (shop, television)}
    for each in started.values():
        await device_steps.approve(service, each["user_code"], ada)
    device_codes = {one: each["device_code"] for one, each in started.items()}
    token, bearer = tokens["access_token"], {"Authorization": f"Bearer {tokens['access_token']}"}
    form = parameters_of(shop)
    return {
        "par": lambda: push(service, shop),
        "authorize": lambda: arrive(service, shop, ada),
        "authorize a pushed request": lambda: arrive_by_uri(service, shop, pushed, ada),
        "authorize by POST": lambda: client.post("/oauth2/authorize", data=form),
        "code": lambda: redeem(service, shop, code),
        "refresh": lambda: refresh(service, shop, tokens["refresh_token"]),
        "client credentials": lambda: ask(service, shop, "client_credentials"),
        "device": lambda: device_steps.redeem(service, shop, device_codes[shop.client_id]),
        "session of a device": lambda: device_steps.poll(
            service, television, device_codes[television.client_id]
        ),
        "start of a device": lambda: client.post("/device/code", data={**shop.form, "scope": "openid"}),
        "introspect": lambda: client.post("/oauth2/introspect", data={"token": token, **shop.form}),
        "userinfo": lambda: client.get("/oauth2/userinfo", headers=bearer),
        "userinfo by POST": lambda: client.post("/oauth2/userinfo", headers=bearer),
        "revoke": lambda: client.post("/oauth2/revoke", data={"token": other["refresh_token"], **shop.form}),
        "logout": lambda: client.get("/oauth2/end-session", headers=ada),
        "logout by POST": lambda: client.post("/oauth2/end-session", data={"client_id": shop.client_id}),
    }


async def away(server: OwnCluster, service: Service, sends: dict[str, Send]) -> dict[str, httpx.Response]:
    """Return the answers to requests, one after the other, while the database is stopped."""
    await asyncio.to_thread(server.halt)
    try:
        return {name: await send() for name, send in sends.items()}
    finally:
        await asyncio.to_thread(server.resume)
        await until_ready(service)


class TestStoppedDatabase:
    """The database is stopped, and comes back; the service is never started again."""

    @pytest.fixture
    async def service(self, server: OwnCluster, tmp_path: Path) -> AsyncIterator[Service]:
        """A provider on a server that may be stopped."""
        settings = {**PLAIN, **SETTINGS, "database.timeout": "2s"}
        async with running_service(server.create(migrated=True), tmp_path, settings) as service:
            yield service

    @pytest.mark.threat("O26")
    async def test_each_operation_says_so_and_loses_nothing(
        self, server: OwnCluster, service: Service
    ) -> None:
        shop, ada = await add_client(service, **metadata()), await join(service)
        sends = await requests_of(service, shop, ada)
        documents: dict[str, Send] = {path: partial(service.get, path) for path in DOCUMENTS}

        answers = await away(server, service, sends | documents)

        constant = [answers.pop(path).status_code for path in DOCUMENTS]
        assert constant == [200] * len(DOCUMENTS)
        assert {name: error(answer) for name, answer in answers.items()} == dict.fromkeys(sends, UNAVAILABLE)
        assert {answer.headers["retry-after"] for answer in answers.values()} == {"5"}
        # Whatever was sent succeeds now, though it can be used once.
        after = {name: await send() for name, send in sends.items()}
        assert {name: answer.status_code for name, answer in after.items() if answer.status_code > 303} == {}
        codes = [after[name] for name in ("authorize", "authorize a pushed request")]
        assert all("code" in query_of(answer) for answer in codes)

    @pytest.mark.threat("O26")
    async def test_a_person_sees_a_page_that_can_be_opened_again(
        self, server: OwnCluster, service: Service
    ) -> None:
        shop, ada = await add_client(service, **metadata()), await join(service)
        headers, form = {**ada, **BROWSER}, parameters_of(shop)
        sends: dict[str, Send] = {
            "authorize": lambda: arrive(service, shop, headers),
            "by POST": lambda: service.client.post("/oauth2/authorize", data=form, headers=BROWSER),
            "logout": lambda: service.get("/oauth2/end-session?state=x", headers=headers),
        }

        answers = await away(server, service, sends)

        for answer in answers.values():
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
            assert answer.headers["content-type"].startswith("text/html")
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
            assert "Nothing was done. Try again in a few seconds." in answer.text
        assert "state=af0ifj+sldkj" in answers["authorize"].text
        assert 'href="/oauth2/authorize"' not in answers["by POST"].text
        assert 'href="/oauth2/end-session?state=x"' in answers["logout"].text

    async def test_a_bug_is_reported_to_the_client(self, server: OwnCluster, service: Service) -> None:
        shop, ada = await add_client(service, **metadata()), await join(service)
        url = service.services.settings.database_url.get_secret_value()
        await server.run(BUG, CAUSE_IT, url=url)

        refused = await arrive(service, shop, ada)

        assert (refused.status_code, is_at_client(refused)) == (302, True)
        told = query_of(refused)
        assert (told["error"], told["state"]) == ("server_error", STATE)


@asynccontextmanager
async def writes_held(place: Place) -> AsyncIterator[None]:
    """Have everything that the service writes about users and requests wait."""
    if place.url.startswith("sqlite"):
        with closing(sqlite3.connect(place.url.removeprefix("sqlite:///"), isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            yield
            holder.execute("ROLLBACK")
        return
    holding = await asyncpg.connect(place.url)
    await holding.execute("BEGIN")
    await holding.execute('LOCK TABLE "user", oauth_request IN EXCLUSIVE MODE')
    try:
        yield
    finally:
        await holding.close()


@pytest.mark.threat("O26")
async def test_a_client_that_is_known_learns_that_there_is_no_code_now(place: Place) -> None:
    """Its page says more than ours, and knows where the user wanted to go."""
    settings = {**PLAIN, "database.timeout": "1s"}
    async with running_service(place.url, place.directory, settings) as service:
        shop, ada = await add_client(service, skip_consent=True), await join(service)
        async with writes_held(place):
            refused = await arrive(service, shop, {**ada, **BROWSER})
            form = parameters_of(shop)
            posted = await service.client.post("/oauth2/authorize", data=form, headers=BROWSER)
            unlike = await arrive(service, shop, ada, redirect_uri="https://evil.example")
        after = await arrive(service, shop, {**ada, **BROWSER})

        assert [answer.status_code for answer in (refused, posted)] == [302, 303]
        for answer in (refused, posted):
            assert is_at_client(answer)
            told = query_of(answer)
            assert (told["error"], told["state"]) == ("temporarily_unavailable", STATE)
            assert told["iss"] == BASE_URL
        assert REDIRECT_URI not in unlike.headers["location"]
        assert "code" in query_of(after)


@pytest.mark.threat("O26")
@pytest.mark.parametrize("dialect", ["sqlite"])
async def test_a_locked_database_loses_nothing(place: Place) -> None:
    settings = {**PLAIN, **SETTINGS, "database.timeout": "1s"}
    async with running_service(place.url, place.directory, settings) as service:
        shop, ada = await add_client(service, **metadata()), await join(service)
        sends = await requests_of(service, shop, ada)
        writing = {name: send for name, send in sends.items() if name not in (*READING, *REDIRECTING)}
        async with writes_held(place):
            refused = await asyncio.gather(*(send() for send in writing.values()))
        answers = [await send() for send in writing.values()]

    assert {error(answer) for answer in refused} == {UNAVAILABLE}
    assert {answer.headers["retry-after"] for answer in refused} == {"5"}
    assert {answer.status_code for answer in answers} <= {200, 201, 302, 303}
