"""Check and complete client metadata: the members of RFC 7591 (section 2), and some that only this service has.

The metadata of a stored client has every member that has a default; other members are absent if they have no value.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from domain import identifiers
from domain.oauth_clients import jwks, redirect_uris
from domain.oauth_clients.policy import STANDARD_SCOPES, ClientPolicy
from models.oauth_client import ClientSource

DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
DEFAULT_SCOPE = "openid profile email"
GRANT_TYPES = ("authorization_code", "refresh_token", "client_credentials", DEVICE_CODE)
AUTHENTICATION_METHODS = ("client_secret_basic", "client_secret_post", "none", "private_key_jwt")

_OPERATOR = frozenset({ClientSource.CLI, ClientSource.CONFIG})
PRIVILEGED: Mapping[str, Collection[ClientSource]] = {
    "skip_consent": _OPERATOR,
    "session_sign_in": _OPERATOR,
    "resource_server": _OPERATOR,
    "backchannel_logout_uri": {*_OPERATOR, ClientSource.ADMIN},
    # A token that acts for the client itself needs no user who consents.
    "client_credentials_scopes": {*_OPERATOR, ClientSource.ADMIN, ClientSource.DYNAMIC},
}
"""Members that only clients of some sources may have, and these sources."""

_SCOPE = re.compile(r"[!#-\[\]-~]+(?: [!#-\[\]-~]+)*", re.ASCII)
_MOST_URIS = 20
_MOST_CONTACTS = 10
_LONGEST_CONTACT = 254
_LONGEST_NAME = 64
_RESOURCE = "must be one of oauth.resources"
_PAGES = ("client_uri", "logo_uri", "tos_uri", "policy_uri")
_UNSUPPORTED = ("jwks_uri", "software_statement", "sector_identifier_uri")
"""Members that are refused instead of ignored, because they name documents that would decide about the client."""

MEMBERS = (
    "client_name",
    "application_type",
    "redirect_uris",
    "post_logout_redirect_uris",
    "token_endpoint_auth_method",
    "jwks",
    "grant_types",
    "scope",
    "resources",
    "client_credentials_scopes",
    "id_token_signed_response_alg",
    "backchannel_logout_uri",
    *_PAGES,
    "contacts",
    "skip_consent",
    "session_sign_in",
    "resource_server",
)


class InvalidMetadata(Exception):
    """Client metadata that cannot be used; the message begins with the name of the member and repeats no value."""

    def __init__(self, member: str, problem: str) -> None:
        super().__init__(f"{member} {problem}")
        self.member = member

    @property
    def is_redirect_uri(self) -> bool:
        """Return whether the invalid member is `redirect_uris`, which has its own error code (RFC 7591, 3.2.2)."""
        return self.member == "redirect_uris"


def permitted(sent: Mapping[str, Any], source: ClientSource) -> dict[str, Any]:
    """Return the metadata without the members that clients of this source may not have (`PRIVILEGED`)."""
    # defence: O13 privileged-ignored
    return {name: value for name, value in sent.items() if source in PRIVILEGED.get(name, (source,))}


def check_permitted(sent: Mapping[str, Any], source: ClientSource) -> None:
    """Raise InvalidMetadata if the metadata have a member that clients of this source may not have (`PRIVILEGED`)."""
    for name, sources in PRIVILEGED.items():
        if source not in sources and sent.get(name):  # defence: O13 privileged-refused
            raise InvalidMetadata(name, "is reserved to the operator of the service")


def complete(
    sent: Mapping[str, Any], policy: ClientPolicy, rule: redirect_uris.Rule | None = None
) -> dict[str, Any]:
    """Check client metadata, and return them with every default. Unknown members are left out.

    Whether the client may set a member is not checked here, but by `check_permitted`. `rule` says which redirect URIs
    are allowed; by default it depends on `application_type`. Raises InvalidMetadata.
    """
    given = {name: value for name, value in sent.items() if value is not None}
    for name in _UNSUPPORTED:
        if name in given:  # defence: O13 jwks-uri
            raise InvalidMetadata(name, "is not supported")
    if given.get("response_types", ["code"]) != ["code"]:
        raise InvalidMetadata("response_types", "must be code")
    result = _identity(given) | _authentication(given)
    result |= _redirections(given, result, rule or _rule_of(result["application_type"], policy))
    result |= _access(given, result, policy)
    result |= _pages(given)
    return {name: result[name] for name in MEMBERS if name in result}


def _identity(given: Mapping[str, Any]) -> dict[str, Any]:
    name = _text(given, "client_name", None)
    if not name.strip():
        raise InvalidMetadata("client_name", "is missing")
    if len(name) > _LONGEST_NAME or not identifiers.is_name(name):
        raise InvalidMetadata("client_name", "must have 1 to 64 characters, and no control characters")
    return {
        "client_name": name.strip(),
        "application_type": _choice(given, "application_type", ("web", "native"), "web"),
    }


def _authentication(given: Mapping[str, Any]) -> dict[str, Any]:
    method = _choice(given, "token_endpoint_auth_method", AUTHENTICATION_METHODS, "client_secret_basic")
    grants = _texts(
        given,
        "grant_types",
        lambda one: one in GRANT_TYPES,
        f"must be one of {', '.join(GRANT_TYPES)}",
        ["authorization_code"],
    )
    if not grants:
        raise InvalidMetadata("grant_types", "must name one")
    if method == "none" and "client_credentials" in grants:  # defence: O11 public-client-credentials
        raise InvalidMetadata(
            "grant_types", "cannot have client_credentials for a client without credentials"
        )
    if "refresh_token" in grants and not {"authorization_code", DEVICE_CODE} & {*grants}:
        raise InvalidMetadata("grant_types", "must have another one with refresh_token")
    result: dict[str, Any] = {"token_endpoint_auth_method": method, "grant_types": grants}
    if method == "private_key_jwt":
        problem = jwks.problem(given.get("jwks"))
        if problem is not None:
            raise InvalidMetadata("jwks", problem)
        result["jwks"] = jwks.cleaned(given["jwks"])
    elif "jwks" in given:
        raise InvalidMetadata("jwks", "is only for clients that authenticate by private_key_jwt")
    return result


def _rule_of(application_type: redirect_uris.ApplicationType, policy: ClientPolicy) -> redirect_uris.Rule:
    return redirect_uris.rule_of_type(application_type, is_development=policy.is_development)


def _redirections(
    given: Mapping[str, Any], known: Mapping[str, Any], rule: redirect_uris.Rule
) -> dict[str, Any]:
    result = {}
    for name in ("redirect_uris", "post_logout_redirect_uris"):
        result[name] = _texts(given, name, rule.is_allowed, str(rule))
        if len(result[name]) > _MOST_URIS:  # defence: O13 number-of-uris
            raise InvalidMetadata(name, f"has more than {_MOST_URIS} entries")
    if "authorization_code" in known["grant_types"] and not result["redirect_uris"]:
        raise InvalidMetadata("redirect_uris", "must have an entry for the grant type authorization_code")
    return result


def _access(given: Mapping[str, Any], known: Mapping[str, Any], policy: ClientPolicy) -> dict[str, Any]:
    scope = _text(given, "scope", DEFAULT_SCOPE)
    if not _SCOPE.fullmatch(scope):
        raise InvalidMetadata("scope", "must be names separated by single spaces")
    scopes = list(dict.fromkeys(scope.split(" ")))
    if not all(one in STANDARD_SCOPES or one in policy.scopes for one in scopes):
        raise InvalidMetadata(
            "scope", "has a scope that the service does not know; scopes are separated by spaces"
        )
    if "offline_access" in scopes and "refresh_token" not in known["grant_types"]:
        raise InvalidMetadata("scope", "has offline_access, which needs the grant type refresh_token")
    result = {
        "scope": " ".join(scopes),
        "resources": _texts(given, "resources", lambda one: one in policy.resources, _RESOURCE),
        "client_credentials_scopes": _texts(
            given,
            "client_credentials_scopes",
            lambda one: one in policy.scopes,
            "must be one of oauth.scopes",
        ),
        "id_token_signed_response_alg": _choice(
            given, "id_token_signed_response_alg", policy.algorithms, default_algorithm(policy)
        ),
        "skip_consent": _flag(given, "skip_consent"),
        "session_sign_in": _flag(given, "session_sign_in"),
        "resource_server": _texts(given, "resource_server", lambda one: one in policy.resources, _RESOURCE),
    }
    is_public = known["token_endpoint_auth_method"] == "none"  # noqa: S105 - the name of a method
    if result["resource_server"] and is_public:
        raise InvalidMetadata("resource_server", "is only for clients with credentials")
    return result


def default_algorithm(policy: ClientPolicy) -> str:
    """Return the signature algorithm of ID tokens for a client that names none: RS256 if it is enabled."""
    return "RS256" if "RS256" in policy.algorithms else policy.algorithms[0]


def _pages(given: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name in (*_PAGES, "backchannel_logout_uri"):
        uri = _text(given, name, "")
        if uri and name != "backchannel_logout_uri" and not redirect_uris.is_https(uri):
            raise InvalidMetadata(name, "must be an https URL of at most 2048 characters")
        if uri:
            result[name] = uri
    contacts = _texts(
        given,
        "contacts",
        lambda one: len(one) <= _LONGEST_CONTACT and identifiers.is_name(one) and bool(one.strip()),
        f"must have 1 to {_LONGEST_CONTACT} characters, and no control characters",
    )
    if len(contacts) > _MOST_CONTACTS:
        raise InvalidMetadata("contacts", f"has more than {_MOST_CONTACTS} entries")
    return {**result, "contacts": contacts} if contacts else result


def _text(given: Mapping[str, Any], name: str, default: str | None) -> str:
    value = given.get(name, default)
    if value is None:
        raise InvalidMetadata(name, "is missing")
    if not isinstance(value, str):
        raise InvalidMetadata(name, "must be a string")
    return value


def _choice(given: Mapping[str, Any], name: str, choices: Collection[str], default: str) -> str:
    value = given.get(name, default)
    if not isinstance(value, str) or value not in choices:
        raise InvalidMetadata(name, f"must be one of {', '.join(choices)}")
    return value


def _flag(given: Mapping[str, Any], name: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise InvalidMetadata(name, "must be true or false")
    return value


def _texts(
    given: Mapping[str, Any],
    name: str,
    is_allowed: Callable[[str], bool],
    rule: str,
    default: Sequence[str] = (),
) -> list[str]:
    """Return a list of different texts, of which each is allowed; `rule` says what an entry must be."""
    value = given.get(name, [*default])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise InvalidMetadata(name, "must be a list of strings")
    for number, one in enumerate(value):
        if not is_allowed(one):
            raise InvalidMetadata(name, f"has an entry that is not allowed, number {number + 1}: it {rule}")
    return list(dict.fromkeys(value))
