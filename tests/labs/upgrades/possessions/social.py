"""Accounts at providers."""

import asyncio

import httpx

from tests.labs.provider.steps import as_user
from tests.labs.upgrades.possessions import Story, possession
from tests.labs.upgrades.site import Site, cookies_of
from tests.security.second_factor import SESSION
from tests.service import NO_TLS

PROVIDER = "test"


async def _begin(site: Site, email: str) -> tuple[str, dict[str, str]]:
    """Go to the provider and be sent back; return the path of the callback, and the cookies of the browser."""
    subject = email.partition("@")[0]
    await asyncio.to_thread(as_user, site.provider, email, subject)
    body = {"provider": PROVIDER, "callbackURL": "/welcome"}
    begun = await site.request("POST", "/sign-in/social", json=body)
    async with httpx.AsyncClient(trust_env=False, verify=NO_TLS) as browser:
        visited = await browser.get(begun.json()["url"])
    return httpx.URL(visited.headers["location"]).raw_path.decode(), cookies_of(begun)


async def _finish(site: Site, flow: tuple[str, dict[str, str]]) -> str:
    """Come back to the service; return the token of the session."""
    path, cookies = flow
    answer = await site.request("GET", path, cookies=cookies)
    assert answer.headers["location"].endswith("/welcome"), answer.headers["location"]
    return cookies_of(answer)[SESSION]


@possession(since="0003")
async def linked_account(site: Site) -> Story:
    """A linked account signs in as the same user, and the tokens of the provider can be used and refreshed."""
    email = site.email("linked")
    session = await _finish(site, await _begin(site, email))
    user = (await site.user(session))["id"]
    held = await site.post("/get-access-token", session, providerId=PROVIDER)
    site = yield
    found = await site.post("/get-access-token", session, providerId=PROVIDER)
    assert found["accessToken"] == held["accessToken"]
    await site.post("/refresh-token", session, providerId=PROVIDER)
    again = await _finish(site, await _begin(site, email))
    assert (await site.user(again))["id"] == user


@possession(since="0003")
async def sign_in_at_the_provider(site: Site) -> Story:
    """A sign-in that is at the provider comes back to another process."""
    email = site.email("away")
    flow = await _begin(site, email)
    site = yield
    assert (await site.user(await _finish(site, flow)))["email"] == email


@possession(since="0003")
async def used_id_token(site: Site) -> Story:
    """An ID token of a provider with a nonce signs in once."""
    email = site.email("token")
    await asyncio.to_thread(as_user, site.provider, email, email.partition("@")[0])
    id_token = await asyncio.to_thread(site.provider.mint, claims={"nonce": "n"})
    body = {"provider": PROVIDER, "idToken": {"token": id_token, "nonce": "n"}}
    await site.post("/sign-in/social", **body)
    site = yield
    again = await site.request("POST", "/sign-in/social", json=body)
    assert again.status_code == 401, again.text
