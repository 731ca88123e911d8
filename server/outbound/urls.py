"""Parse URLs to which requests may be sent."""

import re
from collections.abc import Collection
from ipaddress import AddressValueError, IPv6Address, ip_address
from typing import NamedTuple

from domain.trusted_origins import refuse_numeric_hosts
from server.outbound.addresses import Address

LONGEST_URL = 2048
"""The most characters of a URL."""

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_LONGEST_NAME = 253
# Without a user part, a fragment, a backslash, white space and control characters, and without the dot at the end that
# makes another spelling of a name. Nothing is decoded or repaired, so the URL has one meaning.
# defence: WH15 url-form
_URL = re.compile(
    rf"(?P<scheme>https?)://(?:(?P<name>{_LABEL}(?:\.{_LABEL})*)|\[(?P<ipv6>[0-9a-f:]+)\])(?::(?P<port>[0-9]{{1,5}}))?"
    r"(?P<path>(?:[/?][!-\"$-\[\]-~]*)?)"
)
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Target(NamedTuple):
    """The parts of a URL, as a request needs them."""

    scheme: str
    host: str
    """The host name in lower case, or the IP address without brackets."""
    port: int
    path: str
    """The path with the query."""
    address: Address | None
    """The IP address if the host is one; None for a name."""

    @property
    def authority(self) -> str:
        """Return host and port as the Host header has them, without the default port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def parse_url(url: str, *, allowed_ports: Collection[int], development: bool) -> Target:
    """Return the parts of an https URL with one of the allowed ports.

    It must be ASCII, without user name, password and fragment. `development` also allows http and all ports on this
    machine. Raises ValueError with a sentence for the user.
    """
    if len(url) > LONGEST_URL:  # defence: WH15 url-length
        raise ValueError(f"The URL has more than {LONGEST_URL} characters.")
    match = _URL.fullmatch(url)
    if match is None:
        raise ValueError(
            "The URL must be https://, a host name, and optionally a port, a path and a query, in ASCII."
            " A user, a password and a fragment are not allowed."
        )
    host = match["ipv6"] or match["name"].lower()
    address = _literal(host)
    is_local = development and host in LOOPBACK_HOSTS
    if match["scheme"] == "http" and not is_local:  # defence: WH15 https-only
        raise ValueError("The URL must begin with https://.")
    port = int(match["port"] or _DEFAULT_PORTS[match["scheme"]])
    if port not in allowed_ports and not (is_local and 0 < port < 65536):  # defence: WH15 allowed-port
        raise ValueError(f"Port {port} is not allowed. Allowed: {', '.join(map(str, allowed_ports))}.")
    path = match["path"]
    return Target(match["scheme"], host, port, path if path.startswith("/") else f"/{path}", address)


def _literal(host: str) -> Address | None:
    """Return the address that a host is, or None for a name. Raises ValueError for other spellings of an address."""
    if ":" in host:
        try:
            address = IPv6Address(host)
        except AddressValueError:
            raise ValueError("The host is not an IPv6 address.") from None
        if str(address) != host:
            raise ValueError("The IPv6 address must be written in its canonical form (RFC 5952).")
        return address
    if len(host) > _LONGEST_NAME:
        raise ValueError(f"The host name has more than {_LONGEST_NAME} characters.")
    refuse_numeric_hosts(host, host)  # defence: WH1 numeric-host
    return ip_address(host) if host.rpartition(".")[2].isdecimal() else None
