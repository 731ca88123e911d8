"""Signing in through a provider: the way there, the way back, and ID tokens, through the public door.

The attacks on it stand in tests/security/test_provider_threats.py, the provider's faults in tests/labs/faults.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from domain.social import authorization_request as flows
from models import Account, OneTimeToken, Session, User
from tests.conftest import MakeService
from tests.handlers.steps import (
    ADA,
    CLEARED,
    EVE,
    bearer,
    code,
    count,
    execute,
    join,
    last_link,
    local,
    reduced,
    refusal,
    set_user,
    token_of,
    user_of,
    works,
)
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.labs.provider.steps import (
    OOPS,
    STATE_COOKIE,
    WELCOME,
    as_user,
    ask,
    begin,
    begun,
    deliver,
    enter,
    error_of,
    go_through,
    held_back,
    identities,
    session_of,
    sign_in,
    sign_in_directly,
    visit,
)
from tests.security.second_factor import (
    PENDING,
    SESSION,
    TRUST,
    also,
    cookie,
    enrol,
    session_count,
    set_cookies,
    trusted_device,
)
from tests.security.second_factor import enter as enter_code
from tests.service import BASE_URL, NO_TLS, PASSWORD, Service, close_service, open_service
from tests.trail import only, trail

NOT_LINKED = (401, "OAUTH_LINK_ERROR", "account not linked")
SIGN_UP_DISABLED = (401, "OAUTH_LINK_ERROR", "signup disabled")


@pytest.fixture
def ada(provider: ProviderProcess) -> None:
    """Ada is signed in at the provider, which vouches for her address."""
    as_user(provider, ADA, "1001")


async def audited(service: Service, event: str) -> list[tuple[str, str | None]]:
    """Return outcome and code of every record of an event, sorted, those included that wait to be written."""
    await service.services.audit_writer.flush()
    rows = await service.rows("SELECT outcome, code FROM audit WHERE event = :event", event=event)
    return sorted(((row.outcome, row.code) for row in rows), key=str)


@asynccontextmanager
async def restarted(service: Service, overrides: dict[str, str]) -> AsyncIterator[Service]:
    """The same service with other settings: another instance on its database, with its secret and at its time."""
    url = service.services.settings.database_url.get_secret_value()
    instance = await open_service(url, service.mail_file.parent, overrides)
    instance.clock.now = service.clock.now
    try:
        yield instance
    finally:
        await close_service(instance)


@asynccontextmanager
async def locked(service: Service, table: str) -> AsyncIterator[None]:
    """Lock a table against writers meanwhile; in SQLite that is the whole database."""
    async with service.services.database.begin() as db:
        is_sqlite = db.dialect == "sqlite"
        await db.execute(text(f"DELETE FROM {table} WHERE 1 = 0" if is_sqlite else f"LOCK TABLE {table}"))
        yield


@pytest.mark.operation("social.sign_in")
class TestWayThere:
    async def test_names_the_providers_page_and_binds_the_flow_to_the_browser(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        answer = await ask(social, loginHint=ADA)

        url = httpx.URL(answer.json()["url"])
        state = url.params["state"]
        assert answer.json() == {"redirect": True, "url": str(url), "token": ""}
        assert f"{url.scheme}://{url.netloc.decode()}{url.path}" == f"{provider.issuer}/authorize"
        assert {
            name: url.params[name] for name in ("response_type", "client_id", "redirect_uri", "scope")
        } == {
            "response_type": "code",
            "client_id": "gatewright",
            "redirect_uri": f"{BASE_URL}/callback/test",
            "scope": "openid email profile",
        }
        assert url.params["code_challenge_method"] == "S256"
        assert url.params["login_hint"] == ADA
        [line] = answer.headers.get_list("set-cookie")
        name, _, rest = line.partition("=")
        binding, _, attributes = rest.partition("; ")
        assert name == STATE_COOKIE + state[:8]
        assert len(binding) == 32
        assert binding not in str(url)
        assert attributes == "Path=/; SameSite=Lax; Max-Age=600; HttpOnly; Secure"
        assert "set-auth-token" not in answer.headers

    async def test_is_open_as_long_as_the_operator_says(
        self, make_service: MakeService, provider: ProviderProcess, ada: None
    ) -> None:
        service = await make_service({**social_settings(provider), "social.state_expires_in": "2m"})
        asked = await ask(service)
        flows = [begun(asked), await begin(service)]
        backs = [await visit(flow) for flow in flows]

        ends: list[str | None] = []
        for back, flow in zip(backs, flows, strict=True):
            service.clock.advance(seconds=119 if not ends else 1)
            ends.append(error_of(await deliver(service, back, flow)))

        assert "; Max-Age=120; " in asked.headers["set-cookie"]
        assert ends == [None, "state_mismatch"]

    @pytest.mark.parametrize("value", ["TRUE", True])
    @pytest.mark.parametrize("path", ["/sign-in/social", "/link-social"])
    async def test_need_not_be_followed_at_once(self, social: Service, path: str, value: Any) -> None:
        body = {"provider": "test", "disableRedirect": value}

        answer = await social.post(path, body, headers=await join(social))

        assert answer.json()["redirect"] is False
        assert answer.json()["url"]

    @pytest.mark.parametrize(
        ("provider_id", "scopes", "asked"),
        [
            ("test", ["calendar", "email"], "openid calendar email"),
            ("test", "calendar, openid email", "openid calendar email"),
            ("test", [], "openid email profile"),
            ("test", "", "openid email profile"),
            ("plain", "repo,user:email", "repo user:email"),
        ],
    )
    async def test_asks_for_the_scopes_that_are_named(
        self, social: Service, provider_id: str, scopes: Any, asked: str
    ) -> None:
        flow = await begin(social, provider_id, scopes=scopes)

        assert flow.url.params["scope"] == asked

    @pytest.mark.parametrize("path", ["/sign-in/social", "/link-social"])
    @pytest.mark.parametrize(
        ("most", "more"),
        [
            ({"scopes": ["a"] * 100}, {"scopes": ["a"] * 101}),
            ({"scopes": ["a" * 256]}, {"scopes": ["a" * 257]}),
            ({"scopes": "a" * 2048}, {"scopes": "a" * 2049}),
            ({"scopes": ["!#[]~ ,"]}, {"scopes": ['"']}),
            ({"scopes": ""}, {"scopes": "\\"}),
            ({"scopes": []}, {"scopes": ["a\n"]}),
            ({"scopes": "a"}, {"scopes": "a\n"}),
            ({"scopes": "b"}, {"scopes": "é"}),
            ({"loginHint": "a" * 256}, {"loginHint": "a" * 257}),
        ],
    )
    async def test_asks_for_no_more_than_a_provider_is_asked(
        self, social: Service, path: str, most: dict[str, Any], more: dict[str, Any]
    ) -> None:
        ada = await join(social)

        allowed = await social.post(path, {"provider": "test", **most}, headers=ada)
        refused = await social.post(path, {"provider": "test", **more}, headers=ada)

        assert (code(allowed), code(refused)) == ("200", "400 VALIDATION_ERROR")

    async def test_keeps_its_cookie_lax_whatever_the_sessions_is(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        strict = {"session.cookie_same_site": "Strict", "session.cookie_http_only": "false"}
        service = await make_service({**social_settings(provider), **strict})

        answer = await ask(service)

        [line] = answer.headers.get_list("set-cookie")
        assert line.endswith("; Path=/; SameSite=Lax; Max-Age=600; HttpOnly; Secure")


@pytest.mark.operation("social.receive_callback", "social.relay_callback")
class TestWayBack:
    async def test_makes_a_user_and_signs_them_in(self, social: Service, provider: ProviderProcess) -> None:
        picture = "https://pictures.example.com/ada.png"
        as_user(provider, "Ada@Example.com", "1001", name="Ada\u202e Lovelace\x00", picture=picture)

        flow = await begin(social, newUserCallbackURL="/hello?a=b")
        answer = await go_through(social, flow)

        user = await user_of(social, session_of(answer))
        assert answer.headers["location"] == f"{BASE_URL}/hello?a=b"
        assert (user["email"], user["emailVerified"]) == (ADA, True)
        assert (user["name"], user["image"]) == ("Ada Lovelace", picture)
        assert await identities(social) == [("test", "1001")]
        assert await social.inbox() == []
        [name] = flow.cookies
        assert answer.headers.get_list("set-cookie") == [
            f"{SESSION}={set_cookies(answer)[SESSION]}; Path=/; SameSite=Lax; Max-Age=604800; HttpOnly; Secure",
            f"{name}=; Path=/; SameSite=Lax; Max-Age=0; HttpOnly; Secure",
        ]
        assert "set-auth-token" not in answer.headers

    async def test_finds_the_same_user_again(self, social: Service, ada: None) -> None:
        first = await enter(social)
        answer = await sign_in(social, newUserCallbackURL="/hello")

        again = session_of(answer)
        assert (await user_of(social, again))["id"] == (await user_of(social, first))["id"]
        assert answer.headers["location"] == f"{BASE_URL}{WELCOME}"
        assert await works(social, first)
        assert (await count(social, User), await count(social, Account)) == (1, 1)
        [row] = await social.rows("SELECT DISTINCT method FROM session")
        assert row.method == "oauth:test"

    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            ({"callbackURL": ""}, f"{BASE_URL}/"),
            ({"callbackURL": f"{BASE_URL}/x?y=1#z"}, f"{BASE_URL}/x?y=1#z"),
            ({"newUserCallbackURL": ""}, f"{BASE_URL}{WELCOME}"),
        ],
    )
    async def test_leads_on_to_where_the_flow_says(
        self, social: Service, ada: None, asked: dict[str, str], expected: str
    ) -> None:
        answer = await sign_in(social, **asked)

        assert answer.headers["location"] == expected

    async def test_leads_elsewhere_by_default_where_the_operator_says(
        self, make_service: MakeService, social: Service, provider: ProviderProcess, ada: None
    ) -> None:
        named = {"default_redirect_url": f"{BASE_URL}/home", "social.error_url": f"{BASE_URL}/sorry?a=b"}
        service = await make_service({**social_settings(provider), **named})

        home = await sign_in(service, callbackURL="")
        sorry = await service.get("/callback/test")
        provider.control(callback_error={"error": "access_denied"})
        refused = [await sign_in(one, errorCallbackURL="") for one in (service, social)]

        assert home.headers["location"] == f"{BASE_URL}/home"
        assert sorry.headers["location"] == f"{BASE_URL}/sorry?a=b&error=state_not_found"
        assert [answer.headers["location"] for answer in refused] == [
            f"{BASE_URL}/sorry?a=b&error=access_denied",
            f"{BASE_URL}/error?error=access_denied",
        ]

    async def test_lies_under_the_base_path(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_service({**social_settings(provider), "base_path": "/api/auth"})
        as_user(provider, ADA, "1001")
        here = f"{BASE_URL}/api/auth/callback/test"
        flow = begun(await ask(service))
        async with httpx.AsyncClient(trust_env=False, verify=NO_TLS, timeout=30) as browser:
            led = (await browser.get(flow.url)).headers["location"]
        sent = dict(httpx.URL(led).params)

        relayed = await service.client.post("/callback/test", data=sent)
        answer = await service.get(led, headers=flow.headers)
        again = await service.get(led, headers=flow.headers)

        assert flow.url.params["redirect_uri"] == here
        assert led.startswith(f"{here}?code=")
        assert str(httpx.URL(relayed.headers["location"]).copy_with(query=None)) == here
        assert error_of(answer) is None
        assert set_cookies(answer)[SESSION]
        assert again.headers["location"] == f"{BASE_URL}/api/auth/error?error=state_mismatch"

    async def test_takes_no_notice_of_who_was_signed_in(
        self, social: Service, provider: ProviderProcess, ada: None
    ) -> None:
        eve = await join(social, EVE)
        social.client.cookies.clear()
        flow = await begin(social)
        beside = also(flow.headers, SESSION, token_of(eve))

        answer = await social.get(await visit(flow), headers=beside)
        social.client.cookies.clear()

        assert (await user_of(social, session_of(answer)))["email"] == ADA
        assert set_cookies(answer)[SESSION] != token_of(eve)
        assert await works(social, eve)

    async def test_begun_before_a_change_of_the_secret_goes_on_with_the_old_one(
        self, make_service: MakeService, provider: ProviderProcess, ada: None
    ) -> None:
        settings = social_settings(provider)
        service = await make_service({**settings, "secrets": "o" * 32})
        lost, kept = [await begin(service) for _ in range(2)]

        async with restarted(service, {**settings, "secrets": "n" * 32}) as later:
            forgotten = await go_through(later, lost)
        async with restarted(service, {**settings, "secrets": f"{'n' * 32},{'o' * 32}"}) as both:
            answer = await go_through(both, kept)

        assert [error_of(forgotten), error_of(answer)] == ["state_mismatch", None]

    async def test_works_at_a_plain_provider(self, social: Service, provider: ProviderProcess) -> None:
        as_user(provider, ADA, "1001", id=583231)

        user = await user_of(social, await enter(social, "plain"))

        assert (user["email"], user["emailVerified"]) == (ADA, True)
        assert await identities(social) == [("plain", "583231")]

    async def test_gives_the_cookie_the_whole_life_of_the_session(
        self, social: Service, provider: ProviderProcess, ada: None
    ) -> None:
        flow = await begin(social)

        async with held_back(provider, "token", deliver(social, await visit(flow), flow)) as coming:
            social.clock.advance(seconds=8)

        assert "; Max-Age=604800; " in (await coming).headers.get_list("set-cookie")[0]

    async def test_works_in_several_tabs(self, social: Service, ada: None) -> None:
        flows = [await begin(social) for _ in range(3)]
        together = {"Cookie": "; ".join(flow.headers["Cookie"] for flow in flows)}

        answers = [await social.get(await visit(flow), headers=together) for flow in reversed(flows)]

        assert [error_of(answer) for answer in answers] == [None] * 3

    async def test_ends_a_sign_in_that_waits_for_a_code(self, social: Service, ada: None) -> None:
        flow = await begin(social)

        answer = await social.get(await visit(flow), headers=also(flow.headers, PENDING, f"2fa_{'x' * 32}"))

        assert set_cookies(answer)[PENDING] == ""

    @pytest.mark.threat("V62")
    async def test_by_a_form_comes_back_as_a_get(self, social: Service, ada: None) -> None:
        flow = await begin(social)
        sent = dict(httpx.URL(await visit(flow)).params)

        relayed = await social.client.post(
            "/callback/test", data={**sent, "other": "x", "user": '{"a":"&b"}'}
        )
        back = relayed.headers["location"].removeprefix(BASE_URL)
        answer = await deliver(social, back, flow)

        assert relayed.status_code == 303
        assert "set-cookie" not in relayed.headers
        assert dict(httpx.URL(back).params) == {**sent, "user": '{"a":"&b"}'}
        assert error_of(answer) is None

    async def test_of_a_form_that_names_a_field_twice_nothing_is_relayed(self, social: Service) -> None:
        relayed = await social.client.post(
            "/callback/test",
            content="state=a&code=b&state=c",
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        )

        assert relayed.headers["location"] == f"{BASE_URL}/callback/test"

    @pytest.mark.threat("V58")
    @pytest.mark.both_databases
    async def test_of_many_first_visits_at_once_one_user_comes(
        self, social: Service, provider: ProviderProcess, ada: None
    ) -> None:
        flows = [await begin(social) for _ in range(5)]
        backs = [await visit(flow) for flow in flows]
        token = id_token(provider)

        answers = await asyncio.gather(
            *(social.get(back, headers=flow.headers) for back, flow in zip(backs, flows, strict=True)),
            *(sign_in_directly(social, token) for _ in range(5)),
        )

        assert [answer.status_code for answer in answers] == [302] * 5 + [200] * 5
        assert [error_of(answer) for answer in answers[:5]] == [None] * 5
        assert (await count(social, User), await count(social, Account)) == (1, 1)
        assert await session_count(social) == 10


class TestFailure:
    """Every value of `error`, once, and that nothing came of it."""

    @pytest.mark.threat("V55")
    @pytest.mark.parametrize(
        "query", ["", "?state=", "?code=c", "?state={0}&state={0}", "?state={0}&code=c&code=d"]
    )
    async def test_without_the_one_state(self, social: Service, query: str) -> None:
        flow = await begin(social)

        answer = await deliver(social, f"/callback/test{query.format(flow.state)}", flow)

        assert answer.headers["location"] == f"{BASE_URL}/error?error=state_not_found"
        assert "set-cookie" not in answer.headers
        assert await audited(social, "oauth_state.refused") == [("refused", "state_not_found")]
        assert await count(social, OneTimeToken) == 1

    @pytest.mark.threat("V54", "V55")
    async def test_with_a_state_that_is_unknown_used_expired_or_another_browsers(
        self, social: Service, ada: None
    ) -> None:
        unknown = await social.get(f"/callback/test?state={'x' * 32}&code=c")
        flow, late_flow = await begin(social), await begin(social)
        back = await visit(flow)
        elsewhere = await social.get(back)
        [name], [of_another] = flow.cookies, late_flow.cookies.values()
        wrong = await social.get(back, headers=cookie(name, of_another))
        right = await deliver(social, back, flow)
        used = await deliver(social, back, flow)
        late_back = await visit(late_flow)
        social.clock.advance(minutes=10)
        late = await deliver(social, late_back, late_flow)

        assert error_of(right) is None
        for answer in (unknown, elsewhere, wrong, used, late):
            assert answer.headers["location"] == f"{BASE_URL}/error?error=state_mismatch"
            assert "set-cookie" not in answer.headers
        assert await audited(social, "oauth_state.refused") == [("refused", "state_mismatch")] * 5
        assert await session_count(social) == 1

    @pytest.mark.threat("V54")
    @pytest.mark.both_databases
    async def test_among_several_cookies_the_one_of_the_flow_counts(self, social: Service, ada: None) -> None:
        flow, too_many = await begin(social), await begin(social)
        [name], [binding] = flow.cookies, flow.cookies.values()
        [other_name], [other] = too_many.cookies, too_many.cookies.values()

        line = f"{name}={'x' * 32}; {name}=junk; {name}={binding}"
        answer = await social.get(await visit(flow), headers={"Cookie": line})
        line = "; ".join(f"{other_name}={value}" for value in (*(letter * 32 for letter in "vwxy"), other))
        refused = await social.get(await visit(too_many), headers={"Cookie": line})

        assert (error_of(answer), error_of(refused)) == (None, "state_mismatch")

    async def test_at_a_provider_that_is_configured_no_more(self, social: Service) -> None:
        flow = await begin(social)

        async with restarted(social, {}) as without:
            answer = await deliver(without, f"/callback/test?state={flow.state}&code=c", flow)

        assert answer.headers["location"] == f"{BASE_URL}{OOPS}?error=oauth_provider_not_found"

    @pytest.mark.threat("V60")
    @pytest.mark.parametrize(
        ("sent", "told", "recorded"),
        [
            (
                {"error": "access_denied", "error_description": "No,\r\n <thanks> (&) \u202egood bye"},
                "error=access_denied&error_description=No%2C%20%3Cthanks%3E%20%28%26%29%20good%20bye",
                "access_denied",
            ),
            (
                {"error": "x" * 100 + "\u202e", "error_description": "x" * 300},
                f"error=provider_error&error_description={'x' * 200}",
                "x" * 64,
            ),
        ],
    )
    async def test_by_the_providers_own_word(
        self, social: Service, provider: ProviderProcess, sent: dict[str, str], told: str, recorded: str
    ) -> None:
        as_user(provider, ADA, "1001")
        provider.control(callback_error=sent)

        answer = await sign_in(social, errorCallbackURL="/oops?a=b&error=x")

        assert answer.headers["location"] == f"{BASE_URL}/oops?a=b&{told}"
        assert list(set_cookies(answer).values()) == [""]
        assert provider.log("token") == []
        record = await only(social, "sign_in.failed")
        assert (record.outcome, record.method, record.code) == ("refused", "oauth:test", error_of(answer))
        assert record.details == {"error": recorded}

    @pytest.mark.parametrize("query", ["", "&code=", "&error="])
    async def test_without_a_code(self, social: Service, query: str) -> None:
        flow = await begin(social)

        answer = await deliver(social, f"/callback/test?state={flow.state}{query}", flow)

        assert answer.headers["location"] == f"{BASE_URL}{OOPS}?error=no_code"

    @pytest.mark.threat("V56")
    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"misbehave": {"token": {"json": {"error": "invalid_grant"}}}}, "invalid_code"),
            ({"misbehave": {"token": {"status": 500}}}, "provider_unavailable"),
            ({"send_iss": "https://evil.test"}, "issuer_mismatch"),
            ({"id_token": {"aud": "another"}}, "unable_to_get_user_info"),
            ({"id_token": {"sub": None}}, "unable_to_get_user_info"),
            ({"user": {"email": None}}, "email_not_found"),
            ({"user": {"email": "ada@localhost"}}, "email_not_found"),
            ({"user": {"email": 'a"b@example.com'}}, "email_not_found"),
            ({"user": {"email": f"{'a' * 65}@example.com"}}, "email_not_found"),
        ],
    )
    async def test_for_what_the_provider_says(
        self, social: Service, provider: ProviderProcess, changes: dict[str, Any], expected: str
    ) -> None:
        as_user(provider, ADA, "1001")
        provider.control(**changes)

        answer = await sign_in(social)

        assert answer.headers["location"] == f"{BASE_URL}{OOPS}?error={expected}"
        assert (await count(social, User), await count(social, Session)) == (0, 0)
        assert await audited(social, "sign_in.failed") == [("failure", expected)]

    async def test_for_a_fault_of_ours(self, social: Service, ada: None) -> None:
        flow = await begin(social)
        back = await visit(flow)
        await execute(social, "ALTER TABLE account RENAME TO elsewhere")
        try:
            answer = await deliver(social, back, flow)
        finally:
            await execute(social, "ALTER TABLE elsewhere RENAME TO account")

        assert answer.headers["location"] == f"{BASE_URL}{OOPS}?error=internal_server_error"
        assert list(set_cookies(answer).values()) == [""]
        assert await audited(social, "sign_in.failed") == [("failure", "internal_server_error")]

    @pytest.mark.parametrize("changed", ["added", "removed", "no object"])
    async def test_of_a_flow_that_another_version_has_begun(self, social: Service, changed: str) -> None:
        flow = await begin(social)
        [row] = await social.rows('SELECT payload FROM "grant"')
        cipher = social.services.cipher
        payload = json.loads(cipher.decrypt(flows.PAYLOAD, bytes(row.payload)) or "")
        if changed == "added":
            payload["prompt"] = "none"
        elif changed == "removed":
            del payload["scopes"]
        text = "[]" if changed == "no object" else json.dumps(payload)
        sealed = cipher.encrypt(flows.PAYLOAD, text)
        await execute(social, 'UPDATE "grant" SET payload = :sealed', sealed=sealed)

        answer = await deliver(social, f"/callback/test?state={flow.state}&code=c", flow)

        assert error_of(answer) == "state_mismatch"
        assert await audited(social, "oauth_state.refused") == [("refused", "state_mismatch")]

    async def test_of_nobodys_flow_names_only_a_provider_that_is_configured(self, social: Service) -> None:
        for provider_id in ("test", "x" * 1000):
            await social.get(f"/callback/{provider_id}")

        records = await trail(social)
        named = sorted(str(record.details["provider"]) for record in records)
        assert named == ["None", "test"]

    @pytest.mark.both_databases
    async def test_of_nobodys_flow_in_a_flood_is_recorded_a_few_times(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"limits.enabled": "false"})

        answers = await asyncio.gather(*(service.get(f"/callback/{number}") for number in range(220)))

        assert {error_of(answer) for answer in answers} == {"state_not_found"}
        assert 1 <= len(await trail(service)) <= 200

    async def test_of_nobodys_flow_does_not_wait_for_the_database(self, make_service: MakeService) -> None:
        service = await make_service({"database.timeout": "30s"})

        async with locked(service, "audit"), asyncio.timeout(15):
            answer = await service.get("/callback/test")

        assert error_of(answer) == "state_not_found"
        assert await audited(service, "oauth_state.refused") == [("refused", "state_not_found")]

    async def test_leads_nowhere_that_is_not_trusted_any_more(
        self, make_service: MakeService, provider: ProviderProcess, ada: None
    ) -> None:
        settings = social_settings(provider)
        trusting = await make_service({**settings, "trusted_origins": "https://app.test"})
        there = {"callbackURL": "https://app.test/in", "errorCallbackURL": "https://app.test/out"}
        begun = [await begin(trusting, **there) for _ in range(2)]
        backs = [await visit(begun[0]), f"/callback/test?state={begun[1].state}"]

        async with restarted(trusting, {**settings, "trusted_origins": "https://other.test"}) as narrower:
            answers = [await deliver(narrower, back, flow) for back, flow in zip(backs, begun, strict=True)]

        locations = [answer.headers["location"] for answer in answers]
        assert locations == [f"{BASE_URL}/", f"{BASE_URL}/error?error=no_code"]

    @pytest.mark.threat("V56")
    async def test_at_another_providers_callback(self, social: Service, ada: None) -> None:
        flow = await begin(social)
        back = await visit(flow)

        answer = await deliver(social, back.replace("/callback/test", "/callback/other"), flow)
        again = await deliver(social, back, flow)

        assert answer.headers["location"] == f"{BASE_URL}{OOPS}?error=state_mismatch"
        assert list(set_cookies(answer).values()) == [""]
        assert error_of(again) == "state_mismatch"
        assert await session_count(social) == 0


def id_token(provider: ProviderProcess, **claims: Any) -> str:
    """Return an ID token of Ada's, or as the claims have it."""
    return provider.mint(
        claims={"sub": "1001", "email": ADA, "email_verified": True, "name": "Ada", **claims}
    )


