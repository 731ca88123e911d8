"""`oauth_query` of the operations that sign in: they lead back to the authorization request that a page is about."""

from collections.abc import Awaitable, Callable

import httpx
import pytest

from tests.authenticator import Authenticator
from tests.conftest import MakeService
from tests.handlers import passkey_steps
from tests.handlers.mailed import BY_MAIL, code_for, link_to, open_link, use_code
from tests.handlers.steps import ADA, bearer, join, verify
from tests.labs.provider import steps as provider_steps
from tests.labs.provider.process import ProviderProcess
from tests.oauth import OAuthTestClient, add_client
from tests.oauth_flow import arrive, handle_of, page_of, query_of, uri_of
from tests.security import second_factor
from tests.service import BASE_URL, PASSWORD, Service

HOME = "/welcome"
SESSION = "service.session-token"
Way = Callable[[Service, str], Awaitable[httpx.Response]]


async def by_sign_up(service: Service, oauth_query: str) -> httpx.Response:
    body = {"name": "Eve", "email": "eve@example.com", "password": PASSWORD, "callbackURL": HOME}
    return await service.post("/sign-up/email", {**body, "oauth_query": oauth_query})


async def by_password(service: Service, oauth_query: str) -> httpx.Response:
    body = {"email": ADA, "password": PASSWORD, "callbackURL": HOME, "oauth_query": oauth_query}
    return await service.post("/sign-in/email", body)


async def by_username(service: Service, oauth_query: str) -> httpx.Response:
    await join(service, "grace@example.com", username="grace")
    body = {"username": "grace", "password": PASSWORD, "callbackURL": HOME, "oauth_query": oauth_query}
    return await service.post("/sign-in/username", body)


async def by_email_code(service: Service, oauth_query: str) -> httpx.Response:
    return await use_code(service, await code_for(service), oauth_query=oauth_query)


async def by_magic_link(service: Service, oauth_query: str) -> httpx.Response:
    return await open_link(service, await link_to(service), oauth_query=oauth_query)


async def by_confirmed_magic_link(service: Service, oauth_query: str) -> httpx.Response:
    body = {"token": await link_to(service), "callbackURL": HOME, "oauth_query": oauth_query}
    return await service.post("/magic-link/verify", body)


async def by_passkey(service: Service, oauth_query: str) -> httpx.Response:
    device = Authenticator()
    await passkey_steps.add(service, await second_factor_free_session(service), device)
    return await passkey_steps.use(service, device, oauth_query=oauth_query)


async def second_factor_free_session(service: Service) -> dict[str, str]:
    """Return a session of Ada."""
    answer = await service.post("/sign-in/email", {"email": ADA, "password": PASSWORD})
    service.client.cookies.clear()
    return bearer(answer.json()["token"])


WAYS = [
    pytest.param(by_sign_up, marks=pytest.mark.operation("authentication.sign_up_email")),
    pytest.param(by_password, marks=pytest.mark.operation("authentication.sign_in_email")),
    pytest.param(by_username, marks=pytest.mark.operation("authentication.sign_in_username")),
    pytest.param(by_email_code, marks=pytest.mark.operation("email_codes.sign_in")),
    pytest.param(by_magic_link, marks=pytest.mark.operation("magic_links.verify")),
    pytest.param(by_confirmed_magic_link, marks=pytest.mark.operation("magic_links.confirm")),
    pytest.param(by_passkey, marks=pytest.mark.operation("passkeys.sign_in")),
]


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """A service with Ada."""
    service = await make_service(BY_MAIL)
    await join(service, ADA)
    await verify(service, ADA)
    service.client.cookies.clear()
    return service


@pytest.fixture
async def shop(service: Service) -> OAuthTestClient:
    """An application."""
    return await add_client(service)


async def continue_url(service: Service, shop: OAuthTestClient) -> tuple[str, str]:
    """Return the query of a page of a new request, and where it continues."""
    handle = handle_of(await arrive(service, shop))
    here = httpx.URL(
        f"{BASE_URL}/oauth2/authorize", params={"client_id": shop.client_id, "request_uri": uri_of(handle)}
    )
    return f"request={handle}&ba_param=request&sig=x", str(here)


