"""The metadata of this provider, with which clients configure themselves (OpenID Connect Discovery 1.0, RFC 8414)."""

import hashlib
from datetime import timedelta
from typing import Any

import orjson

from domain.oauth.policy import DevicePolicy, OAuthPolicy, ProviderMetadata
from domain.oauth_clients.metadata import AUTHENTICATION_METHODS, DEVICE_CODE, GRANT_TYPES
from domain.oauth_clients.policy import STANDARD_SCOPES, ClientPolicy

MAX_AGE = timedelta(minutes=5)
"""How long caches may keep the document."""

_CONFIDENTIAL = [method for method in AUTHENTICATION_METHODS if method != "none"]
_ASSERTIONS = ["RS256", "PS256", "ES256", "EdDSA"]
_CLAIMS = [
    *("iss", "sub", "aud", "iat", "exp", "auth_time", "nonce", "acr", "amr", "at_hash", "sid"),
    *("name", "picture", "preferred_username", "updated_at", "email", "email_verified"),
]


def metadata_of(oauth: OAuthPolicy, device: DevicePolicy, clients: ClientPolicy) -> ProviderMetadata:
    """Return the metadata document of a provider with these policies. It does not change while the service runs."""
    body = orjson.dumps({**_endpoints(oauth, device, clients), **_supported(device, clients)})
    return ProviderMetadata(body, b'"' + hashlib.sha256(body).hexdigest()[:32].encode() + b'"')


def _endpoints(oauth: OAuthPolicy, device: DevicePolicy, clients: ClientPolicy) -> dict[str, str]:
    paths = {
        "issuer": "",
        "authorization_endpoint": "/oauth2/authorize",
        "token_endpoint": "/oauth2/token",
        "pushed_authorization_request_endpoint": "/oauth2/par",
        "introspection_endpoint": "/oauth2/introspect",
        "revocation_endpoint": "/oauth2/revoke",
        "userinfo_endpoint": "/oauth2/userinfo",
        "end_session_endpoint": "/oauth2/end-session",
        "jwks_uri": "/jwks",
    }
    if clients.registration != "off":
        paths["registration_endpoint"] = "/oauth2/register"
    if device.enabled:
        paths["device_authorization_endpoint"] = "/device/code"
    return {name: oauth.issuer + path for name, path in paths.items()}


def _supported(device: DevicePolicy, clients: ClientPolicy) -> dict[str, Any]:
    grants = [grant for grant in GRANT_TYPES if grant != DEVICE_CODE or device.enabled]
    return {
        "scopes_supported": [*STANDARD_SCOPES, *clients.scopes],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": grants,
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": list(clients.algorithms),
        "token_endpoint_auth_methods_supported": AUTHENTICATION_METHODS,
        "token_endpoint_auth_signing_alg_values_supported": _ASSERTIONS,
        "revocation_endpoint_auth_methods_supported": AUTHENTICATION_METHODS,
        "revocation_endpoint_auth_signing_alg_values_supported": _ASSERTIONS,
        "introspection_endpoint_auth_methods_supported": _CONFIDENTIAL,
        "introspection_endpoint_auth_signing_alg_values_supported": _ASSERTIONS,
        "code_challenge_methods_supported": ["S256"],
        "claims_supported": _CLAIMS,
        "acr_values_supported": ["1", "2"],
        "prompt_values_supported": ["none", "login", "consent", "select_account", "create"],
        "authorization_response_iss_parameter_supported": True,
        "backchannel_logout_supported": True,
        "backchannel_logout_session_supported": True,
        "claims_parameter_supported": False,
        "request_parameter_supported": False,
        "request_uri_parameter_supported": False,
        "client_id_metadata_document_supported": clients.client_documents,
    }