class TestIdToken:
    @pytest.mark.threat("V17")
    async def test_signs_in_at_once(self, social: Service, provider: ProviderProcess) -> None:
        token = id_token(provider)

        answer = await sign_in_directly(social, token, callbackURL=WELCOME, newUserCallbackURL="/hello")

        body = answer.json()
        user = await user_of(social, bearer(body["token"]))
        assert body == {"redirect": False, "token": body["token"], "url": None, "user": reduced(user)}
        assert user["emailVerified"]
        assert answer.headers["set-auth-token"] == body["token"]
        assert set_cookies(answer) == {SESSION: body["token"]}
        [row] = await social.rows("SELECT method, remembered FROM session")
        assert (row.method, bool(row.remembered)) == ("id_token:test", True)
        assert await count(social, OneTimeToken) == 0

    async def test_may_bring_more_along(self, social: Service, provider: ProviderProcess) -> None:
        token = provider.mint(
            claims={"sub": "9", "email": EVE, "email_verified": False, "name": None, "nonce": "n"}
        )
        beside = {"accessToken": "at", "refreshToken": "rt", "other": 1}
        name = {"name": {"firstName": "Eve", "lastName": "Moneypenny"}, "email": ADA, "emailVerified": True}

        answer = await sign_in_directly(social, {"token": token, "nonce": "n", "user": name, **beside})

        user = await user_of(social, bearer(answer.json()["token"]))
        assert (user["name"], user["email"], user["emailVerified"]) == ("Eve Moneypenny", EVE, False)
        tokens = await social.post(
            "/get-access-token", {"providerId": "test"}, headers=bearer(answer.json()["token"])
        )
        assert (tokens.json()["accessToken"], tokens.json()["refreshToken"]) == ("at", "rt")
        assert tokens.json()["scopes"] == []

    @pytest.mark.parametrize(
        ("claims", "expected"),
        [
            ({"aud": "another"}, (401, "INVALID_TOKEN", "Invalid token")),
            ({"sub": None}, (401, "FAILED_TO_GET_USER_INFO", "Failed to get user info")),
            ({"email": None}, (401, "USER_EMAIL_NOT_FOUND", "User email not found")),
            ({"email": "no address"}, (401, "USER_EMAIL_NOT_FOUND", "User email not found")),
        ],
    )
    async def test_that_proves_nothing_is_refused(
        self,
        social: Service,
        provider: ProviderProcess,
        claims: dict[str, Any],
        expected: tuple[int, str, str],
    ) -> None:
        answer = await sign_in_directly(social, id_token(provider, **claims))

        assert refusal(answer) == expected
        assert (await count(social, User), await count(social, Session)) == (0, 0)
        record = await only(social, "sign_in.failed")
        assert (record.outcome, record.method, record.code) == ("failure", "id_token:test", expected[1])

    @pytest.mark.threat("V19")
    @pytest.mark.parametrize(
        ("expected", "tokens"),
        [
            ("400 VALIDATION_ERROR", [None, 1, [], {}, {"token": 1}, {"token": "a", "nonce": None}]),
            ("401 INVALID_TOKEN", ["", "a.b.c", {"token": ""}]),
        ],
    )
    async def test_that_is_none_is_refused(self, social: Service, expected: str, tokens: list[Any]) -> None:
        for token in tokens:
            assert code(await sign_in_directly(social, token)) == expected, token

    async def test_without_a_nonce_works_until_it_ends(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        token = id_token(provider)

        first, second = await sign_in_directly(social, token), await sign_in_directly(social, token)
        social.clock.advance(hours=1, seconds=1)
        late = await sign_in_directly(social, token)

        assert [code(answer) for answer in (first, second, late)] == ["200", "200", "401 INVALID_TOKEN"]

    async def test_that_is_refused_or_comes_while_nothing_can_be_stored_is_not_used_up(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_service(social_settings(provider) | {"database.timeout": "1s"})
        await join(service, ADA)
        token = {"token": id_token(provider, nonce="abc"), "nonce": "abc"}

        refused = await sign_in_directly(service, token)
        await set_user(service, ADA, email_verified=True)
        async with locked(service, "account"):
            failed = await sign_in_directly(service, token)
        answer = await sign_in_directly(service, token)

        assert refusal(refused) == NOT_LINKED
        assert failed.status_code == 503
        assert code(answer) == "200"

    async def test_is_taken_only_where_it_can_be_checked(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_service(social_settings(provider, id_token_sign_in="false"))
        expected = (404, "ID_TOKEN_NOT_SUPPORTED", "id_token not supported")

        assert refusal(await sign_in_directly(service, id_token(provider))) == expected
        assert refusal(await sign_in_directly(service, id_token(provider), provider="plain")) == expected


class TestWhoseAccount:
    @pytest.mark.threat("V20")
    async def test_the_same_subject_of_another_issuer_is_somebody_else(
        self, make_service: MakeService, provider: ProviderProcess, other_provider: ProviderProcess
    ) -> None:
        service = await make_service(social_settings(provider))
        as_user(provider, ADA, "7")
        as_user(other_provider, EVE, "7", email_verified=True)
        ada = await user_of(service, await enter(service))

        async with restarted(service, social_settings(other_provider)) as moved:
            eve = await user_of(moved, await enter(moved))

        assert ada["id"] != eve["id"]
        assert (ada["email"], eve["email"]) == (ADA, EVE)
        rows = await service.rows("SELECT issuer, account_id FROM account")
        assert {tuple(row) for row in rows} == {(provider.issuer, "7"), (other_provider.issuer, "7")}

    async def test_an_address_becomes_verified_when_the_provider_says_so_later(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        as_user(provider, ADA, "1001", email_verified=False)
        ada = await enter(social)
        unverified = (await user_of(social, ada))["emailVerified"]
        as_user(provider, EVE, "1001", email_verified=True)
        await enter(social)
        elsewhere = (await user_of(social, ada))["emailVerified"]
        as_user(provider, "ADA@example.com", "1001", email_verified=True)
        await enter(social)

        assert [unverified, elsewhere] == [False, False]
        assert (await user_of(social, ada))["emailVerified"]
        assert (await user_of(social, ada))["email"] == ADA

    async def test_an_unverified_new_user_gets_the_mail(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        as_user(provider, ADA, "1001", email_verified=False)
        ada = await enter(social)

        [mail] = await social.inbox(ADA)
        assert mail["template"] == "verify-email"
        assert mail["link"].endswith("&callbackURL=%2Fwelcome")
        await social.get(local(mail["link"]))
        assert (await user_of(social, ada))["emailVerified"]

    @pytest.mark.threat("V32", "V15")
    @pytest.mark.parametrize(
        ("local", "said", "rules", "linked"),
        [
            (True, True, {}, True),
            (False, True, {}, False),
            (True, False, {}, False),
            (True, True, {"account_linking.enabled": "false"}, False),
            (True, True, {"account_linking.implicit": "false"}, False),
            (True, False, {"account_linking.trusted_providers": "test"}, True),
            (False, True, {"account_linking.trusted_providers": "test"}, False),
            (True, False, {"account_linking.trusted_providers": "plain"}, False),
            (False, True, {"account_linking.require_local_verified": "false"}, True),
        ],
    )
    async def test_an_existing_user_is_joined_only_where_both_sides_have_proven_the_address(
        self, make_service: MakeService, provider: ProviderProcess, local: bool, said: bool, rules: dict[str, str],
        linked: bool,
    ) -> None:  # fmt: skip
        service = await make_service({**social_settings(provider), **rules})
        ada = await join(service)
        await set_user(service, email_verified=local)
        as_user(provider, ADA, "1001", email_verified=said)

        answer = await sign_in(service)
        direct = await sign_in_directly(service, id_token(provider, email_verified=said))

        assert error_of(answer) == (None if linked else "account_not_linked")
        assert (200 if linked else NOT_LINKED) == (direct.status_code if linked else refusal(direct))
        assert await identities(service) == ([("test", "1001")] if linked else [])
        assert await works(service, ada)
        if linked:
            assert (await user_of(service, session_of(answer)))["id"] == (await user_of(service, ada))["id"]
            assert await audited(service, "account.linked") == [("success", None)]
        else:
            assert await audited(service, "account.link_refused") == [("refused", "OAUTH_LINK_ERROR")] * 2
            assert await audited(service, "sign_in.failed") == [
                ("failure", "OAUTH_LINK_ERROR"),
                ("failure", "account_not_linked"),
            ]

    @pytest.mark.parametrize(
        ("setting", "asks", "made"),
        [
            ({"providers.test.disable_sign_up": "true"}, True, False),
            ({"providers.test.disable_implicit_sign_up": "true"}, False, False),
            ({"providers.test.disable_implicit_sign_up": "true"}, "TRUE", True),
            ({"sign_up.enabled": "false"}, True, False),
        ],
    )
    async def test_strangers_may_be_kept_out(
        self,
        make_service: MakeService,
        provider: ProviderProcess,
        ada: None,
        setting: dict[str, str],
        asks: Any,
        made: bool,
    ) -> None:
        service = await make_service({**social_settings(provider), **setting})

        answer = await sign_in(service, requestSignUp=asks)
        direct = await sign_in_directly(
            service, id_token(provider, sub="1002", email=EVE), requestSignUp=asks
        )
        again = await sign_in(service)

        assert [error_of(answer), error_of(again)] == [None if made else "signup_disabled"] * 2
        assert (200 if made else SIGN_UP_DISABLED) == (direct.status_code if made else refusal(direct))
        assert await count(service, User) == (2 if made else 0)
        assert len(await audited(service, "sign_in.failed")) == (0 if made else 3)

    @pytest.mark.parametrize("sends", [True, False])
    async def test_a_provider_may_have_to_vouch_for_the_address(
        self, make_service: MakeService, provider: ProviderProcess, sends: bool
    ) -> None:
        again = {"email_verification.send_on_sign_in": "true"} if sends else {}
        service = await make_service({**social_settings(provider, require_verified_email="true"), **again})
        as_user(provider, ADA, "1001", email_verified=False)

        first, second = await sign_in(service), await sign_in(service)
        direct = await sign_in_directly(service, id_token(provider, email_verified=False))

        assert [error_of(first), error_of(second)] == ["email_not_verified"] * 2
        assert refusal(direct) == (403, "EMAIL_NOT_VERIFIED", "Email not verified")
        assert await session_count(service) == 0
        assert (await count(service, User), await count(service, Account)) == (1, 1)
        assert len(await service.inbox(ADA, "verify-email")) == (3 if sends else 1)
        await service.get(local(await last_link(service, "verify-email", ADA)))
        assert error_of(await sign_in(service)) is None

    @pytest.mark.threat("V32")
    async def test_verification_that_everybody_needs_holds_here_too(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_service({**social_settings(provider), "email_verification.required": "true"})
        as_user(provider, ADA, "1001", email_verified=False)
        as_eve = id_token(provider, sub="1002", email=EVE)

        refused, proven = await sign_in(service), await sign_in_directly(service, as_eve)

        assert (error_of(refused), proven.status_code) == ("email_not_verified", 200)
        assert [mail["to"] for mail in await service.inbox()] == [ADA]

    async def test_name_and_image_follow_where_they_shall(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        seen = []
        for follows in ("false", "true"):
            service = await make_service(social_settings(provider, sync_profile=follows))
            as_user(provider, ADA, "1001", name="Ada", picture="https://pictures.example.com/1.png")
            ada = await enter(service)
            as_user(provider, ADA, "1001", name="Countess", picture="https://pictures.example.com/2.png")
            await enter(service)
            user = await user_of(service, ada)
            seen.append((user["name"], user["image"][-5]))
            as_user(provider, ADA, "1001", name=None, picture=None)
            await enter(service)
            assert (await user_of(service, ada))["name"] == user["name"]

        assert seen == [("Ada", "1"), ("Countess", "2")]
        assert (await only(service, "user.updated")).details == {"fields": ["image", "name"]}


class TestSecondFactor:
    """A two-factor user of a provider is asked for the code, whichever way they come."""

    async def test_is_asked_for_on_the_way_back(
        self, social: Service, provider: ProviderProcess, ada: None
    ) -> None:
        owner = await enrol(social)
        before = await session_count(social)

        answer = await sign_in(social, callbackURL="/in?a=b", newUserCallbackURL="/hello")

        pending = set_cookies(answer)[PENDING]
        assert answer.headers["location"] == f"{BASE_URL}/in?a=b&twoFactorRedirect=true"
        lines = answer.headers.get_list("set-cookie")
        assert lines[:2] == [
            f"{PENDING}={pending}; Path=/; SameSite=Lax; Max-Age=600; HttpOnly; Secure",
            CLEARED,
        ]
        assert len(lines) == 3
        assert await session_count(social) == before
        done = await enter_code(social, "backup-code", owner.backup_codes[0], cookie(PENDING, pending))
        assert done.status_code == 200
        assert await identities(social) == [("test", "1001")]

    async def test_is_asked_for_after_an_id_token(self, social: Service, provider: ProviderProcess) -> None:
        await enrol(social)

        answer = await sign_in_directly(social, id_token(provider), callbackURL="/in")

        token = answer.json()["token"]
        assert answer.json() == {
            "redirect": False, "token": token, "url": None, "user": None, "twoFactorRedirect": True,
            "twoFactorMethods": ["totp", "otp"], "pending": True,
        }  # fmt: skip
        assert set_cookies(answer) == {PENDING: token, SESSION: ""}
        assert "set-auth-token" not in answer.headers

    async def test_is_asked_for_on_a_page_of_the_operators(
        self, make_service: MakeService, provider: ProviderProcess, ada: None
    ) -> None:
        page = {"two_factor.page": f"{BASE_URL}/code?x=1"}
        service = await make_service({**social_settings(provider), **page})
        await enrol(service)

        named, unnamed = await sign_in(service, callbackURL="/in?a=b"), await sign_in(service, callbackURL="")

        url = httpx.URL(named.headers["location"])
        assert url.path == "/code"
        assert dict(url.params) == {
            "x": "1",
            "twoFactorRedirect": "true",
            "callbackURL": f"{BASE_URL}/in?a=b",
        }
        assert httpx.URL(unnamed.headers["location"]).params["callbackURL"] == f"{BASE_URL}/"

    async def test_is_not_asked_for_on_a_trusted_device(
        self, social: Service, provider: ProviderProcess, ada: None
    ) -> None:
        device = await trusted_device(social, await enrol(social))

        flow = await begin(social)
        answer = await social.get(await visit(flow), headers=also(flow.headers, TRUST, device))
        rotated = set_cookies(answer)[TRUST]
        direct = await social.post(
            "/sign-in/social",
            {"provider": "test", "idToken": id_token(provider)},
            headers=cookie(TRUST, rotated),
        )

        assert set_cookies(answer)[SESSION]
        assert rotated not in ("", device)
        assert set_cookies(direct)[TRUST] not in ("", rotated)
        assert direct.json()["user"]["email"] == ADA

    async def test_is_not_asked_for_where_providers_are_trusted_with_it(
        self, make_service: MakeService, provider: ProviderProcess, ada: None
    ) -> None:
        lax = {"two_factor.enforce_for_social": "false"}
        service = await make_service({**social_settings(provider), **lax})
        await enrol(service)

        assert (await user_of(service, await enter(service)))["twoFactorEnabled"]
        assert (await sign_in_directly(service, id_token(provider))).json()["user"]["email"] == ADA
        password = await service.post("/sign-in/email", {"email": ADA, "password": PASSWORD})
        assert password.json()["twoFactorRedirect"]
