"""A journey through the service on which users do all that users do to their accounts and sessions."""

from typing import Any

import httpx

from tests import oauth_codes, oauth_flow
from tests.authenticator import Authenticator
from tests.conftest import Headers
from tests.handlers import device_steps, passkey_steps, steps
from tests.handlers.device_steps import APPROVE, DENY
from tests.handlers.steps import ADA, EVE, NEW_PASSWORD, bearer
from tests.labs.provider import steps as provider_steps
from tests.labs.provider.process import ProviderProcess
from tests.oauth import OAuthTestClient, add_client
from tests.oauth_codes import EVERYTHING
from tests.security import second_factor
from tests.service import PASSWORD, Service

OFFLINE = "openid email offline_access"


async def live(service: Service, provider: ProviderProcess) -> None:
    """Do all of it."""
    await _come_from_elsewhere(service, provider)
    await _use_applications(service)
    await _stay(service)


async def _come_from_elsewhere(service: Service, provider: ProviderProcess) -> None:
    """Join by an account of a provider and come again, link another one, use its tokens, and part with it."""
    provider_steps.as_user(provider, "grace@example.com", "2001")
    await provider_steps.enter(service)
    session = await provider_steps.enter(service)
    provider_steps.as_user(provider, "grace@example.com", "2002")
    linked = await provider_steps.link(service, session, "plain")
    assert provider_steps.error_of(linked) is None, linked.headers["location"]
    for path in ("/get-access-token", "/refresh-token"):
        given = await service.post(path, {"providerId": "test"}, headers=session)
        assert given.status_code == 200, given.text
    parted = await service.post("/unlink-account", {"providerId": "plain"}, headers=session)
    assert parted.status_code == 200, parted.text


async def _use_applications(service: Service) -> None:
    """Authorize applications in a browser and on a device, use and revoke their tokens, and end their access."""
    ann = await steps.join(service, "ann@example.com")
    shop = await add_client(service, **EVERYTHING)
    await _grant(service, shop, ann)
    await _grant_to_device(service, ann)
    await _log_out(service, shop, ann)


async def _grant(service: Service, shop: OAuthTestClient, ann: Headers) -> None:
    """Go from pushed requests to tokens, use them, use a code and a refresh token twice, and take the access back."""
    pushed = (await oauth_flow.push(service, shop, scope=OFFLINE)).json()["request_uri"]
    handle = oauth_flow.handle_of(await oauth_flow.arrive_by_uri(service, shop, pushed, ann))
    asked = {"selected": True, "oauth_query": f"request={handle}"}
    _is_done(await service.post("/oauth2/continue", asked, headers=ann))
    _is_done(await oauth_flow.consent(service, handle, ann))
    continued = await oauth_flow.arrive_by_uri(service, shop, oauth_flow.uri_of(handle), ann)
    code = oauth_flow.query_of(continued)["code"]
    verified = {"verifier": oauth_flow.VERIFIER}
    tokens = _is_done(await oauth_codes.redeem(service, shop, code, **verified)).json()
    fresh = _is_done(await oauth_codes.refresh(service, shop, tokens["refresh_token"])).json()
    _is_done(await oauth_codes.refresh(service, shop, fresh["refresh_token"]))
    _is_done(await oauth_codes.ask(service, shop, "client_credentials", scope="list"))
    for path in ("/oauth2/introspect", "/oauth2/revoke"):
        _is_done(await service.client.post(path, data={"token": tokens["access_token"], **shop.form}))
    await oauth_codes.refresh(service, shop, tokens["refresh_token"])
    service.clock.advance(minutes=1)
    await oauth_codes.redeem(service, shop, code, **verified)
    refused = oauth_flow.handle_of(await oauth_flow.arrive(service, shop, ann, prompt="consent"))
    _is_done(await oauth_flow.consent(service, refused, ann, accept=False))
    [kept] = _is_done(await service.get("/oauth2/get-consents", headers=ann)).json()
    narrowed = {"id": kept["id"], "update": {"scopes": ["openid"]}}
    _is_done(await service.post("/oauth2/update-consent", narrowed, headers=ann))
    _is_done(await service.post("/oauth2/delete-consent", {"id": kept["id"]}, headers=ann))


async def _grant_to_device(service: Service, ann: Headers) -> None:
    """Approve a device that wants tokens and one that wants a session, and deny a third."""
    for gets_session, path in ((False, APPROVE), (True, APPROVE), (False, DENY)):
        television = await device_steps.add_television(service, gets_session=gets_session)
        started = await device_steps.start(service, television)
        redeem = device_steps.poll if gets_session else device_steps.redeem
        await redeem(service, television, started["device_code"])
        shown = await service.get("/device", params={"user_code": started["user_code"]}, headers=ann)
        _is_done(shown)
        _is_done(await device_steps.decide(service, started["user_code"], ann, path))
        service.clock.advance(seconds=30)
        await redeem(service, television, started["device_code"])
        service.client.cookies.clear()


