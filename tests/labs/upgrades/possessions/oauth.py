"""Applications that sign users in with this service: clients, tokens, consents, devices and logout."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import func, select, update
from sqlmodel import col

from models.logout_delivery import LogoutDelivery
from models.oauth_code import OauthCode
from models.oauth_request import OauthRequest
from tests.labs.faults.asking import until
from tests.labs.faults.releases import run
from tests.labs.upgrades.possessions import Story, possession
from tests.labs.upgrades.site import JSON, Site, query_of
from tests.oauth_flow import CHALLENGE, VERIFIER
from tests.receiver import respond

REDIRECT_URI = "https://shop.example/callback"
DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
SCOPE = "openid email offline_access"
HOUR = timedelta(hours=1)
API = "https://api.example.com"
"""A resource for which access tokens are signed, by a setting of the service."""


async def _client(site: Site, **members: object) -> dict[str, str]:
    """Create a client; return its credentials."""
    root = await site.administrator()
    sent = {
        "client_name": "Shop",
        "redirect_uris": [REDIRECT_URI],
        "grant_types": ["authorization_code", "refresh_token"],
        "scope": SCOPE,
        **members,
    }
    made = await site.post("/oauth2/create-client", root, **sent)
    return {name: made[name] for name in ("client_id", "client_secret") if made.get(name)}


async def _push(site: Site, client: dict[str, str], **more: str) -> dict[str, str]:
    """Push an authorization request; return the parameters with which the browser opens it."""
    sent = {
        "response_type": "code",
        "redirect_uri": REDIRECT_URI,
        "scope": SCOPE,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        **more,
    }
    pushed = await site.post_form("/oauth2/par", "", **sent, **client)
    return {"client_id": client["client_id"], "request_uri": pushed["request_uri"]}


async def _authorize(site: Site, session: str, request: dict[str, str]) -> str:
    """Consent to a pushed request; return its code."""
    page = await site.request("GET", "/oauth2/authorize", session, params=request)
    oauth_query = f"request={query_of(page.headers['location'])['request']}"
    await site.post("/oauth2/consent", session, oauth_query=oauth_query, accept=True)
    done = await site.request("GET", "/oauth2/authorize", session, params=request)
    return query_of(done.headers["location"])["code"]


async def _redeem(site: Site, client: dict[str, str], code: str) -> JSON:
    sent = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}
    tokens: JSON = await site.post_form("/oauth2/token", "", **sent, **client)
    return tokens


async def _prolong(site: Site, table: type[OauthRequest | OauthCode], client: dict[str, str]) -> None:
    """Extend the expiry of requests or codes: an upgrade on a slow machine takes more than their minute."""
    later = update(table).values(expires_at=datetime.now(UTC) + HOUR)
    await site.place.rows(later.where(col(table.client_id) == client["client_id"]))


async def _set_next_attempt(site: Site, client: dict[str, str], when: datetime) -> None:
    attempts = update(LogoutDelivery).values(next_attempt=when)
    await site.place.rows(attempts.where(col(LogoutDelivery.client_id) == client["client_id"]))


async def _is_active(site: Site, client: dict[str, str], token: str) -> bool:
    return bool((await site.post_form("/oauth2/introspect", "", token=token, **client))["active"])


@possession(since="0022")
async def authorization_request(site: Site) -> Story:
    """A pushed authorization request is continued by another process."""
    client = await _client(site)
    session = await site.join(site.email("request"), verified=True)
    request = await _push(site, client)
    await _prolong(site, OauthRequest, client)
    site = yield
    assert (await _redeem(site, client, await _authorize(site, session, request)))["access_token"]


@possession(since="0022")
async def authorization_code(site: Site) -> Story:
    """A code is redeemed, once."""
    client = await _client(site)
    session = await site.join(site.email("code"), verified=True)
    code = await _authorize(site, session, await _push(site, client))
    await _prolong(site, OauthCode, client)
    site = yield
    assert (await _redeem(site, client, code))["access_token"]
    sent = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, **client}
    assert (await site.request("POST", "/oauth2/token", data=sent)).status_code == 400


@possession(since="0022")
async def refresh_token(site: Site) -> Story:
    """Access and refresh tokens of an application can be used, and the consent is not asked for again."""
    client, email = await _client(site), site.email("refresh")
    session = await site.join(email, verified=True)
    tokens = await _redeem(site, client, await _authorize(site, session, await _push(site, client)))
    site = yield
    assert (await site.get("/oauth2/userinfo", tokens["access_token"]))["email"] == email
    sent = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], **client}
    newer = await site.post_form("/oauth2/token", "", **sent)
    assert await _is_active(site, client, newer["access_token"])
    [consent] = await site.get("/oauth2/get-consents", session)
    assert consent["clientId"] == client["client_id"]
    request = await _push(site, client)
    again = await site.request("GET", "/oauth2/authorize", session, params=request)
    assert "code" in query_of(again.headers["location"])


@possession(since="0022")
async def revoked_token(site: Site) -> Story:
    """A signed access token that was revoked stays so."""
    client = await _client(site, resources=[API], scope=f"{SCOPE} read")
    session = await site.join(site.email("revoked"), verified=True)
    request = await _push(site, client, scope="openid read", resource=API)
    token = (await _redeem(site, client, await _authorize(site, session, request)))["access_token"]
    assert await _is_active(site, client, token)
    await site.post_form("/oauth2/revoke", "", token=token, **client)
    site = yield
    assert not await _is_active(site, client, token)


@possession(since="0022")
async def registration_token(site: Site) -> Story:
    """A token that the operator has created registers a client."""
    words = ("registration-tokens", "create", "ci")
    created = await run(site.place.directory, site.settings, *words, release=site.commands)
    assert created.status == 0, created.output
    # A release that does not know all settings warns of them, before and after.
    token = next(word for word in created.output.split() if word.startswith("gwi_"))
    site = yield
    sent = {"client_name": "Tool", "redirect_uris": [REDIRECT_URI]}
    registered = await site.post("/oauth2/register", token, **sent)
    assert registered["client_id"]


@possession(since="0022")
async def device(site: Site) -> Story:
    """A device that shows a code gets its tokens once the user has approved it."""
    members = {"redirect_uris": [], "grant_types": [DEVICE_CODE], "token_endpoint_auth_method": "none"}
    client = await _client(site, **members, application_type="native", scope="openid email")
    session = await site.join(site.email("device"), verified=True)
    codes = await site.post_form("/device/code", "", scope="openid email", **client)
    site = yield
    await site.post("/device/approve", session, userCode=codes["user_code"])
    sent = {"grant_type": DEVICE_CODE, "device_code": codes["device_code"], **client}
    assert (await site.post_form("/oauth2/token", "", **sent))["access_token"]


@possession(since="0022")
async def logout(site: Site) -> Story:
    """An application learns of the end of a session, also if it could not be reached before."""
    path = f"/{site.email('logout')}"
    client = await _client(site, backchannel_logout_uri=site.receiver.url(path))
    email = site.email("logout")
    sessions = [await site.join(email, verified=True), (await site.sign_in(email))["token"]]
    for session in sessions:
        # The user has consented after the first time.
        request = await _push(site, client, scope="openid email")
        page = await site.request("GET", "/oauth2/authorize", session, params=request)
        query = query_of(page.headers["location"])
        code = query.get("code") or await _authorize(site, session, request)
        await _redeem(site, client, code)
    site.receiver.script.append(respond(503))
    await site.post("/sign-out", sessions[0])

    async def is_told(times: int) -> bool:
        return [request.target for request in site.receiver.requests].count(path) >= times

    async def is_postponed(site: Site) -> bool:
        counted = select(func.count()).where(
            col(LogoutDelivery.attempts) > 0, col(LogoutDelivery.lease_until).is_(None)
        )
        [[number]] = await site.place.rows(
            counted.where(col(LogoutDelivery.client_id) == client["client_id"])
        )
        return bool(number)

    await until(lambda: is_told(1))
    await until(lambda: is_postponed(site))
    await _set_next_attempt(site, client, datetime.now(UTC) + HOUR)
    site = yield
    # The end of another session has the process look for what is due.
    await _set_next_attempt(site, client, datetime.now(UTC))
    await site.post("/sign-out", sessions[1])
    await until(lambda: is_told(3))
