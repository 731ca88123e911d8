"""Redirect URIs of clients: which ones can be registered, and which ones a request may use."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Literal

from domain.trusted_origins import refuse_numeric_hosts

LONGEST = 2048
"""The largest length of a URI, in characters."""

ApplicationType = Literal["web", "native"]

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_PORT = r"(?::(?P<port>[1-9][0-9]{0,4}))?"
# Nothing is decoded or normalized, so a URI has one meaning: no user part, fragment, backslash, white space, wildcard.
_REST = r"(?P<rest>(?:[/?](?:[!$&'()+,;=:@/?._~A-Za-z0-9\[\]-]|%[0-9A-Fa-f]{2})*)?)"
_HTTP = re.compile(
    rf"(?P<scheme>https?)://(?P<host>{_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:.]+\]){_PORT}{_REST}", re.ASCII
)
# A scheme with a dot is a reversed domain name, and a domain has an owner (RFC 8252, 8.4).
# Its host may be empty, as in `app.immich:///oauth-callback`.
_PRIVATE_USE = re.compile(
    rf"[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+:(?=/)(?://(?:{_LABEL}(?:\.{_LABEL})*|(?=/(?!/)))|(?!//)){_REST}",
    re.ASCII,
)
_LOOPBACK = re.compile(rf"(?P<host>http://(?:127\.0\.0\.1|\[::1\])){_PORT}{_REST}", re.ASCII)
# Many programs name `localhost` in their documents, although RFC 8252, 8.3, advises against it.
_LOCALHOST = re.compile(rf"(?P<host>http://(?:127\.0\.0\.1|\[::1\]|localhost)){_PORT}{_REST}", re.ASCII)
_DOT_SEGMENT = re.compile(r"\.\.|%2e", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for the URIs that a client may register. `which` describes the allowed URIs in error messages."""

    is_allowed: Callable[[str], bool]
    which: str

    def __str__(self) -> str:
        """Return the rule as the end of a sentence about a URI."""
        return f"must be {self.which}, without a fragment, user name, wildcard or dot segment"


def is_allowed(uri: str, application_type: ApplicationType, *, is_development: bool) -> bool:
    """Return whether a client of this type may register a redirect URI or post-logout redirect URI.

    All applications may register https URLs of other machines. Web applications may also register http and https URLs
    of the loopback if `is_development`; native applications http URLs of 127.0.0.1 and [::1], and URIs of a scheme of
    their own such as `com.example.app:/callback` (RFC 8252, 7).
    """
    # defence: O1 form
    if len(uri) > LONGEST or _DOT_SEGMENT.search(uri):
        return False
    parts = _HTTP.fullmatch(uri)
    if parts is None:
        return application_type == "native" and _PRIVATE_USE.fullmatch(uri) is not None
    if not _is_port(parts["port"]) or not _is_host(parts["host"]):
        return False
    if application_type == "native" and _LOOPBACK.fullmatch(uri):
        return True
    if _is_loopback(parts["host"]):  # defence: O13 loopback
        return application_type == "web" and is_development
    return parts["scheme"] == "https"


def is_of_document(uri: str, document: str) -> bool:
    """Return whether a redirect URI is allowed in a client's metadata document, which anyone may publish.

    `document` is the URL of the document. The redirect URI must have the same origin, or be an http URL of the user's
    own machine, or have an application's own scheme.
    """
    if len(uri) > LONGEST or _DOT_SEGMENT.search(uri):
        return False
    parts = _HTTP.fullmatch(uri)
    if parts is None:
        return _PRIVATE_USE.fullmatch(uri) is not None
    if not _is_port(parts["port"]) or not _is_host(parts["host"]):
        return False
    if _LOCALHOST.fullmatch(uri):
        return True
    own = _HTTP.fullmatch(document)
    return own is not None and _origin(parts) == _origin(own)  # defence: O27 same-origin


def rule_of_type(application_type: ApplicationType, *, is_development: bool) -> Rule:
    """Return `is_allowed` for an application type, with the description of the allowed URIs in error messages."""
    if application_type == "native":
        which = (
            "an https URL, http://127.0.0.1 or http://[::1] with any port, or like com.example.app:/callback"
        )
    elif is_development:
        which = "an https URL, or an http URL of this machine"
    else:
        which = "an https URL of another machine"
    return Rule(partial(is_allowed, application_type=application_type, is_development=is_development), which)


def rule_of_document(document: str) -> Rule:
    """Return the rule for clients whose metadata document has the URL `document`: that of `is_of_document`."""
    which = "a URL of the origin of the document or of this machine, or like com.example.app:/callback"
    return Rule(partial(is_of_document, document=document), which)


def is_https(uri: str) -> bool:
    """Return whether a text is an https URL in the strict form of redirect URIs, as for the pages about a client."""
    parts = _HTTP.fullmatch(uri)
    return (
        len(uri) <= LONGEST
        and parts is not None
        and parts["scheme"] == "https"
        and _is_port(parts["port"])
        and _is_host(parts["host"])
    )


def matches(registered: Iterable[str], uri: str, *, by_document: bool = False) -> bool:
    """Return whether a URI equals one of the registered URIs, byte for byte.

    For http URLs of 127.0.0.1 and [::1] the port is ignored, because a native application listens on any free port
    (RFC 8252, 7.3); for clients with a metadata document (`by_document`) also for `localhost`.
    """
    known = tuple(registered)
    if uri in known:  # defence: O1 equality
        return True
    local = _LOCALHOST if by_document else _LOOPBACK
    wanted = _without_port(uri, local)
    return wanted is not None and any(_without_port(one, local) == wanted for one in known)


def is_local(uri: str) -> bool:
    """Return whether a redirect URI leads to a program on the user's device, so that any program there may receive it.

    These are URLs of the loopback and URIs with an application's own scheme (RFC 8252, 8.6).
    """
    parts = _HTTP.fullmatch(uri)
    return parts is None or _is_loopback(parts["host"])


def _origin(parts: re.Match[str]) -> tuple[str, str, str]:
    """Return scheme, host and port of a URL."""
    return (
        parts["scheme"],
        parts["host"].lower(),
        parts["port"] or ("443" if parts["scheme"] == "https" else "80"),
    )


def _without_port(uri: str, local: re.Pattern[str]) -> tuple[str, str] | None:
    """Return a URI of this machine without its port, or None."""
    parts = local.fullmatch(uri)  # defence: O1 loopback-literal
    return (parts["host"], parts["rest"]) if parts is not None and _is_port(parts["port"]) else None


def _is_port(port: str | None) -> bool:
    return port is None or int(port) < 65536


def _is_host(host: str) -> bool:
    """Return whether a host is a name, or an address in its usual form."""
    try:
        if host.startswith("["):
            IPv6Address(host[1:-1])
        else:
            refuse_numeric_hosts(host, host)
    except (AddressValueError, ValueError):
        return False
    return len(host) <= 253


def _is_loopback(host: str) -> bool:
    name = host.lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        if not host.startswith("["):
            return IPv4Address(host).is_loopback
        address = IPv6Address(host[1:-1])
    except AddressValueError:
        return False
    mapped = address.ipv4_mapped
    return address.is_loopback if mapped is None else mapped.is_loopback
