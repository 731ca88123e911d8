"""Metadata documents of clients: which URLs are accepted, and which content."""

import re
from collections.abc import Mapping
from typing import Any

import orjson

from domain.oauth_clients import metadata, redirect_uris
from domain.oauth_clients.metadata import InvalidMetadata
from domain.oauth_clients.policy import STANDARD_SCOPES, ClientPolicy
from domain.trusted_origins import refuse_numeric_hosts
from models.oauth_client import ClientSource

SCHEMES = ("https://", "http://")
"""The beginnings of client ids that are URLs of documents; http is for development."""

_LONGEST = 512
# Lower case only: another spelling of a host would be another client, with the name of the first on its pages.
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_PATH = r"/(?:[!$&'()*+,;=:@/._~A-Za-z0-9-]|%[0-9A-Fa-f]{2})+"
_URL = re.compile(rf"https://(?P<host>{_LABEL}(?:\.{_LABEL})*)(?::443)?(?P<path>{_PATH})", re.ASCII)
_LOCAL = re.compile(
    rf"https?://(?P<host>localhost|127\.0\.0\.1)(?::[1-9][0-9]{{0,4}})?(?P<path>{_PATH})", re.ASCII
)
_DOT_SEGMENT = re.compile(r"/(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)
_GRANTS = ("authorization_code", "refresh_token")
_METHODS = ("none", "private_key_jwt")
_OWN = ("scope", "resources")
"""Members that are ignored in a document, which is for many services: `access` sets them."""


def is_url(client_id: str, policy: ClientPolicy) -> bool:
    """Return whether a client id has the form of a document's URL, and documents of its host are accepted.

    The URL is not normalized.
    """
    parts = _URL.fullmatch(client_id) if len(client_id) <= _LONGEST else None
    if parts is None and policy.is_development:
        parts = _LOCAL.fullmatch(client_id)
    # defence: O27 form
    if parts is None or _DOT_SEGMENT.search(parts["path"]):
        return False
    # The audience of an ID token is its client.
    if client_id in policy.audiences or client_id in policy.resources:  # defence: O27 audience
        return False
    return _is_accepted(parts["host"], policy)


def checked(client_id: str, body: bytes, policy: ClientPolicy) -> dict[str, Any]:
    """Return the complete metadata of a client from `body`, the JSON document at the URL `client_id`.

    Raises InvalidMetadata if the document cannot be used.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise InvalidMetadata("document", "is not JSON") from None
    if not isinstance(document, Mapping):
        raise InvalidMetadata("document", "is no JSON object")
    if document.get("client_id") != client_id:  # defence: O27 own-id
        raise InvalidMetadata("client_id", "is not the URL of the document")
    # What anyone can read is no secret.
    if document.get("client_secret") is not None:  # defence: O27 secret
        raise InvalidMetadata("client_secret", "must not be there")
    # defence: O27 privileged
    sent = metadata.permitted(document, ClientSource.DOCUMENT)
    for name in _OWN:
        sent.pop(name, None)
    sent |= _restricted(sent)
    return metadata.complete(sent, policy, redirect_uris.rule_of_document(client_id))


def access(stored: Mapping[str, Any], policy: ClientPolicy) -> Mapping[str, Any]:
    """Return the members `scope` and `resources` for a client with a document: everything that users may allow it.

    They depend on the present settings, and on the grant types in `stored`, the stored metadata.
    """
    own = (scope for resource in policy.resources.values() for scope in resource.scopes)
    scopes = dict.fromkeys([*_standard_scopes(stored["grant_types"]), *own])
    return {"scope": " ".join(scopes), "resources": [*policy.resources]}


def _restricted(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of which a document may have few values. Raises InvalidMetadata."""
    default = "none" if sent.get("jwks") is None else "private_key_jwt"
    method = sent.get("token_endpoint_auth_method") or default
    if method not in _METHODS:  # defence: O27 method
        raise InvalidMetadata("token_endpoint_auth_method", f"must be one of {', '.join(_METHODS)}")
    grants, types = sent.get("grant_types"), sent.get("response_types")
    if isinstance(grants, list):  # defence: O27 grants
        grants = [one for one in grants if one in _GRANTS]
    if isinstance(types, list) and "code" in types:
        types = ["code"]
    scopes = _standard_scopes(grants if isinstance(grants, list) else ())
    return {
        "token_endpoint_auth_method": method,
        "grant_types": grants,
        "response_types": types,
        "scope": " ".join(scopes),
    }


def _standard_scopes(grants: Any) -> list[str]:
    return [one for one in STANDARD_SCOPES if one != "offline_access" or "refresh_token" in grants]


def _is_accepted(host: str, policy: ClientPolicy) -> bool:
    """Return whether documents of a host are accepted: a name, in development also this machine."""
    try:
        refuse_numeric_hosts(host, host)
    except ValueError:
        return False
    if host.rpartition(".")[2].isdecimal() and not policy.is_development:
        return False
    chosen = policy.client_document_hosts
    # defence: O27 hosts
    return not chosen or any(host == one or (one[:2] == "*." and host.endswith(one[1:])) for one in chosen)
