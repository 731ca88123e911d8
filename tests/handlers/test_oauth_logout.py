"""Logout that clients ask for: the endpoint, the answer of the user, and the hosted page."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.conftest import Headers, MakeService, SignIn
from tests.handlers.pages import SETTINGS as PAGES
from tests.handlers.pages import Browser
from tests.handlers.steps import ADA, EVE, bearer, refusal, works
from tests.oauth import OAuthTestClient, add_client
from tests.oauth_logout import id_token, session_of
from tests.service import BASE_URL, Service

PATH = "/oauth2/end-session"
CONFIRM = f"{PATH}/confirm"
RETURN = "https://shop.example/signed-out"
PAGE = f"{BASE_URL}/account/log-out"
ERROR = f"{BASE_URL}/error?error=invalid_request&"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """A service whose cookies the test's browser keeps."""
    return await make_service(PAGES)


@pytest.fixture
async def ada(sign_up: SignIn) -> Headers:
    """The session of a user."""
    return await sign_up(ADA)


@pytest.fixture
async def shop(service: Service) -> OAuthTestClient:
    """A client with an address to return to."""
    return await add_client(service, post_logout_redirect_uris=[RETURN])


async def ask(service: Service, by: Mapping[str, str] | None = None, /, **parameters: str) -> httpx.Response:
    """Send the browser to the endpoint."""
    answer = await service.get(PATH, params=parameters, headers=by)
    assert answer.status_code == 302, answer.text
    return answer


def location(answer: httpx.Response) -> str:
    """Return the target of a redirect."""
    target: str = answer.headers["location"]
    return target


def handle_in(url: str) -> str:
    """Return the handle of the stored request in the URL of the logout page."""
    assert url.startswith(f"{PAGE}?request="), url
    return parse_qs(urlsplit(url).query)["request"][0]


