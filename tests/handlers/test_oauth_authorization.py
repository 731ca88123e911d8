"""The operations of openapi/paths/oauth.yaml that concern authorization requests."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from domain.ports import Cipher
from tests.conftest import Headers, MakeService, SignIn
from tests.handlers.steps import execute
from tests.oauth import REDIRECT_URI, OAuthTestClient, add_client, add_public_client
from tests.oauth_flow import (
    CHALLENGE,
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
from tests.service import BASE_URL, PASSWORD, Service

LOGIN = "/account/sign-in"
SIGN_UP = "/account/sign-up"
CONSENT = "/account/consent"
SELECT = "/account/select-account"
API = "https://api.shop.example"


@pytest.fixture
async def shop(service: Service) -> OAuthTestClient:
    """A web application."""
    return await add_client(service)


@pytest.fixture
async def ada(sign_in: SignIn) -> Headers:
    """The session of a user."""
    return await sign_in()


class TestJourney:
    """A user comes from a client, and goes back with a code."""

    @pytest.mark.operation("oauth.authorize", "oauth.consent")
    async def test_a_user_signs_in_consents_and_returns_with_a_code(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        arrived = await arrive(service, shop)
        assert (arrived.status_code, page_of(arrived)) == (302, LOGIN)
        handle = handle_of(arrived)

        signed_in = await arrive_by_uri(service, shop, uri_of(handle), ada)
        assert (page_of(signed_in), handle_of(signed_in)) == (CONSENT, handle)

        allowed = await consent(service, handle, ada)
        assert allowed.json()["redirect"] is True
        done = await service.client.get(allowed.json()["url"], headers=ada)

        assert is_at_client(done)
        assert query_of(done).keys() == {"code", "state", "iss"}
        assert query_of(done)["code"].startswith("gwc_")
        assert query_of(done)["state"] == STATE
        assert query_of(done)["iss"] == BASE_URL

    async def test_consent_is_asked_for_once(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        await allow(service, shop, ada)

        again = await arrive(service, shop, ada)

        assert "code" in query_of(again)

    async def test_a_page_has_what_the_official_client_sends_along(
        self, service: Service, shop: OAuthTestClient
    ) -> None:
        values = parse_qs(urlsplit((await arrive(service, shop)).headers["location"]).query)

        assert values.keys() == {"request", "ba_param", "sig"}
        assert values["ba_param"] == ["request", "ba_param"]
        assert len(values["sig"][0]) == 16

    async def test_a_client_of_the_operator_may_do_without_consent(
        self, service: Service, ada: Headers
    ) -> None:
        own = await add_client(
            service,
            skip_consent=True,
            scope="openid offline_access",
            grant_types=["authorization_code", "refresh_token"],
        )

        assert "code" in query_of(await arrive(service, own, ada, scope="openid"))
        assert page_of(await arrive(service, own, ada, scope="openid", prompt="consent")) == CONSENT
        # Access without the user is never given without a word to them.
        assert page_of(await arrive(service, own, ada, scope="openid offline_access")) == CONSENT

    async def test_the_code_is_stored_with_what_it_is_for(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        await allow(service, shop, ada, nonce="n-0S6")

        [row] = await service.rows("SELECT scopes, resources, redirect_uri, code_challenge FROM oauth_code")
        assert tuple(row) == ("openid email", "", REDIRECT_URI, CHALLENGE)
        [(stored,)] = await service.rows("SELECT nonce FROM oauth_code")
        assert b"n-0S6" not in bytes(stored)

    async def test_events_are_recorded(self, service: Service, shop: OAuthTestClient, ada: Headers) -> None:
        await allow(service, shop, ada)
        await arrive(service, shop, ada, scope="nothing")

        await service.services.audit_writer.flush()
        names = [name for (name,) in await service.rows("SELECT event FROM audit WHERE event LIKE 'oauth.%'")]
        assert sorted(names) == ["oauth.code_issued", "oauth.consent_granted", "oauth.request_refused"]

    @pytest.mark.operation("oauth.consent")
    async def test_a_user_refuses(self, service: Service, shop: OAuthTestClient, ada: Headers) -> None:
        handle = handle_of(await arrive(service, shop, ada))

        refused = await consent(service, handle, ada, accept=False)

        url = refused.json()["url"]
        assert url.startswith(REDIRECT_URI + "?")
        assert query_of(url).items() >= {"error": "access_denied", "state": STATE, "iss": BASE_URL}.items()
        assert error_of(await arrive_by_uri(service, shop, uri_of(handle), ada)) == "invalid_request_uri"

    async def test_a_user_allows_a_part(self, service: Service, shop: OAuthTestClient, ada: Headers) -> None:
        handle = handle_of(await arrive(service, shop, ada, scope="openid email profile"))

        allowed = await consent(service, handle, ada, scope="openid profile")
        await service.client.get(allowed.json()["url"], headers=ada)

        assert await service.rows("SELECT scopes FROM oauth_code") == [("openid profile",)]
        # What was not allowed is asked for again.
        assert page_of(await arrive(service, shop, ada, scope="openid email")) == CONSENT

    @pytest.mark.parametrize("scope", ["", "profile", "openid address", "openid  email", "openid profile"])
    async def test_other_scopes_cannot_be_allowed(
        self, service: Service, shop: OAuthTestClient, ada: Headers, scope: str
    ) -> None:
        handle = handle_of(await arrive(service, shop, ada))

        refused = await consent(service, handle, ada, scope=scope)

        assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_SCOPE")

    async def test_resources_are_part_of_the_consent(
        self, make_service: MakeService, sign_in: SignIn
    ) -> None:
        service = await make_service({"oauth.resources": f'{{"{API}": {{"name": "Orders"}}}}'})
        ada = await sign_in(on=service)
        shop = await add_client(service, resources=[API])
        await allow(service, shop, ada)

        arrived = await arrive(service, shop, ada, resource=API)
        assert page_of(arrived) == CONSENT
        details = await service.client.get("/oauth2/request", params={"request": handle_of(arrived)})
        assert details.json()["resources"] == [{"uri": API, "name": "Orders"}]

        await consent(service, handle_of(arrived), ada)
        assert "code" in query_of(await arrive(service, shop, ada, resource=[API, API]))
        assert error_of(await arrive(service, shop, ada, resource=API + "/other")) == "invalid_target"


class TestErrors:
    """Errors in the order in which clients may rely on them."""

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"client_id": None}, "invalid_client"),
            ({"client_id": "app_unknown"}, "invalid_client"),
            ({"redirect_uri": None}, "invalid_redirect_uri"),
            ({"redirect_uri": "https://shop.example/other"}, "invalid_redirect_uri"),
            ({"request_uri": uri_of("x" * 32)}, "invalid_request_uri"),
            ({"request_uri": uri_of("")}, "invalid_request_uri"),
            ({"request_uri": "https://shop.example/request", "redirect_uri": None}, "invalid_request_uri"),
            ({"state": ["one", "two"]}, "invalid_request"),
            ({"client_id": ["one", "two"]}, "invalid_request"),
            ({"nonce": "a\0b"}, "invalid_request"),
        ],
    )
    async def test_some_are_shown_here(
        self, service: Service, shop: OAuthTestClient, ada: Headers, changes: dict[str, Any], error: str
    ) -> None:
        refused = await arrive(service, shop, ada, **changes)

        assert page_of(refused) == "/error"
        assert error_of(refused) == error
        page = await service.client.get(refused.headers["location"])
        assert page.status_code == 200
        # The operator finds the request in the logs.
        assert refused.headers["x-request-id"] in page.text

    async def test_in_development_the_page_shows_both_addresses(
        self, service: Service, shop: OAuthTestClient
    ) -> None:
        refused = await arrive(service, shop, redirect_uri="https://shop.example/callback/<b>")

        page = await service.client.get(refused.headers["location"])

        assert '<code class="breaks">https://shop.example/callback/&lt;b&gt;</code>' in page.text
        assert f'<code class="breaks">{REDIRECT_URI}</code>' in page.text

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"response_type": None, "scope": "nothing"}, "invalid_request"),
            ({"response_type": "token"}, "unsupported_response_type"),
            ({"response_type": "code id_token"}, "unsupported_response_type"),
            ({"response_mode": "fragment", "response_type": "token"}, "invalid_request"),
            ({"max_age": "-1"}, "invalid_request"),
            ({"max_age": "315360001"}, "invalid_request"),
            ({"max_age": "\u0661"}, "invalid_request"),
            ({"nonce": "n" * 256}, "invalid_request"),
            ({"resource": [f"https://api{n}.example" for n in range(6)]}, "invalid_request"),
            ({"request": "eyJ", "registration": "{}"}, "request_not_supported"),
            ({"request_uri": "https://shop.example/request"}, "request_uri_not_supported"),
            ({"registration": "{}", "scope": None}, "registration_not_supported"),
            ({"scope": None}, "invalid_scope"),
            ({"scope": "openid nothing"}, "invalid_scope"),
            ({"scope": "openid  email"}, "invalid_scope"),
            ({"scope": "openid offline_access"}, "invalid_scope"),
            ({"resource": "https://api.example", "prompt": "more"}, "invalid_target"),
            ({"prompt": "more"}, "invalid_request"),
            ({"prompt": "none login"}, "invalid_request"),
            ({"id_token_hint": "eyJ.eyJ.x"}, "invalid_request"),
            ({"prompt": "none"}, "login_required"),
        ],
    )
    async def test_others_are_for_the_client(
        self, service: Service, shop: OAuthTestClient, changes: dict[str, Any], error: str
    ) -> None:
        refused = await arrive(service, shop, **changes)

        assert is_at_client(refused)
        assert query_of(refused).keys() == {"error", "error_description", "state", "iss"}
        assert (error_of(refused), query_of(refused)["state"]) == (error, STATE)

    async def test_a_client_without_the_grant_type(self, service: Service) -> None:
        program = await add_client(service, grant_types=["client_credentials"])

        assert error_of(await arrive(service, program, scope="nothing")) == "unauthorized_client"

    async def test_without_a_page_consent_is_required(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        assert error_of(await arrive(service, shop, ada, prompt="none")) == "consent_required"

        await allow(service, shop, ada)

        assert "code" in query_of(await arrive(service, shop, ada, prompt="none"))

    async def test_it_is_off_until_it_is_switched_on(self, make_service: MakeService) -> None:
        service = await make_service({"oauth.enabled": "false"})

        assert (await service.client.get("/oauth2/authorize")).status_code == 404


class TestPrompts:
    """What a client wants the user to be asked."""

    async def test_select_account(self, service: Service, shop: OAuthTestClient, ada: Headers) -> None:
        await allow(service, shop, ada)
        service.clock.advance(seconds=1)
        arrived = await arrive(service, shop, ada, prompt="select_account")
        assert page_of(arrived) == SELECT

        body = {"oauth_query": f"request={handle_of(arrived)}", "selected": True}
        selected = await service.post("/oauth2/continue", body, headers=ada)

        assert "code" in query_of(await service.client.get(selected.json()["url"], headers=ada))

    @pytest.mark.operation("oauth.continue")
    async def test_another_step_of_ones_own_page(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        handle = handle_of(await arrive(service, shop, ada))

        body = {"oauth_query": f"?request={handle}", "postLogin": True}
        answer = await service.post("/oauth2/continue", body, headers=ada)

        assert query_of(answer.json()["url"]) == {"client_id": shop.client_id, "request_uri": uri_of(handle)}

    async def test_create(
        self, service: Service, shop: OAuthTestClient, ada: Headers, sign_up: SignIn
    ) -> None:
        service.clock.advance(seconds=1)
        arrived = await arrive(service, shop, ada, prompt="create")
        assert page_of(arrived) == SIGN_UP
        handle = handle_of(arrived)

        body = {
            "name": "Eve",
            "email": "eve@example.com",
            "password": PASSWORD,
            "oauth_query": f"request={handle}",
        }
        joined = await service.post("/sign-up/email", body)

        eve = {"Authorization": f"Bearer {joined.json()['token']}"}
        assert page_of(await service.client.get(joined.json()["url"], headers=eve)) == CONSENT

    async def test_without_sign_up_the_login_page_is_shown(
        self, make_service: MakeService, sign_in: SignIn
    ) -> None:
        service = await make_service({"sign_up.enabled": "false"})
        shop = await add_client(service, skip_consent=True)

        assert page_of(await arrive(service, shop, prompt="create")) == LOGIN

    @pytest.mark.parametrize(
        ("kind", "registered", "uri"),
        [
            ("native", "http://127.0.0.1/callback", "http://127.0.0.1:51004/callback"),
            ("native", "com.example.app:/callback", "com.example.app:/callback"),
            ("native", "com.example.app:///callback", "com.example.app:///callback"),
            ("web", "http://localhost:3000/callback", "http://localhost:3000/callback"),
        ],
    )
    async def test_a_public_client_of_the_device_asks_each_time(
        self, service: Service, ada: Headers, kind: str, registered: str, uri: str
    ) -> None:
        program = await add_public_client(service, application_type=kind, redirect_uris=[registered])
        where = {"redirect_uri": uri}

        for _ in range(2):
            arrived = await arrive(service, program, ada, **where)
            assert page_of(arrived) == CONSENT
            allowed = await consent(service, handle_of(arrived), ada)
            done = await service.client.get(allowed.json()["url"], headers=ada)
            assert is_at_client(done, where["redirect_uri"])


class TestPushed:
    """Requests that the client sends by itself."""

    @pytest.mark.operation("oauth.push_request")
    async def test_a_pushed_request_waits_a_minute(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        pushed = await push(service, shop)
        assert pushed.status_code == 201
        assert pushed.headers["cache-control"] == "no-store"
        assert pushed.json()["expires_in"] == 60
        uri = pushed.json()["request_uri"]

        service.clock.advance(seconds=59)
        assert page_of(await arrive_by_uri(service, shop, uri)) == LOGIN
        # From now on it waits for the user.
        service.clock.advance(minutes=9)
        assert page_of(await arrive_by_uri(service, shop, uri, ada)) == CONSENT
        service.clock.advance(minutes=2)
        assert error_of(await arrive_by_uri(service, shop, uri, ada)) == "invalid_request_uri"

    async def test_one_that_does_not_arrive_is_gone(self, service: Service, shop: OAuthTestClient) -> None:
        uri = (await push(service, shop)).json()["request_uri"]

        service.clock.advance(seconds=60)

        assert error_of(await arrive_by_uri(service, shop, uri)) == "invalid_request_uri"

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"redirect_uri": "https://evil.example/"}, "invalid_redirect_uri"),
            ({"code_challenge": None}, "invalid_request"),
            ({"response_type": "token"}, "unsupported_response_type"),
            ({"request": "eyJ"}, "request_not_supported"),
            ({"request_uri": uri_of("x" * 32)}, "invalid_request"),
            ({"registration": "{}"}, "registration_not_supported"),
            ({"scope": "nothing"}, "invalid_scope"),
            ({"resource": "https://api.example"}, "invalid_target"),
            ({"state": ["one", "two"]}, "invalid_request"),
        ],
    )
    async def test_errors_are_json(
        self, service: Service, shop: OAuthTestClient, changes: dict[str, Any], error: str
    ) -> None:
        refused = await push(service, shop, **changes)

        assert (refused.status_code, refused.json()["error"]) == (400, error)

    async def test_the_client_authenticates(self, service: Service, shop: OAuthTestClient) -> None:
        refused = await service.client.post("/oauth2/par", data=parameters_of(shop))
        assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")

        program = await add_public_client(service)
        where = {"redirect_uri": "http://127.0.0.1:51004/callback"}
        assert (await push(service, program, **where)).status_code == 201

    async def test_credentials_are_not_stored(self, service: Service, shop: OAuthTestClient) -> None:
        await push(service, shop)

        [(payload,)] = await service.rows("SELECT payload FROM oauth_request")
        stored = service.services.port[Cipher].decrypt("oauth_request.payload", bytes(payload))
        assert stored is not None
        assert "shop.example" in stored
        assert (shop.secret or "") not in stored

    @pytest.mark.operation("oauth.authorize_by_post")
    async def test_a_form_goes_on_by_get(self, service: Service, shop: OAuthTestClient, ada: Headers) -> None:
        posted = await service.client.post("/oauth2/authorize", data=parameters_of(shop), headers=ada)
        assert posted.status_code == 303
        assert page_of(posted) == "/oauth2/authorize"
        assert page_of(await service.client.get(posted.headers["location"], headers=ada)) == CONSENT

        refused = await service.client.post("/oauth2/authorize", data=parameters_of(shop, scope="no"))
        assert (refused.status_code, error_of(refused)) == (303, "invalid_scope")

        uri = query_of(posted)["request_uri"]
        again = await service.client.post(
            "/oauth2/authorize", data={"client_id": shop.client_id, "request_uri": uri}
        )
        assert again.headers["location"] == posted.headers["location"]


class TestForPages:
    """What pages of one's own read and call."""

    @pytest.mark.operation("oauth.read_request")
    async def test_they_read_a_request(self, service: Service, shop: OAuthTestClient, ada: Headers) -> None:
        changes = {"login_hint": "ada@example.com", "ui_locales": "de en", "prompt": "login consent"}
        handle = handle_of(await arrive(service, shop, **changes))

        answer = await service.client.get("/oauth2/request", params={"request": handle})
        assert answer.json() == {
            "kind": "authorize",
            "client": {
                "client_id": shop.client_id,
                "client_name": "Shop",
                "redirect_uris": [],
                "verified": True,
            },
            "documentHost": None,
            "redirectHost": "shop.example",
            "scopes": [
                {"name": "openid", "description": "Confirm who you are"},
                {"name": "email", "description": "See your email address"},
            ],
            "resources": [],
            "offline": False,
            "prompt": ["login", "consent"],
            "loginHint": "ada@example.com",
            "uiLocales": "de en",
            "reason": "login",
            "createdAt": "2026-01-01T12:00:00.000Z",
            "user": None,
        }

        signed_in = await service.client.get("/oauth2/request", params={"request": handle}, headers=ada)
        assert signed_in.json()["user"]["email"] == "ada@example.com"
        # Nothing in the test takes time, so the session counts as newer than the request.
        assert signed_in.json()["reason"] is None

    @pytest.mark.parametrize("handle", ["x" * 32, "", "\u00e4" * 32])
    async def test_an_unknown_request(self, service: Service, ada: Headers, handle: str) -> None:
        query = {"oauth_query": f"request={handle}"}
        answers = [
            await service.client.get("/oauth2/request", params={"request": handle}),
            await service.post("/oauth2/continue", {**query, "selected": True}, headers=ada),
            await service.post("/oauth2/consent", {**query, "accept": True}, headers=ada),
            await service.post("/oauth2/consent", {**query, "accept": False}, headers=ada),
        ]

        assert [(one.status_code, one.json()["code"]) for one in answers] == [(404, "REQUEST_NOT_FOUND")] * 4

    async def test_a_request_that_the_client_may_not_make_any_more(
        self, service: Service, shop: OAuthTestClient, ada: Headers
    ) -> None:
        handle = handle_of(await arrive(service, shop, ada))
        await execute(service, "UPDATE oauth_client SET disabled_at = created_at")

        assert (await consent(service, handle, ada)).status_code == 404
        assert error_of(await arrive_by_uri(service, shop, uri_of(handle), ada)) == "invalid_client"

    @pytest.mark.operation("oauth_clients.read_public", "oauth_clients.read_public_before_login")
    async def test_they_read_a_client(self, service: Service, ada: Headers) -> None:
        members: dict[str, Any] = {"client_uri": "https://shop.example/", "contacts": ["help@shop.example"]}
        shop = await add_client(service, **members)
        public = {"client_id": shop.client_id, "client_name": "Shop", **members, "redirect_uris": []}
        handle = handle_of(await arrive(service, shop))

        query = {"client_id": shop.client_id}
        signed_in = await service.client.get("/oauth2/public-client", params=query, headers=ada)
        assert signed_in.json() == public
        body = {**query, "oauth_query": f"request={handle}"}
        before = await service.post("/oauth2/public-client-prelogin", body)
        assert before.json() == public

    async def test_an_unknown_client(self, service: Service, shop: OAuthTestClient, ada: Headers) -> None:
        other = await add_client(service)
        handle = handle_of(await arrive(service, other))
        answers: list[httpx.Response] = [
            await service.client.get("/oauth2/public-client", params={"client_id": "app_no"}, headers=ada)
        ]
        for oauth_query in (f"request={handle}", "request=no", ""):
            body = {"client_id": shop.client_id, "oauth_query": oauth_query}
            answers.append(await service.post("/oauth2/public-client-prelogin", body))

        assert [(one.status_code, one.json()["code"]) for one in answers] == [(404, "CLIENT_NOT_FOUND")] * 4
        assert (
            await service.client.get("/oauth2/public-client", params={"client_id": "x"})
        ).status_code == 401
