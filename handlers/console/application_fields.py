"""Convert between the form of an application and the client metadata that its fields stand for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from domain.context import Context
from domain.errors import Field, ValidationError
from domain.localization import N_, Localization
from domain.oauth_clients import scopes as scope_texts
from domain.oauth_clients.errors import InvalidClientMetadata, InvalidRedirectUri
from domain.oauth_clients.metadata import DEVICE_CODE
from domain.oauth_clients.policy import STANDARD_SCOPES, ClientPolicy

FIELD_TEXTS: Mapping[str, str] = {
    "redirectUris": N_(
        "Enter 1 to 20 URLs, one on each line. They begin with https; those of an application on a device may also be "
        "http://127.0.0.1 or a scheme of its own, such as com.example.app:/callback."
    ),
    "postLogoutRedirectUris": N_("Enter at most 20 URLs, one on each line, in the same form as above."),
    "scope": N_("Choose at least one."),
    "own": N_("Choose at least one."),
    "resources": N_("One of these resources does not exist any more."),
    "backchannelLogoutUri": N_(
        "Requests cannot be sent to this URL. It begins with https, and its host has public addresses only."
    ),
    "clientUri": N_("Enter a URL that begins with https."),
    "logoUri": N_("Enter a URL that begins with https."),
    "tosUri": N_("Enter a URL that begins with https."),
    "policyUri": N_("Enter a URL that begins with https."),
    "contacts": N_("Enter at most 10 contacts, one on each line."),
}

FIELD_LABELS: Mapping[str, str] = {
    "backchannelLogoutUri": N_("Where it learns of the end of sessions"),
    "clientUri": N_("Home page"),
    "contacts": N_("Contacts"),
    "logoUri": N_("Logo"),
    "own": N_("What it may do in its own name"),
    "policyUri": N_("Privacy notice"),
    "postLogoutRedirectUris": N_("Where users return to after they have signed out"),
    "redirectUris": N_("Where users return to after they have signed in"),
    "resources": N_("The APIs that it may call"),
    "scope": N_("What it may ask users for"),
    "tosUri": N_("Terms of service"),
}

_SCOPE, _OWN, _RESOURCE = "scope-", "own-", "resource-"
"""The prefixes of the names of checkboxes."""
_LISTS = {"redirectUris": "redirect_uris", "postLogoutRedirectUris": "post_logout_redirect_uris"}
_TEXTS = {
    "backchannelLogoutUri": "backchannel_logout_uri",
    "clientUri": "client_uri",
    "logoUri": "logo_uri",
    "tosUri": "tos_uri",
    "policyUri": "policy_uri",
}
_SETS = ("grant_types", "resources", "client_credentials_scopes")
_FIELDS = {
    "client_name": "name",
    "scope": "scope",
    "client_credentials_scopes": "own",
    "resources": "resources",
    "contacts": "contacts",
    **{member: name for name, member in (_LISTS | _TEXTS).items()},
}
"""The names of form fields, by the metadata member that an error can be about."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of application, such as a web application: its texts, and the client metadata that follows from it."""

    label: str
    hint: str
    grant_type: str = "authorization_code"
    application_type: str = "web"
    has_secret: bool = False

    @property
    def has_users(self) -> bool:
        """Whether users sign in to the application."""
        return self.grant_type != "client_credentials"

    @property
    def returns(self) -> bool:
        """Whether users return to the application at a redirect URL."""
        return self.grant_type == "authorization_code"


KINDS: Mapping[str, Kind] = {
    "web": Kind(
        N_("Web application with a server"),
        N_("Its server keeps a secret, and users sign in in their browser."),
        has_secret=True,
    ),
    "browser": Kind(
        N_("Single-page application"),
        N_("It runs in the browser alone, where nothing can be kept secret, so it has no secret."),
    ),
    "native": Kind(
        N_("Mobile or desktop application"),
        N_("It runs on the device of the user, and has no secret."),
        application_type="native",
    ),
    "machine": Kind(
        N_("Program without a user"),
        N_("It calls APIs in its own name, with a secret."),
        grant_type="client_credentials",
        has_secret=True,
    ),
    "device": Kind(
        N_("Device without a browser"),
        N_("A television or a command line: users confirm a code elsewhere."),
        grant_type=DEVICE_CODE,
        application_type="native",
    ),
}


