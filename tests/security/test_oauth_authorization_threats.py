"""Rows O1, O3, O4, O5, O7, O8, O17, O21 and O22 at the authorization endpoint."""

import asyncio
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import text

from domain.jwt.signing_keys import SigningKeys
from server.config.sources import ConfigurationError
from tests.conftest import Headers, MakeService
from tests.handlers.people import add_person
from tests.handlers.steps import ADA, bearer, code, execute, join, set_user, until_blocked, user_of
from tests.oauth import REDIRECT_URI, OAuthTestClient, add_client, add_public_client
from tests.oauth_flow import (
    STATE,
    allow,
    arrive,
    arrive_by_uri,
    consent,
    error_of,
    handle_of,
    is_at_client,
    page_of,
    parameters_of,
    push,
    query_of,
    uri_of,
)
from tests.security import second_factor
from tests.service import BASE_URL, PASSWORD, Service

LOGIN = "/account/sign-in"
CONSENT = "/account/consent"

REDIRECT_URIS = [
    "https://shop.example/callback/",
    "https://shop.example/callback/more",
    "https://shop.example/callbac",
    "https://shop.example/callback?x=1",
    "https://shop.example/callback?",
    "https://shop.example/callback#",
    "https://shop.example/callback#x",
    "https://shop.example/x/../callback",
    "https://shop.example//callback",
    "https://shop.example/%63allback",
    "https://shop.example:443/callback",
    "https://shop.example:8443/callback",
    "https://SHOP.example/callback",
    "HTTPS://shop.example/callback",
    "https://shop.example/CALLBACK",
    "http://shop.example/callback",
    "https://shop.example./callback",
    "https://evil.shop.example/callback",
    "https://shop.example.evil.test/callback",
    "https://shop.example@evil.test/callback",
    "https://ada@shop.example/callback",
    "//shop.example/callback",
    "/callback",
    "javascript:alert(1)//https://shop.example/callback",
    "data:text/html,x",
    " https://shop.example/callback",
    "https://shop.example/callback\r\nSet-Cookie: x=1",
    "https://shop.example\\@evil.test/callback",
]


@pytest.fixture
async def ada(service: Service) -> Headers:
    """The session of a user."""
    session = await join(service)
    service.client.cookies.clear()
    return session


@pytest.fixture
async def shop(service: Service) -> OAuthTestClient:
    """A web application."""
    return await add_client(service)


async def codes(service: Service) -> int:
    """Return how many codes were issued."""
    return len(await service.rows("SELECT code FROM oauth_code"))


