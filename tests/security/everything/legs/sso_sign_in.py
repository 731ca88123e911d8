"""Sign-in and sign-out through connections, by OpenID Connect; of SAML what is refused."""

from collections.abc import Iterator
from typing import Any

import httpx

from tests.labs.provider.state import CLIENT_ID, CLIENT_SECRET
from tests.labs.provider.steps import as_user
from tests.name_server import name_server_in_thread
from tests.security.everything.legs.sso import PORT
from tests.security.everything.traveller import FIRST, UNKNOWN, Traveller
from tests.security.second_factor import set_cookies
from tests.security.witness import Answer

PARTNER = "partner"
SETTINGS: dict[str, str] = {}
_EVENT = "http://schemas.openid.net/event/backchannel-logout"


def leg(ada: Traveller) -> Iterator[None]:
    """As a user of a partner, whose domain is proved first."""
    call = ada.witness.call
    made = call(
        "authentication.sign_up_email", {"name": "Pat", "email": "pat@example.com", "password": FIRST}
    )
    ada.promote("pat@example.com")
    yield
    manager = str(made.token)
    _register(ada, manager)
    as_user(ada.provider, "peter@partner.example", "partner-1")
    for body in ({}, {"providerId": UNKNOWN}, {"email": "peter@partner.example"}):
        call("sso.sign_in", body)
    session = _sign_in(ada)
    _test(ada, manager)
    yield
    call("sso.receive_callback", query={"state": UNKNOWN, "code": UNKNOWN}, providerId=PARTNER)
    call("sso.relay_callback", {"state": UNKNOWN, "code": UNKNOWN}, providerId=PARTNER)
    claims: dict[str, Any] = {"events": {_EVENT: {}}, "jti": UNKNOWN, "sub": "nobody", "nonce": None}
    for typ in ("logout+jwt", "at+jwt"):
        token = ada.provider.mint(claims=claims, header={"typ": typ})
        call("sso.backchannel_logout", {"logout_token": token}, providerId=PARTNER)
    call("sso.sign_out", {"callbackURL": "/"}, session=session, providerId=PARTNER)
    yield
    for operation in ("sso.consume_assertion", "sso.end_session_by_post"):
        call(operation, {"SAMLResponse": "PHgvPg=="}, providerId=PARTNER)
    call("sso.complete_sign_in", query={"state": UNKNOWN})
    call("sso.end_session", query={"SAMLRequest": "PHgvPg=="}, providerId=PARTNER)


def _register(ada: Traveller, session: str) -> None:
    call = ada.witness.call
    body = {
        "providerId": PARTNER,
        "issuer": ada.provider.issuer,
        "domain": "partner.example",
        "oidcConfig": {"clientId": CLIENT_ID, "clientSecret": CLIENT_SECRET},
    }
    registered = call("sso.register", body, session=session)
    with name_server_in_thread(PORT) as names:
        names.texts["_gatewright-partner.partner.example"] = [registered.body["domainVerificationToken"]]
        call("sso.verify_domain", {"providerId": PARTNER}, session=session)


def _test(ada: Traveller, session: str) -> None:
    call = ada.witness.call
    begun = call("sso.begin_test", {"providerId": PARTNER, "callbackURL": "/tested"}, session=session)
    landing = httpx.URL(_return(ada, begun).response.headers["location"])
    for result in (UNKNOWN, landing.params["result"]):
        call("sso.take_test_result", {"providerId": PARTNER, "result": result}, session=session)


def _sign_in(ada: Traveller) -> str:
    begun = ada.witness.call("sso.sign_in", {"providerId": PARTNER, "callbackURL": "/welcome"})
    return set_cookies(_return(ada, begun).response)["service.session-token"]


def _return(ada: Traveller, begun: Answer) -> Answer:
    """Sign in at the provider, and return the answer to the redirect back."""
    url = str(begun.body["url"])
    with httpx.Client(trust_env=False, timeout=30) as browser:
        location = httpx.URL(browser.get(url).headers["location"])
    sent = dict(location.params)
    ada.witness.secrets.setdefault(sent["code"], "code of the provider")
    cookies = set_cookies(begun.response)
    answer = ada.witness.call("sso.receive_callback", query=sent, cookies=cookies, providerId=PARTNER)
    ada.witness.overhear(httpx.URL(url), ada.provider)
    return answer