async def confirm(
    service: Service, handle: str, headers: Headers | None = None, *, accept: bool = True
) -> Any:
    answer = await service.post(CONFIRM, {"request": handle, "accept": accept}, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def hint_of(service: Service, client: OAuthTestClient, headers: Headers, **claims: Any) -> str:
    """Return an expired ID token of a session."""
    return await id_token(service, client.client_id, await session_of(service, headers), **claims)


@pytest.mark.operation("oauth.end_session")
class TestEndSession:
    @pytest.mark.threat("O18")
    @pytest.mark.both_databases
    async def test_an_old_id_token_of_the_session_ends_it(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        hint = await hint_of(service, shop, ada)

        answer = await ask(
            service,
            ada,
            id_token_hint=hint,
            post_logout_redirect_uri=RETURN,
            state="a&b=c",
            client_id=shop.client_id,
        )

        assert location(answer) == f"{RETURN}?state=a%26b%3Dc"
        assert "Max-Age=0" in answer.headers["set-cookie"]
        assert not await works(service, ada)
        [event] = await service.rows("SELECT * FROM audit WHERE event = 'sign_out'")
        assert event.outcome == "success"

    async def test_without_an_address_the_page_says_it_is_done(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        hint = await hint_of(service, shop, ada)

        assert location(await ask(service, ada, id_token_hint=hint, ui_locales="de fr")) == (
            f"{PAGE}?done=true&ui_locales=de%20fr"
        )

    @pytest.mark.threat("O18", "O17")
    @pytest.mark.parametrize(
        "address",
        [
            f"{RETURN}/",
            f"{RETURN}?x",
            "https://evil.example/",
            "javascript:alert(1)",
            "HTTPS://shop.example/signed-out",
        ],
    )
    async def test_an_address_that_is_not_registered_is_not_used(
        self, service: Service, ada: Headers, shop: OAuthTestClient, address: str
    ) -> None:
        hint = await hint_of(service, shop, ada)

        answer = await ask(service, ada, id_token_hint=hint, post_logout_redirect_uri=address)

        assert location(answer) == f"{PAGE}?done=true"

    async def test_without_a_session_it_leads_back_all_the_same(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        hint = await hint_of(service, shop, ada)

        answer = await ask(service, id_token_hint=hint, post_logout_redirect_uri=RETURN)

        assert (location(answer), "set-cookie" in answer.headers) == (RETURN, False)
        assert await works(service, ada)

    @pytest.mark.threat("O18")
    async def test_without_a_proof_nothing_ends(
        self, service: Service, ada: Headers, shop: OAuthTestClient, sign_up: SignIn
    ) -> None:
        """Whatever an image of a strange page may ask for."""
        other = await add_client(service, post_logout_redirect_uris=["https://other.example/"])
        eve = await sign_up(EVE)
        hint = await hint_of(service, shop, ada)
        requests: list[dict[str, str]] = [
            {},
            {"client_id": shop.client_id, "post_logout_redirect_uri": RETURN},
            {"id_token_hint": "x"},
            {"id_token_hint": hint[:-4] + "AAAA"},
            {"id_token_hint": hint, "client_id": other.client_id},
            {"id_token_hint": await hint_of(service, shop, eve)},
            {"id_token_hint": await hint_of(service, shop, ada, iss="https://evil.example")},
            {"id_token_hint": await hint_of(service, shop, ada, aud="app_unknown")},
            {"id_token_hint": await hint_of(service, shop, ada, aud=[shop.client_id])},
            {"id_token_hint": await hint_of(service, shop, ada, sid=None)},
            {"id_token_hint": await hint_of(service, shop, ada, aud=other.client_id)},
            {"logout_hint": ADA},
        ]

        for request in requests:
            handle_in(location(await ask(service, ada, **request)))

        assert await works(service, ada)

    @pytest.mark.threat("O18")
    async def test_another_session_of_the_user_proves_nothing(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        hint = await hint_of(service, shop, ada)
        newer = bearer(
            (
                await service.post("/sign-in/email", {"email": ADA, "password": "correct horse battery"})
            ).json()["token"]
        )

        handle_in(location(await ask(service, newer, id_token_hint=hint)))

        assert await works(service, ada)
        assert await works(service, newer)

    @pytest.mark.parametrize(
        "request_", [[("state", "a"), ("state", "b")], [("state", "\0")], [("request", "x")]]
    )
    async def test_a_faulty_request_leads_to_the_error_page(
        self, service: Service, request_: list[tuple[str, str]]
    ) -> None:
        assert location(await service.get(PATH, params=request_)).startswith(ERROR)

    async def test_it_is_off_with_the_provider(self, make_service: MakeService) -> None:
        service = await make_service({"oauth.enabled": "false"})

        assert (await service.get(PATH)).status_code == 404


@pytest.mark.operation("oauth.end_session_by_post")
class TestForm:
    async def test_a_form_goes_on_with_get(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        form = {"id_token_hint": await hint_of(service, shop, ada), "post_logout_redirect_uri": RETURN}

        answer = await service.client.post(PATH, data=form, headers={"Origin": "https://shop.example"})

        assert answer.status_code == 303
        assert await works(service, ada)
        url = location(answer)
        assert url.startswith(f"{BASE_URL}{PATH}?request=")
        assert location(await service.get(url, headers=ada)) == RETURN
        assert not await works(service, ada)
        assert location(await service.get(url, headers=ada)).startswith(ERROR)

    async def test_what_needs_a_question_keeps_its_request(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        form = {"client_id": shop.client_id, "post_logout_redirect_uri": RETURN, "state": "s"}
        url = location(await service.client.post(PATH, data=form))

        handle = handle_in(location(await service.get(url, headers=ada)))

        assert handle in url
        assert (await confirm(service, handle, ada))["url"] == f"{RETURN}?state=s"

    async def test_a_faulty_form_leads_to_the_error_page(self, service: Service) -> None:
        answer = await service.client.post(
            PATH, content=b"state=a&state=b", headers={"Content-Type": "application/x-www-form-urlencoded"}
        )

        assert answer.status_code == 303
        assert location(answer).startswith(ERROR)


@pytest.mark.operation("oauth.confirm_end_session")
class TestConfirmation:
    @pytest.mark.both_databases
    async def test_the_press_signs_out(self, service: Service, ada: Headers, shop: OAuthTestClient) -> None:
        request = {"client_id": shop.client_id, "post_logout_redirect_uri": RETURN, "state": "s"}
        handle = handle_in(location(await ask(service, ada, **request)))

        answer = await service.post(CONFIRM, {"request": handle, "accept": True}, headers=ada)

        assert answer.json() == {"redirect": True, "url": f"{RETURN}?state=s"}
        assert "Max-Age=0" in answer.headers["set-cookie"]
        assert not await works(service, ada)
        again = await service.post(CONFIRM, {"request": handle, "accept": True})
        assert refusal(again) == (404, "REQUEST_NOT_FOUND", "Request not found")

    @pytest.mark.threat("O18")
    async def test_an_address_of_another_client_is_not_used(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        other = await add_client(service)
        request = {"client_id": other.client_id, "post_logout_redirect_uri": RETURN}
        handle = handle_in(location(await ask(service, ada, **request)))

        assert (await confirm(service, handle, ada))["url"] == f"{PAGE}?done=true"

    async def test_a_user_can_stay(self, service: Service, ada: Headers, shop: OAuthTestClient) -> None:
        request = {"client_id": shop.client_id, "post_logout_redirect_uri": RETURN}
        handle = handle_in(location(await ask(service, ada, **request)))

        assert (await confirm(service, handle, ada, accept=False))["url"] == f"{BASE_URL}/account"
        assert await works(service, ada)
        gone = await service.post(CONFIRM, {"request": handle, "accept": True}, headers=ada)
        assert gone.status_code == 404

    async def test_without_a_session_the_address_needs_the_press_too(
        self, service: Service, shop: OAuthTestClient
    ) -> None:
        request = {"client_id": shop.client_id, "post_logout_redirect_uri": RETURN}
        handle = handle_in(location(await ask(service, None, **request)))

        assert (await confirm(service, handle))["url"] == RETURN

    @pytest.mark.parametrize("handle", ["x", "x" * 32, "\u20ac"])
    async def test_an_unknown_request_is_refused(self, service: Service, handle: str) -> None:
        answer = await service.post(CONFIRM, {"request": handle, "accept": True})

        assert refusal(answer)[:2] == (404, "REQUEST_NOT_FOUND")

    async def test_a_request_expires(self, service: Service, ada: Headers) -> None:
        handle = handle_in(location(await ask(service, ada)))
        service.clock.advance(minutes=10)

        answer = await service.post(CONFIRM, {"request": handle, "accept": True}, headers=ada)

        assert refusal(answer)[:2] == (404, "REQUEST_NOT_FOUND")
        assert await works(service, ada)

    @pytest.mark.threat("O6")
    async def test_a_foreign_page_cannot_press(
        self, service: Service, ada: Headers, shop: OAuthTestClient
    ) -> None:
        handle = handle_in(location(await ask(service, ada)))
        cookie = {"Cookie": f"service.session-token={ada['Authorization'].removeprefix('Bearer ')}"}

        answer = await service.post(
            CONFIRM, {"request": handle, "accept": True}, headers={**cookie, "Origin": "https://evil.example"}
        )

        assert answer.status_code == 403
        assert await works(service, ada)

    async def test_pages_can_read_it(self, service: Service, ada: Headers, shop: OAuthTestClient) -> None:
        request = {"client_id": shop.client_id, "post_logout_redirect_uri": RETURN, "logout_hint": ADA}
        handle = handle_in(location(await ask(service, ada, **request)))
        bare = handle_in(location(await ask(service, ada)))

        known = (await service.get("/oauth2/request", params={"request": handle}, headers=ada)).json()
        unknown = (await service.get("/oauth2/request", params={"request": bare})).json()

        assert (known["kind"], known["client"]["client_name"], known["redirectHost"], known["loginHint"]) == (
            "logout",
            "Shop",
            "shop.example",
            ADA,
        )
        assert (unknown["client"], unknown["redirectHost"], unknown["user"]) == (None, None, None)

    async def test_its_parameters_are_encrypted(self, service: Service, ada: Headers) -> None:
        await ask(service, ada, state="secret-state")

        [row] = await service.rows("SELECT payload FROM oauth_request")
        assert b"secret-state" not in row.payload


@pytest.mark.operation("pages.show_log_out", "pages.log_out")
class TestPage:
    @pytest.fixture
    async def browser(self, service: Service, ada: Headers) -> Browser:
        """A browser that is signed in."""
        service.client.cookies.set("service.session-token", ada["Authorization"].removeprefix("Bearer "))
        return Browser(service)

    async def test_it_names_the_client_and_leads_back(
        self, service: Service, browser: Browser, ada: Headers, shop: OAuthTestClient
    ) -> None:
        page = await browser.open(f"{PATH}?client_id={shop.client_id}&post_logout_redirect_uri={RETURN}")

        for text in ("Shop asks you to sign out", f"signed in as {ADA}", "return to shop.example"):
            assert text in page.text
        page = await browser.submit("/account/log-out", accept="true")
        assert page.path == RETURN
        assert not await works(service, ada)

    async def test_staying_is_possible(
        self, service: Service, browser: Browser, ada: Headers, shop: OAuthTestClient
    ) -> None:
        await browser.open(f"{PATH}?client_id={shop.client_id}")

        page = await browser.submit("/account/log-out", accept="false")

        assert page.path == "/account"
        assert await works(service, ada)

    async def test_done(self, service: Service, browser: Browser, ada: Headers) -> None:
        await browser.open(PATH)

        page = await browser.submit("/account/log-out", accept="true")

        assert (page.path, page.title) == ("/account/log-out?done=true", "Signed out · Gatewright")
        assert not await works(service, ada)

    @pytest.mark.parametrize("query", ["", "?request=x", "?request=" + "x" * 32, "?done=false"])
    async def test_a_request_that_is_gone(self, service: Service, browser: Browser, query: str) -> None:
        page = await browser.open(f"/account/log-out{query}")

        assert "has expired" in page.text
        assert page.links["Sign out"] == "/account/sign-out"

    @pytest.mark.threat("O17")
    async def test_the_name_of_a_client_is_text(self, service: Service, browser: Browser) -> None:
        client = await add_client(service, client_name="<script>alert(1)</script>")

        await browser.open(f"{PATH}?client_id={client.client_id}")
        answer = await service.get(browser.page.path)

        assert "<script>alert" not in answer.text
        assert "&lt;script&gt;alert" in answer.text


async def test_a_page_of_the_operator_gets_the_request(make_service: MakeService, sign_up: SignIn) -> None:
    service = await make_service({"oauth.logout_page": "http://localhost:8000/bye"})
    answer = await service.get(PATH)

    assert location(answer).startswith("http://localhost:8000/bye?request=")