async def _log_out(service: Service, shop: OAuthTestClient, ann: Headers) -> None:
    """Sign out at the wish of an application that is told of it as well."""
    told = await add_client(service, backchannel_logout_uri="https://shop.example/logout", skip_consent=True)
    code = oauth_flow.query_of(await oauth_flow.arrive(service, told, ann, scope="openid"))["code"]
    tokens = _is_done(await oauth_codes.redeem(service, told, code, verifier=oauth_flow.VERIFIER)).json()
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    _is_done(await service.client.get("/oauth2/userinfo", headers=headers))
    asked = await service.client.get("/oauth2/end-session", params={"client_id": shop.client_id}, headers=ann)
    body = {"request": oauth_flow.handle_of(asked), "accept": True}
    _is_done(await service.post("/oauth2/end-session/confirm", body, headers=ann))


def _is_done(answer: httpx.Response) -> httpx.Response:
    assert answer.status_code == 200, answer.text
    return answer


async def _stay(service: Service) -> None:
    """Sign up, in and out, lose and change a password and an address, use every second factor, and leave."""
    ada = await second_factor.enrol(service)
    await steps.join(service, EVE, username="eve_1")
    await _use_every_method(service, ada)
    await service.post("/two-factor/disable", {"password": PASSWORD}, headers=ada.session)
    await steps.opens(service, "a wrong password")
    await service.post("/sign-in/username", {"username": "eve_1", "password": PASSWORD})
    await _use_passkeys(service, ada.session)
    service.clock.advance(days=3)
    await _look_around(service, ada.session)
    await _change_everything(service)
    await service.inbox()


async def _use_every_method(service: Service, ada: second_factor.Owner) -> None:
    """Enter a wrong code and the right one by each method, trust the device, and sign in with it."""
    for method in second_factor.METHODS:
        service.clock.advance(minutes=1)
        pending = bearer(await second_factor.challenge(service))
        code = await second_factor.right_code(service, ada, method, pending)
        await second_factor.enter(service, method, "000000" if method == "otp" else "aaaaa-aaaaa", pending)
        entered = await second_factor.enter(service, method, code, pending, trustDevice=True)
        assert entered.status_code == 200, entered.text
        service.client.cookies.clear()
    device = second_factor.cookie(second_factor.TRUST, await second_factor.trusted_device(service, ada))
    service.client.cookies.clear()
    assert not second_factor.is_pending(await second_factor.sign_in(service, headers=device))
    service.client.cookies.clear()


async def _use_passkeys(service: Service, session: Headers) -> None:
    """Add a passkey, sign in with it, rename and remove it."""
    device = Authenticator()
    passkey = await passkey_steps.add(service, session, device)
    assert (await passkey_steps.use(service, device)).status_code == 200
    await passkey_steps.options(service, session)
    for path in (passkey_steps.RENAME, passkey_steps.DELETE):
        changed = await service.post(path, {"id": passkey["id"], "name": "Phone"}, headers=session)
        assert changed.status_code == 200, changed.text


async def _change_everything(service: Service) -> None:
    """Lose the password, change it and the address, and leave."""
    token = await steps.reset_token(service)
    await service.post("/reset-password", {"token": token, "newPassword": NEW_PASSWORD})
    session = bearer((await steps.sign_in(service, ADA, NEW_PASSWORD)).json()["token"])
    changed = {"currentPassword": NEW_PASSWORD, "newPassword": PASSWORD, "revokeOtherSessions": True}
    session = bearer((await service.post("/change-password", changed, headers=session)).json()["token"])
    await service.post("/change-email", {"newEmail": "countess@example.com"}, headers=session)
    await service.get(steps.local(await steps.last_link(service, "change-email")), headers=session)
    left = await service.post("/delete-user", {"password": PASSWORD}, headers=session)
    assert left.status_code == 200, left.text


async def _look_around(service: Service, session: Headers) -> None:
    """Do everything that is done to sessions, by somebody whose session is due to be prolonged."""
    phone, laptop = [(await _again(service))["token"] for _ in range(2)]
    assert await steps.works(service, session)
    await service.get("/list-sessions", headers=session)
    await service.get("/list-accounts", headers=session)
    await service.post("/update-user", {"name": "Countess"}, headers=session)
    await service.post("/revoke-session", {"token": phone}, headers=session)
    await service.post("/sign-out", headers=bearer(laptop))
    await service.post("/revoke-other-sessions", headers=session)
    await service.post("/revoke-sessions", headers=session)


async def _again(service: Service) -> dict[str, Any]:
    answer = await steps.sign_in(service)
    service.client.cookies.clear()
    body: dict[str, Any] = answer.json()
    return body
