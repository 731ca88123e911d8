"""Connections for single sign-on, and their domains."""

import json
from collections.abc import Iterator

from tests.name_server import HOST, name_server_in_thread
from tests.ports import free_port
from tests.security.everything.traveller import FIRST, Traveller
from tests.server.saml.test_metadata import metadata
from tests.sso import connection, oidc

PORT = free_port()
"""Of the name server."""
OWN = "a-secret-of-the-provider"
CONFIGURED = "a-secret-of-the-configuration"
ENDPOINTS = {
    "authorization_endpoint": "https://login.acme.example/authorize",
    "token_endpoint": "https://login.acme.example/token",
    "jwks_uri": "https://login.acme.example/keys",
}
SETTINGS = {
    "sso.enabled": "true",
    "sso.resolvers": json.dumps([f"{HOST}:{PORT}"]),
    "sso.connections": json.dumps(
        {
            "configured": {
                "issuer": "https://login.acme.example",
                "domains": ["configured.example"],
                "oidc": {"client_id": "client", "client_secret": CONFIGURED, **ENDPOINTS},
            }
        }
    ),
}
SECRETS = (CONFIGURED, OWN)


def leg(ada: Traveller) -> Iterator[None]:
    """As an administrator; without one, as nobody special."""
    call = ada.witness.call
    made = call(
        "authentication.sign_up_email", {"name": "Sam", "email": "sam@example.com", "password": FIRST}
    )
    ada.promote("sam@example.com")
    session = made.token
    yield
    saml = {"oidcConfig": {}, "samlConfig": {"idpMetadata": {"metadata": metadata().decode()}}}
    call("sso.register", {**connection("both"), **saml}, session=session)
    del saml["oidcConfig"]
    without = {name: value for name, value in connection("saml").items() if name != "oidcConfig"}
    found = {"issuer": "http://127.0.0.1:9", "oidcConfig": {"clientId": "client", "clientSecret": OWN}}
    for body in (
        {**without, **saml},
        connection(domain="gmail.com"),
        connection(oidcConfig={**oidc(), "tokenEndpoint": "https://10.0.0.1/"}),
        connection("discovered", **found),
    ):
        call("sso.register", body, session=session)
    acme = call("sso.register", connection(), session=session)
    call("sso.list", session=session)
    yield
    call("sso.verify_domain", {"providerId": "acme"}, session=session)
    with name_server_in_thread(PORT) as names:
        names.texts["_gatewright-acme.acme.example"] = [acme.body.get("domainVerificationToken", "")]
        for provider_id in ("acme", "configured", "saml", "unknown"):
            named = {"providerId": provider_id}
            call("sso.get", session=session, query=named)
            call("sso.metadata", query=named)
            call("sso.request_domain", named, session=session)
            call("sso.verify_domain", named, session=session)
            call("sso.update", {**named, "name": "Acme", "overrideUserInfo": True}, session=session)
    call("sso.update", {"providerId": "acme", "state": "paused"}, session=session)
    # The state of a connection, unlike that of a flow, is no secret.
    del ada.witness.secrets["paused"]
    yield
    for provider_id in ("acme", "configured", "unknown"):
        call("sso.remove", {"providerId": provider_id}, session=session)
    yield
