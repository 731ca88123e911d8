"""Applications: their clients, authorization requests, tokens, consents, and logout."""

from collections.abc import Generator, Iterator
from urllib.parse import parse_qs, urlsplit

from tests.oauth_flow import CHALLENGE, VERIFIER
from tests.security.everything.traveller import UNKNOWN, Traveller
from tests.security.witness import Answer

SETTINGS = {
    "oauth.enabled": "true",
    "oauth.client_management": "users",
    "oauth.registration": "open",
}
REDIRECT_URI = "https://shop.example/callback"
REQUEST = {
    "response_type": "code",
    "redirect_uri": REDIRECT_URI,
    "scope": "openid email offline_access",
    "code_challenge": CHALLENGE,
    "code_challenge_method": "S256",
    "state": "the-state-of-a-client",
    "nonce": "the-nonce-of-a-client",
}


def leg(ada: Traveller) -> Iterator[None]:
    call, session = ada.witness.call, ada.session
    members = {
        "client_name": "Shop",
        "redirect_uris": [REDIRECT_URI],
        "grant_types": ["authorization_code", "refresh_token"],
        "scope": "openid email offline_access",
    }
    made = call("oauth_clients.create", members, session=session)
    client_id = made.body["client_id"]
    credentials = {"client_id": client_id, "client_secret": made.body["client_secret"]}
    _keep(ada, credentials["client_secret"], "client_secret")
    yield
    named = {"client_id": client_id}
    rotated = call("oauth_clients.rotate_secret", named, session=session).body["client_secret"]
    _keep(ada, rotated, "client_secret")
    call("oauth_clients.read", session=session, query=named)
    call("oauth_clients.list", session=session)
    call("oauth_clients.update", {**named, "update": {"client_name": "Store"}}, session=session)
    call("oauth_clients.register", {**members, "token_endpoint_auth_method": "none"})
    yield

    code = yield from _authorize(ada, credentials)
    sent = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, **credentials}
    call("oauth.token", {**sent, "code_verifier": "v" * 43})
    tokens = call("oauth.token", sent).body
    for name in ("access_token", "refresh_token", "id_token"):
        _keep(ada, tokens[name], name)
    yield
    _show(ada, tokens, credentials)
    first = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], **credentials}
    refreshed = call("oauth.token", first).body
    _keep(ada, refreshed["refresh_token"], "refresh_token")
    yield
    call("oauth.revoke", {"token": refreshed["access_token"], **credentials})
    # Once its successor was used, a refresh token that comes again ends the grant.
    call("oauth.token", {**first, "refresh_token": refreshed["refresh_token"]})
    call("oauth.token", first)
    yield
    call("oauth_clients.read_public", session=session, query=named)

    [consent] = call("oauth_consents.list", session=session).body
    call("oauth_consents.read", session=session, query={"id": consent["id"]})
    call("oauth_consents.narrow", {"id": consent["id"], "update": {"scopes": ["openid"]}}, session=session)
    call("oauth_consents.revoke", {"id": consent["id"]}, session=session)
    yield
    asked = call(
        "oauth.end_session", query={"client_id": client_id, "id_token_hint": tokens["id_token"][:-8]}
    )
    call("oauth.end_session_by_post", {"client_id": client_id})
    call("oauth.confirm_end_session", {"request": _query(asked)["request"], "accept": False})
    call("oauth_clients.remove", named, session=session)
    for document in ("discovery.openid", "discovery.oauth"):
        call(document)
    yield


def _show(ada: Traveller, tokens: dict[str, str], credentials: dict[str, str]) -> None:
    """Ask what tokens are for, and who their user is."""
    call = ada.witness.call
    for token in (tokens["access_token"], tokens["refresh_token"], UNKNOWN):
        call("oauth.introspect", {"token": token, **credentials})
    call("oauth.introspect", {"token": tokens["access_token"], **credentials, "client_secret": UNKNOWN})
    for operation in ("oauth.userinfo", "oauth.userinfo_by_post"):
        for token in (tokens["access_token"], UNKNOWN):
            call(operation, session=token)


def _authorize(ada: Traveller, credentials: dict[str, str]) -> Generator[None, None, str]:
    """Go from a pushed request to its code, which is returned."""
    call, session = ada.witness.call, ada.session
    named = {"client_id": credentials["client_id"]}
    call("oauth.push_request", {**REQUEST, **named, "client_secret": UNKNOWN})
    pushed = call("oauth.push_request", {**REQUEST, **credentials}).body["request_uri"]
    _keep(ada, pushed.rpartition(":")[2], "handle of a request")
    yield
    call("oauth.authorize", query={**named, "request_uri": pushed + "x"}, session=session)
    call("oauth.authorize_by_post", {**REQUEST, **named})
    page = call("oauth.authorize", query={**named, "request_uri": pushed}, session=session)
    handle = _query(page)["request"]
    oauth_query = {"oauth_query": f"request={handle}"}
    call("oauth_clients.read_public_before_login", {**named, **oauth_query})
    call("oauth.read_request", query={"request": handle}, session=session)
    call("oauth.continue", {**oauth_query, "selected": True}, session=session)
    call("oauth.consent", {**oauth_query, "accept": True}, session=session)
    yield
    done = _query(call("oauth.authorize", query={**named, "request_uri": pushed}, session=session))
    _keep(ada, done["code"], "authorization code")
    refused = _query(call("oauth.authorize", query={**REQUEST, **named}))["request"]
    call("oauth.consent", {"oauth_query": f"request={refused}", "accept": False}, session=session)
    yield
    return done["code"]


def _query(answer: Answer) -> dict[str, str]:
    """Return the query of the URL that an answer redirects to."""
    values = parse_qs(urlsplit(answer.response.headers["location"]).query)
    return {name: each[0] for name, each in values.items()}


def _keep(ada: Traveller, secret: str, what: str) -> None:
    """Remember something that must be found nowhere else."""
    ada.witness.secrets.setdefault(secret, what)