@pytest.mark.parametrize("way", WAYS)
async def test_a_sign_in_leads_back_to_the_request(service: Service, shop: OAuthTestClient, way: Way) -> None:
    oauth_query, here = await continue_url(service, shop)

    answer = await way(service, oauth_query)

    assert answer.status_code == 200, answer.text
    assert (answer.json()["redirect"], httpx.URL(answer.json()["url"])) == (True, httpx.URL(here))
    session = bearer(answer.headers["set-auth-token"])
    service.client.cookies.clear()
    assert page_of(await service.client.get(answer.json()["url"], headers=session)) == "/account/consent"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("oauth_query", ["", "request=" + "x" * 32, "sig=x", "%", "request=a&request=b"])
async def test_an_unknown_request_is_ignored(service: Service, way: Way, oauth_query: str) -> None:
    if way is not by_password and oauth_query != "sig=x":
        pytest.skip("one of them is enough for the others")

    answer = await way(service, oauth_query)

    assert answer.status_code == 200, answer.text
    assert answer.json().get("url") in (None, HOME, BASE_URL + HOME)


async def test_a_link_with_a_callback_redirects_to_the_request(
    service: Service, shop: OAuthTestClient
) -> None:
    oauth_query, here = await continue_url(service, shop)

    answer = await open_link(service, await link_to(service), callbackURL=HOME, oauth_query=oauth_query)

    assert (answer.status_code, httpx.URL(answer.headers["location"])) == (302, httpx.URL(here))


async def test_the_confirming_page_keeps_the_request(service: Service, shop: OAuthTestClient) -> None:
    oauth_query, _ = await continue_url(service, shop)

    answer = await open_link(
        service, await link_to(service), {"Sec-Fetch-Mode": "navigate"}, oauth_query=oauth_query
    )

    assert query_of(answer)["oauth_query"] == oauth_query


@pytest.mark.operation("two_factor.verify_totp", "two_factor.verify_otp", "two_factor.verify_backup_code")
@pytest.mark.parametrize("method", second_factor.METHODS)
async def test_the_second_step_leads_back(service: Service, shop: OAuthTestClient, method: str) -> None:
    owner = await second_factor.enrol(service, "grace@example.com")
    service.client.cookies.clear()
    oauth_query, here = await continue_url(service, shop)
    body = {"email": owner.email, "password": PASSWORD, "oauth_query": oauth_query}
    pending = await service.post("/sign-in/email", body)
    assert (pending.json()["pending"], pending.json()["url"]) == (True, None)

    service.clock.advance(seconds=30)
    headers = bearer(pending.json()["token"])
    code = await second_factor.right_code(service, owner, method, headers)
    done = await second_factor.enter(service, method, code, headers, oauth_query=oauth_query)

    assert done.status_code == 200, done.text
    assert (done.json()["redirect"], httpx.URL(done.json()["url"])) == (True, httpx.URL(here))


@pytest.mark.operation("social.sign_in", "social.receive_callback")
async def test_a_sign_in_through_a_provider_comes_back_to_the_request(
    social: Service, provider: ProviderProcess
) -> None:
    provider_steps.as_user(provider, ADA, "1001")
    shop = await add_client(social)
    oauth_query, here = await continue_url(social, shop)

    answer = await provider_steps.sign_in(
        social, callbackURL=HOME, newUserCallbackURL="/new", oauth_query=oauth_query
    )

    assert httpx.URL(answer.headers["location"]) == httpx.URL(here)
    session = second_factor.cookie(SESSION, second_factor.set_cookies(answer)[SESSION])
    assert page_of(await social.client.get(here, headers=session)) == "/account/consent"


async def test_the_request_of_another_kind_or_one_that_has_ended_is_ignored(
    service: Service, shop: OAuthTestClient
) -> None:
    oauth_query, _ = await continue_url(service, shop)
    service.clock.advance(minutes=10)

    assert (await by_password(service, oauth_query)).json()["url"] == HOME


async def test_without_the_provider_nothing_is_looked_up(make_service: MakeService) -> None:
    service = await make_service({"oauth.enabled": "false"})
    await join(service, ADA)

    assert (await by_password(service, "request=" + "x" * 32)).json()["url"] == HOME
