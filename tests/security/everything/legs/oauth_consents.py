"""What users have allowed applications, and the logout that applications ask for."""

import json
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

from tests.security.everything.traveller import FIRST, UNKNOWN, Traveller

CLIENT = {
    "client_name": "Shop",
    "token_endpoint_auth_method": "none",
    "redirect_uris": ["https://shop.example/callback"],
    "post_logout_redirect_uris": ["https://shop.example/signed-out"],
}
ASKED = {
    "client_id": "shop",
    "post_logout_redirect_uri": "https://shop.example/signed-out",
    "state": "s" * 32,
}
SETTINGS = {"oauth.enabled": "true", "oauth.clients.shop": json.dumps(CLIENT)}


def leg(ada: Traveller) -> Iterator[None]:
    """As a user who signs out in the end."""
    call = ada.witness.call
    made = call(
        "authentication.sign_up_email", {"name": "Sol", "email": "sol@example.com", "password": FIRST}
    )
    session = made.token
    yield
    call("oauth_consents.list", session=session)
    call("oauth_consents.read", session=session, query={"id": UNKNOWN})
    call("oauth_consents.narrow", {"id": UNKNOWN, "update": {"scopes": ["openid"]}}, session=session)
    call("oauth_consents.revoke", {"id": UNKNOWN}, session=session)
    call("oauth.end_session_by_post", ASKED)
    call("oauth.end_session", query={"request": UNKNOWN}, session=session)
    yield
    for accepts in (False, True):
        page = call("oauth.end_session", query=ASKED, session=session).response.headers["location"]
        handle = parse_qs(urlsplit(page).query)["request"][0]
        yield
        call("oauth.confirm_end_session", {"request": handle, "accept": accepts}, session=session)
    yield