@pytest.mark.threat("O1")
class TestRedirectUris:
    @pytest.mark.parametrize("uri", REDIRECT_URIS)
    async def test_only_a_registered_uri_is_redirected_to(
        self, service: Service, shop: OAuthTestClient, uri: str
    ) -> None:
        sent = parameters_of(shop, redirect_uri=uri)

        for answer in (
            await service.client.get("/oauth2/authorize", params=sent),
            await service.client.post("/oauth2/authorize", data=sent),
        ):
            assert answer.headers["location"].startswith(f"{BASE_URL}/error?")
            assert error_of(answer) == "invalid_redirect_uri"
        refused = await push(service, shop, redirect_uri=uri)
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_redirect_uri")

    @pytest.mark.parametrize(
        "uri",
        [
            "http://localhost:5000/callback",
            "http://127.0.0.2/callback",
            "http://127.0.0.1.evil.test/callback",
            "http://127.0.0.1:x/callback",
            "http://127.0.0.1:@evil.test/callback",
            "https://127.0.0.1/callback",
            "http://[::1]/callback",
            "http://127.1/callback",
        ],
    )
    async def test_of_a_loopback_literal_only_the_port_is_free(self, service: Service, uri: str) -> None:
        program = await add_public_client(service)

        assert page_of(await arrive(service, program, redirect_uri="http://127.0.0.1:5000/callback")) == LOGIN
        assert error_of(await arrive(service, program, redirect_uri=uri)) == "invalid_redirect_uri"

    async def test_a_uri_that_was_removed_is_refused_in_a_stored_request(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        handle = handle_of(await arrive(service, shop, ada))
        await execute(
            service, "UPDATE oauth_client SET registration = replace(registration, '/callback', '/other')"
        )

        refused = await arrive_by_uri(service, shop, uri_of(handle), ada)
        assert (page_of(refused), error_of(refused)) == ("/error", "invalid_redirect_uri")
        # Nor does the page of consent lead there.
        assert code(await consent(service, handle, ada, accept=False)) == "404 REQUEST_NOT_FOUND"


@pytest.mark.threat("O3")
@pytest.mark.parametrize(
    "changes",
    [
        {"code_challenge": None},
        {"code_challenge": ""},
        {"code_challenge": "a" * 42},
        {"code_challenge": "a" * 44},
        {"code_challenge": "a" * 42 + "="},
        {"code_challenge": "a" * 42 + "+"},
        {"code_challenge": "a" * 43 + "\n"},
        {"code_challenge_method": "plain"},
        {"code_challenge_method": "s256"},
        {"code_challenge_method": None},
        {"code_challenge": None, "code_challenge_method": None},
    ],
)
@pytest.mark.parametrize("is_public", [True, False])
async def test_there_is_no_code_without_a_challenge(
    service: Service, changes: dict[str, Any], *, is_public: bool
) -> None:
    ada = await join(service)
    if is_public:
        members = {"redirect_uris": [REDIRECT_URI], "application_type": "web"}
        client = await add_public_client(service, skip_consent=True, **members)
    else:
        client = await add_client(service, skip_consent=True)

    refused = await arrive(service, client, ada, **changes)

    assert is_at_client(refused)
    assert error_of(refused) == "invalid_request"
    pushed = await push(service, client, **changes)
    assert (pushed.status_code, pushed.json()["error"]) == (400, "invalid_request")
    assert await codes(service) == 0


@pytest.mark.threat("O4")
class TestMixUp:
    async def test_every_response_says_who_responds(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        handle = handle_of(await arrive(service, shop, ada))
        refused_on_page = await consent(service, handle, ada, accept=False)
        urls = [
            refused_on_page.json()["url"],
            (await arrive(service, shop, ada, prompt="none")).headers["location"],
            (await arrive(service, shop, scope="nothing")).headers["location"],
            (await service.client.post("/oauth2/authorize", data=parameters_of(shop, scope="no"))).headers[
                "location"
            ],
            (await allow(service, shop, ada)).headers["location"],
        ]

        assert [query_of(url)["iss"] for url in urls] == [BASE_URL] * 5
        assert all(query_of(url)["state"] == STATE for url in urls)

    async def test_another_issuer_has_another_name(self, make_service: MakeService) -> None:
        other = await make_service({"base_url": "http://127.0.0.1:9000", "base_path": "/auth"})
        shop = await add_client(other)

        refused = await arrive(other, shop, prompt="none")

        assert query_of(refused)["iss"] == "http://127.0.0.1:9000/auth"

    async def test_a_client_cannot_say_who_responds(self, service: Service, ada: Headers) -> None:
        uri = "https://shop.example/callback?iss=https%3A%2F%2Fevil.test&code=x&keep=1"
        shop = await add_client(service, redirect_uris=[uri], skip_consent=True)

        done = await arrive(service, shop, ada, redirect_uri=uri, iss="https://evil.test")

        assert query_of(done)["iss"] == BASE_URL
        assert query_of(done)["code"].startswith("gwc_")
        assert query_of(done)["keep"] == "1"


@pytest.mark.threat("O5")
class TestConsent:
    async def test_it_counts_for_the_session_that_gave_it(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        eve = await join(service, "eve@example.com")
        service.client.cookies.clear()
        handle = handle_of(await arrive(service, shop, ada))

        # Eve consents to Ada's request.
        assert (await consent(service, handle, eve)).status_code == 200

        assert page_of(await arrive_by_uri(service, shop, uri_of(handle), ada)) == CONSENT
        assert await codes(service) == 0

    async def test_with_prompt_another_session_of_the_user_does_not_count(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        answer = await service.post("/sign-in/email", {"email": ADA, "password": PASSWORD})
        service.client.cookies.clear()
        elsewhere = bearer(answer.json()["token"])
        handle = handle_of(await arrive(service, shop, ada, prompt="consent"))
        await consent(service, handle, elsewhere)

        assert page_of(await arrive_by_uri(service, shop, uri_of(handle), ada)) == CONSENT
        assert "code" in query_of(await arrive_by_uri(service, shop, uri_of(handle), elsewhere))

    async def test_prompt_asks_again(self, service: Service, shop: OAuthTestClient, ada: Headers) -> None:
        await allow(service, shop, ada)

        assert page_of(await arrive(service, shop, ada, prompt="consent")) == CONSENT
        assert "code" in query_of(await allow(service, shop, ada, prompt="consent"))

    async def test_more_scopes_are_asked_for(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        await allow(service, shop, ada, scope="openid")

        assert page_of(await arrive(service, shop, ada, scope="openid profile")) == CONSENT
        refused = await arrive(service, shop, ada, scope="openid profile", prompt="none")
        assert error_of(refused) == "consent_required"

    async def test_what_the_page_sends_is_a_subset(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        handle = handle_of(await arrive(service, shop, ada, scope="openid"))

        for scope in ("openid profile", "openid offline_access", "openid openid\tprofile"):
            assert code(await consent(service, handle, ada, scope=scope)) == "400 INVALID_SCOPE"
        assert await service.rows("SELECT id FROM oauth_consent") == []

    async def test_a_get_consents_to_nothing(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        handle = handle_of(await arrive(service, shop, ada))

        answer = await service.client.get(
            "/oauth2/consent", params={"accept": "true", "oauth_query": f"request={handle}"}, headers=ada
        )

        assert answer.status_code == 405
        assert page_of(await arrive_by_uri(service, shop, uri_of(handle), ada)) == CONSENT

    async def test_a_consent_that_was_revoked_meanwhile_does_not_count(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        handle = handle_of(await arrive(service, shop, ada))
        await consent(service, handle, ada)
        await execute(service, "DELETE FROM oauth_consent")

        assert page_of(await arrive_by_uri(service, shop, uri_of(handle), ada)) == CONSENT

    async def test_a_program_of_the_device_is_asked_about_each_time(
        self, service: Service, ada: Headers
    ) -> None:
        program = await add_public_client(service)
        where = {"redirect_uri": "http://127.0.0.1:5000/callback"}
        assert "code" in query_of(await allow(service, program, ada, **where))

        assert page_of(await arrive(service, program, ada, **where)) == CONSENT
        assert error_of(await arrive(service, program, ada, prompt="none", **where)) == "consent_required"

    async def test_it_needs_a_session_as_new_as_the_code(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        service.clock.advance(seconds=1)
        handle = handle_of(await arrive(service, shop, ada, prompt="login"))

        assert code(await consent(service, handle, ada)) == "403 SESSION_NOT_FRESH"
        assert await service.rows("SELECT id FROM oauth_consent") == []


@pytest.mark.threat("O7")
class TestSessions:
    async def test_a_pending_sign_in_gets_no_code(self, service: Service) -> None:
        shop = await add_client(service, skip_consent=True)
        await second_factor.enrol(service)
        service.client.cookies.clear()
        token = await second_factor.challenge(service)
        service.client.cookies.clear()

        for headers in (bearer(token), second_factor.cookie("service.two-factor", token)):
            arrived = await arrive(service, shop, headers)
            assert page_of(arrived) == LOGIN
            assert (await consent(service, handle_of(arrived), headers)).status_code == 401
        assert await codes(service) == 0

    async def test_a_pending_sign_in_has_no_url(self, service: Service, shop: OAuthTestClient) -> None:
        await second_factor.enrol(service)
        service.client.cookies.clear()
        handle = handle_of(await arrive(service, shop))

        body = {"email": ADA, "password": PASSWORD, "oauth_query": f"request={handle}"}
        pending = await service.post("/sign-in/email", body)

        assert (pending.json()["redirect"], pending.json()["url"]) == (False, None)

    async def test_an_administrator_in_the_name_of_a_user_is_refused(self, service: Service) -> None:
        shop = await add_client(service, skip_consent=True)
        admin, user = await add_person(service, "admin"), await add_person(service)
        answer = await service.post("/admin/impersonate-user", {"userId": user.id}, headers=admin.headers)
        service.client.cookies.clear()
        impersonated = bearer(answer.json()["session"]["token"])

        for changes in ({}, {"prompt": "none"}, {"prompt": "login"}, {"prompt": "consent"}):
            refused = await arrive(service, shop, impersonated, **changes)
            assert is_at_client(refused)
            assert error_of(refused) == "access_denied"
        handle = handle_of(await arrive(service, shop))
        assert code(await consent(service, handle, impersonated)) == "403 NOT_ALLOWED_WHILE_IMPERSONATING"
        assert await codes(service) == 0

    @pytest.mark.both_databases
    @pytest.mark.parametrize("dialect", ["postgresql"])
    async def test_a_session_that_ends_meanwhile_gets_no_code(self, make_service: MakeService) -> None:
        service = await make_service()
        shop, ada = await add_client(service, skip_consent=True), await join(service)
        service.client.cookies.clear()

        async with service.services.database.begin() as db:
            await db.execute(text('SELECT id FROM "user" FOR UPDATE'))
            arriving = asyncio.ensure_future(arrive(service, shop, ada))
            await until_blocked(service)
            await db.execute(text("UPDATE session SET expires_at = created_at"))
            await db.commit()

        assert error_of(await arriving) == "access_denied"
        assert await codes(service) == 0

    async def test_a_banned_user_gets_no_code(self, service: Service, ada: Headers) -> None:
        shop = await add_client(service, skip_consent=True)
        await set_user(service, banned=True)

        assert page_of(await arrive(service, shop, ada)) == LOGIN
        assert await codes(service) == 0


@pytest.mark.threat("O8")
class TestAge:
    async def test_prompt_needs_a_sign_in_since_the_request(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        await allow(service, shop, ada)
        service.clock.advance(seconds=1)
        arrived = await arrive(service, shop, ada, prompt="login")
        assert page_of(arrived) == LOGIN
        uri = uri_of(handle_of(arrived))
        # To come again is no sign-in, nor is it to use the session.
        assert page_of(await arrive_by_uri(service, shop, uri, ada)) == LOGIN
        details = await service.client.get(
            "/oauth2/request", params={"request": handle_of(arrived)}, headers=ada
        )
        assert details.json()["reason"] == "login"

        service.clock.advance(seconds=1)
        answer = await service.post("/sign-in/email", {"email": ADA, "password": PASSWORD})
        service.client.cookies.clear()
        assert "code" in query_of(await arrive_by_uri(service, shop, uri, bearer(answer.json()["token"])))

    async def test_the_age_is_that_of_the_sign_in(self, make_service: MakeService) -> None:
        service = await make_service({"session.update_age": "1m"})
        shop, ada = await add_client(service, skip_consent=True), await join(service)
        service.client.cookies.clear()
        service.clock.advance(minutes=50)
        assert "code" in query_of(await arrive(service, shop, ada, max_age="3600"))
        # The session is extended by its use, but no newer for it.
        await service.client.get("/get-session", headers=ada)
        service.clock.advance(minutes=11)

        arrived = await arrive(service, shop, ada, max_age="3600")

        assert page_of(arrived) == LOGIN
        details = await service.client.get(
            "/oauth2/request", params={"request": handle_of(arrived)}, headers=ada
        )
        assert details.json()["reason"] == "max_age"
        assert error_of(await arrive(service, shop, ada, max_age="3600", prompt="none")) == "login_required"

    async def test_an_age_of_zero_asks_once(self, service: Service) -> None:
        shop, ada = await add_client(service, skip_consent=True), await join(service)
        service.client.cookies.clear()
        service.clock.advance(seconds=1)
        arrived = await arrive(service, shop, ada, max_age="0")
        assert page_of(arrived) == LOGIN

        service.clock.advance(seconds=1)
        answer = await service.post("/sign-in/email", {"email": ADA, "password": PASSWORD})
        service.client.cookies.clear()
        service.clock.advance(seconds=1)
        session = bearer(answer.json()["token"])

        assert "code" in query_of(await arrive_by_uri(service, shop, uri_of(handle_of(arrived)), session))

    async def test_a_hint_names_the_user(self, service: Service, ada: Headers) -> None:
        shop = await add_client(service, skip_consent=True)
        eve = await join(service, "eve@example.com")
        service.client.cookies.clear()
        hint = await id_token(service, shop, (await user_of(service, ada))["id"])
        service.clock.advance(days=1)

        assert "code" in query_of(await arrive(service, shop, ada, id_token_hint=hint, prompt="none"))
        arrived = await arrive(service, shop, eve, id_token_hint=hint)
        assert page_of(arrived) == LOGIN
        details = await service.client.get(
            "/oauth2/request", params={"request": handle_of(arrived)}, headers=eve
        )
        assert details.json()["reason"] == "hint"
        assert (
            error_of(await arrive(service, shop, eve, id_token_hint=hint, prompt="none")) == "login_required"
        )

    async def test_a_hint_is_for_this_client(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        other = await add_client(service)
        hint = await id_token(service, other, (await user_of(service, ada))["id"])
        access = await id_token(service, shop, (await user_of(service, ada))["id"], typ="at+jwt")

        for sent in (hint, access, hint[:-4] + "AAAA", "x" * 4096):
            assert error_of(await arrive(service, shop, ada, id_token_hint=sent)) == "invalid_request"


async def id_token(service: Service, client: OAuthTestClient, user_id: str, typ: str = "JWT") -> str:
    """Return an ID token as the token endpoint signs it."""
    now = service.clock.now
    claims = {"iss": BASE_URL, "sub": user_id, "aud": client.client_id}
    times = {"iat": int(now.timestamp()), "exp": int(now.timestamp()) + 600}
    return await service.services.port[SigningKeys].sign({**claims, **times}, now, typ=typ)


ODD = [
    "a\r\nSet-Cookie: x=1",
    "a\r\n\r\n<script>alert(1)</script>",
    "\"'><script>alert(1)</script>",
    "a&code=stolen&iss=https://evil.test#x",
    "\u2028\u202e\u00e4\U0001f600",
    "%0d%0aSet-Cookie:x=1",
]


@pytest.mark.threat("O17")
class TestOddTexts:
    @pytest.mark.parametrize("odd", ODD)
    async def test_a_state_comes_back_as_it_was(
        self, service: Service, shop: OAuthTestClient, ada: Headers, odd: str
    ) -> None:
        for answer in (
            await allow(service, shop, ada, state=odd),
            await arrive(service, shop, state=odd, scope="x"),
        ):
            assert is_at_client(answer)
            assert query_of(answer)["state"] == odd
            assert "set-cookie" not in answer.headers
            assert urlsplit(answer.headers["location"]).fragment == ""

    @pytest.mark.parametrize("odd", ODD)
    async def test_a_hint_is_data(self, service: Service, shop: OAuthTestClient, odd: str) -> None:
        arrived = await arrive(service, shop, login_hint=odd, ui_locales=odd)

        assert odd not in arrived.headers["location"]
        details = await service.client.get("/oauth2/request", params={"request": handle_of(arrived)})
        assert (details.json()["loginHint"], details.json()["uiLocales"]) == (odd, odd)

    async def test_long_values_are_refused(self, service: Service, shop: OAuthTestClient) -> None:
        refused = await arrive(service, shop, state="s" * 1025)
        assert error_of(refused) == "invalid_request"
        assert "state" not in query_of(refused)

        assert (await arrive(service, shop, state="s" * 50_000)).status_code == 414
        posted = await service.client.post(
            "/oauth2/authorize", data=parameters_of(shop, login_hint="h" * 8193)
        )
        assert (posted.status_code, error_of(posted)) == (303, "invalid_request")
        huge = await service.client.post("/oauth2/authorize", data=parameters_of(shop, state="s" * 100_000))
        assert huge.status_code == 413

    @pytest.mark.parametrize("odd", ODD)
    async def test_the_error_page_shows_text(self, service: Service, shop: OAuthTestClient, odd: str) -> None:
        refused = await arrive(service, shop, redirect_uri="https://evil.test/" + odd)
        page = await service.client.get(refused.headers["location"])

        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "<script>alert" not in page.text
        assert "https://evil.test/" not in page.headers.get("location", "")

    async def test_no_error_redirects_to_an_address_of_the_request(
        self, service: Service, shop: OAuthTestClient
    ) -> None:
        evil = "https://evil.test/"
        for changes in (
            {"redirect_uri": evil, "response_type": "token"},
            {"redirect_uri": evil, "scope": "x", "prompt": "none"},
            {"redirect_uri": [REDIRECT_URI, evil]},
            {"redirect_uri": [evil, REDIRECT_URI]},
            {"client_id": evil, "redirect_uri": evil},
            {"request_uri": evil, "redirect_uri": None},
            {"request_uri": evil, "redirect_uri": evil},
        ):
            assert (
                urlsplit((await arrive(service, shop, **changes)).headers["location"]).netloc
                == "localhost:8000"
            )


@pytest.mark.threat("O21")
class TestPushed:
    async def test_a_request_is_its_client_s(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        other = await add_client(service)
        uri = (await push(service, shop)).json()["request_uri"]

        refused = await arrive_by_uri(service, other, uri, ada)
        assert (page_of(refused), error_of(refused)) == ("/error", "invalid_request_uri")
        # It was not used up by that.
        assert page_of(await arrive_by_uri(service, shop, uri, ada)) == CONSENT

    async def test_it_ends_with_its_code(self, service: Service, ada: Headers) -> None:
        shop = await add_client(service, skip_consent=True)
        uri = (await push(service, shop)).json()["request_uri"]
        assert "code" in query_of(await arrive_by_uri(service, shop, uri, ada))

        again = await arrive_by_uri(service, shop, uri, ada)

        assert (page_of(again), error_of(again)) == ("/error", "invalid_request_uri")
        assert await codes(service) == 1

    @pytest.mark.parametrize("skips_consent", [True, False])
    async def test_it_ends_with_its_time(
        self, service: Service, ada: Headers, *, skips_consent: bool
    ) -> None:
        shop = await add_client(service, skip_consent=skips_consent)
        uri = (await push(service, shop)).json()["request_uri"]
        service.clock.advance(minutes=1)

        assert error_of(await arrive_by_uri(service, shop, uri, ada)) == "invalid_request_uri"
        assert await codes(service) == 0

    @pytest.mark.parametrize("guess", ["", "a" * 32, "a" * 31, "%00" * 32, "../" * 8, "a" * 5000])
    async def test_it_cannot_be_guessed(
        self, service: Service, shop: OAuthTestClient, ada: Headers, guess: str
    ) -> None:
        await push(service, shop)

        assert error_of(await arrive_by_uri(service, shop, uri_of(guess), ada)) == "invalid_request_uri"

    async def test_only_what_was_pushed_counts(self, service: Service, ada: Headers) -> None:
        shop = await add_client(
            service, skip_consent=True, redirect_uris=[REDIRECT_URI, "https://shop.example/two"]
        )
        uri = (await push(service, shop, scope="openid")).json()["request_uri"]

        done = await arrive_by_uri(
            service,
            shop,
            uri,
            ada,
            redirect_uri="https://shop.example/two",
            scope="openid email profile",
            state="other",
            code_challenge="b" * 43,
            prompt="none",
        )

        assert is_at_client(done)
        assert query_of(done)["state"] == STATE
        assert await service.rows("SELECT scopes, redirect_uri FROM oauth_code") == [("openid", REDIRECT_URI)]
        assert await service.rows("SELECT code FROM oauth_code WHERE code_challenge LIKE 'bb%'") == []

    async def test_a_request_that_waits_for_logout_is_none(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        uri = (await push(service, shop)).json()["request_uri"]
        await execute(service, "UPDATE oauth_request SET kind = 'logout'")

        assert error_of(await arrive_by_uri(service, shop, uri, ada)) == "invalid_request_uri"


@pytest.mark.threat("O22")
class TestForms:
    async def test_a_form_of_another_site_is_answered_by_a_redirect(
        self, service: Service, ada: Headers
    ) -> None:
        shop = await add_client(service, skip_consent=True)
        token = ada["Authorization"].removeprefix("Bearer ")
        foreign = {
            "Origin": "https://evil.test",
            "Sec-Fetch-Site": "cross-site",
            "Sec-Fetch-Mode": "navigate",
        }

        for headers in (
            {**foreign, "Cookie": f"service.session-token={token}"},
            {**foreign, **ada},
            {"Origin": "null"},
        ):
            posted = await service.client.post("/oauth2/authorize", data=parameters_of(shop), headers=headers)
            assert posted.status_code == 303
            assert page_of(posted) == "/oauth2/authorize"
            assert "access-control-allow-origin" not in posted.headers
        assert await codes(service) == 0

    async def test_pushing_ignores_cookies(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        token = ada["Authorization"].removeprefix("Bearer ")
        headers = {"Origin": "https://spa.example", "Cookie": f"service.session-token={token}"}

        answer = await service.client.post("/oauth2/par", data=parameters_of(shop), headers=headers)

        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "set-cookie" not in answer.headers


@pytest.mark.threat("O17")
async def test_pages_are_at_trusted_addresses(make_service: MakeService) -> None:
    with pytest.raises(ConfigurationError, match=r"oauth\.login_page"):
        await make_service({"oauth.login_page": "https://evil.test/login"})
