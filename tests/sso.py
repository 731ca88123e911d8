"""Connections for single sign-on, as tests make and read them."""

import json
from collections.abc import Mapping
from typing import Any

from tests.receiver import Behaviour, Receiver, respond

JSON = {"Content-Type": "application/json"}


def oidc(**more: Any) -> dict[str, Any]:
    """Return the fields of an OpenID provider that needs no discovery."""
    return {
        "clientId": "0oa7x7Qz",
        "clientSecret": "a-secret-of-the-provider",
        "skipDiscovery": True,
        "authorizationEndpoint": "https://93.184.215.14/authorize",
        "tokenEndpoint": "https://93.184.215.14/token",
        "jwksEndpoint": "https://93.184.215.14/keys",
        **more,
    }


def connection(provider_id: str = "acme", **more: Any) -> dict[str, Any]:
    """Return the body that registers a connection."""
    return {
        "providerId": provider_id,
        "issuer": "https://login.acme.example",
        "domain": "acme.example",
        "oidcConfig": oidc(),
        **more,
    }


def discovered(receiver: Receiver, **members: Any) -> Behaviour:
    """Return the behaviour of a provider with a discovery document; members that are None are left out."""
    usual = {
        "issuer": issuer_of(receiver),
        "authorization_endpoint": receiver.url("/authorize"),
        "token_endpoint": receiver.url("/token"),
        "jwks_uri": receiver.url("/keys"),
    }
    document: Mapping[str, Any] = {**usual, **members}
    return respond(200, json.dumps({k: v for k, v in document.items() if v is not None}).encode(), JSON)


def issuer_of(receiver: Receiver) -> str:
    """Return the issuer of a provider."""
    return receiver.url("")
