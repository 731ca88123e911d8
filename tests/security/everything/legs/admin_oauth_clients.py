"""Administration of OAuth clients, and of what users have granted them."""

from collections.abc import Iterator

from tests.security.everything.traveller import FIRST, UNKNOWN, Traveller

SETTINGS = {"oauth.enabled": "true"}


def leg(ada: Traveller) -> Iterator[None]:
    """As an administrator; without one, as nobody special."""
    call = ada.witness.call
    pam = call("authentication.sign_up_email", {"name": "Pam", "email": "pam@example.com", "password": FIRST})
    ada.promote("pam@example.com")
    session, user = pam.token, str(pam.body["user"]["id"])
    yield
    call("admin_oauth_clients.list_clients", session=session, query={"search": "shop"})
    for query in ({"userId": user}, {"clientId": UNKNOWN}):
        call("admin_oauth_clients.list_grants", session=session, query=query)
        call("admin_oauth_clients.end_grants", {**query, "consents": True}, session=session)
    for each in (user, UNKNOWN):
        call("admin_oauth_clients.list_connections", session=session, query={"userId": each})
    yield