def new_metadata(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a new client from its form. Raises ValidationError if no scope is chosen."""
    kind = KINDS[form["kind"]]
    members: dict[str, Any] = {
        "client_name": form["name"].strip(),
        "application_type": kind.application_type,
        "token_endpoint_auth_method": "client_secret_basic" if kind.has_secret else "none",
        "grant_types": [kind.grant_type],
        **_permissions(form, [kind.grant_type]),
    }
    if kind.returns:
        members["redirect_uris"] = _lines(form.get("redirectUris", ""))
    return members


def changes(metadata: Mapping[str, Any], form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata members that the form changes. A member with the value None is to be removed.

    Raises ValidationError if no scope is chosen.
    """
    members: dict[str, Any] = {"client_name": form["name"].strip()}
    for name, member in _LISTS.items():
        if name in form:
            members[member] = _lines(form[name])
    for name, member in _TEXTS.items():
        if name in form:
            members[member] = form[name].strip() or None
    if "contacts" in form:
        members["contacts"] = _lines(form["contacts"]) or None
    members |= _permissions(form, metadata["grant_types"])
    return {name: value for name, value in members.items() if not _is_same(name, value, metadata.get(name))}


def _is_same(member: str, value: Any, known: Any) -> bool:
    """Return whether a metadata member has this value already. In sets, such as scopes, the order does not matter."""
    if member == "scope":
        return set(value.split()) == set(known.split())
    if member in _SETS:
        return set(value) == set(known or ())
    return bool(value == known)


def _permissions(form: Mapping[str, Any], grant_types: Sequence[str]) -> dict[str, Any]:
    """Return the members with the chosen scopes and resources. Raises ValidationError if no scope is chosen."""
    members: dict[str, Any] = {"resources": _chosen(form, _RESOURCE)}
    if _has_users(grant_types):
        scopes = _chosen(form, _SCOPE)
        if not scopes:
            _refuse("scope", "must name at least one scope")
        members["scope"] = " ".join(scopes)
        others = [one for one in grant_types if one != "refresh_token"]
        # A refresh token is issued for offline access alone.
        members["grant_types"] = [*others, "refresh_token"] if "offline_access" in scopes else others
    if "client_credentials" in grant_types:
        members["client_credentials_scopes"] = _chosen(form, _OWN)
        if not members["client_credentials_scopes"] and not _has_users(grant_types):
            _refuse("own", "must name at least one scope")
    return members


def _has_users(grant_types: Sequence[str]) -> bool:
    return any(one not in ("client_credentials", "refresh_token") for one in grant_types)


def _chosen(form: Mapping[str, Any], prefix: str) -> list[str]:
    return [name.removeprefix(prefix) for name in form if name.startswith(prefix)]


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def refuse(error: InvalidClientMetadata | InvalidRedirectUri) -> NoReturn:
    """Raise ValidationError for the form field that an error in the metadata is about, or `error` if there is none."""
    member = "redirect_uris" if isinstance(error, InvalidRedirectUri) else error.member
    field = _FIELDS.get(member or "")
    if field is None:
        raise error
    _refuse(field, error.message)


def _refuse(field: str, problem: str) -> NoReturn:
    raise ValidationError(f"[body.{field}] {problem}", Field("body", field, problem))


def form_values(
    ctx: Context, localization: Localization, metadata: Mapping[str, Any] | None, grant_types: Sequence[str]
) -> Mapping[str, Any]:
    """Return the template values for the form of an application: its fields, and the scopes and resources to choose.

    `metadata` is None for a new application.
    """
    policy, known = ctx.policy[ClientPolicy], metadata or {}
    scopes = str(known.get("scope", "openid profile email")).split()
    own = known.get("client_credentials_scopes", [])
    resources = known.get("resources", [])
    return {
        "values": {
            "name": known.get("client_name", ""),
            **{name: "\n".join(known.get(member, ())) for name, member in _LISTS.items()},
            **{name: known.get(member, "") for name, member in _TEXTS.items()},
            "contacts": "\n".join(known.get("contacts", ())),
        },
        "has_users": _has_users(grant_types),
        "returns": "authorization_code" in grant_types,
        "is_machine": "client_credentials" in grant_types,
        # What an application has, and the service has no more, can be taken away.
        "scopes": _choices(localization, policy, [*STANDARD_SCOPES, *policy.scopes], scopes),
        "own": _choices(localization, policy, [*policy.scopes], own),
        "resources": [
            (uri, policy.resources[uri].name if uri in policy.resources else uri, uri in resources)
            for uri in dict.fromkeys([*policy.resources, *resources])
        ],
    }


def _choices(
    localization: Localization, policy: ClientPolicy, known: Sequence[str], chosen: Sequence[str]
) -> Sequence[tuple[str, str, bool]]:
    """Return scopes to choose from, each with its description and whether it is chosen."""
    names = [*dict.fromkeys([*known, *chosen])]
    return [
        # The operator's own descriptions are in one language.
        (name, text if name in policy.scopes else localization.gettext(text), name in chosen)
        for name, text in scope_texts.described(policy, names)
    ]
