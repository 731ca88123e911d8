"""The network client of a request: IP address and User-Agent."""

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple

from starlette.types import Scope

from domain.context import Client
from server.api.headers import RequestHeaders

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

LONGEST_USER_AGENT = 512  # defence: R34 user-agent-length
"""The longest User-Agent that is stored, in characters; a longer one is cut."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_HOP = re.compile(
    rb"([0-9.]{7,15})(?::[0-9]{1,5})?"  # IPv4, with or without a port
    rb"|\[([0-9A-Fa-f:.]{2,45})\](?::[0-9]{1,5})?"  # IPv6 in brackets, with or without a port
    rb"|([0-9A-Fa-f:.]{2,45})"  # bare IPv6
)


class _Peer(NamedTuple):
    """One hop between client and service, with its IP address in canonical spelling."""

    address: Address
    text: str


@lru_cache(maxsize=4096)
def _parse(text: str) -> _Peer | None:
    """Parse an IP address without its zone; an IPv4-mapped IPv6 address becomes IPv4."""
    try:
        # A zone is a name of an interface of this machine, not a part of the client's address.
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    # A dual-stack socket reports IPv4 clients as `::ffff:…`; both spellings must share one rate limit.
    plain = (isinstance(address, IPv6Address) and address.ipv4_mapped) or address  # defence: V63 mapped-ipv4
    return _Peer(plain, str(plain))


def _parse_hop(value: bytes) -> _Peer | None:
    match = _HOP.fullmatch(value.strip(b" \t"))
    return _parse(match[match.lastindex or 0].decode("ascii")) if match is not None else None


def clean_user_agent(raw: bytes | None) -> str | None:
    """Return a User-Agent header without control characters, cut at 512 characters; None if there is none."""
    if raw is None:
        return None
    # The text is shown in emails and pages, and stored, which PostgreSQL refuses for NUL.
    # defence: V79 R33 user-agent-text
    return _CONTROL.sub("", raw.decode("utf-8", "replace"))[:LONGEST_USER_AGENT] or None


class ClientAddressResolver:
    """Finds the IP address of a client. It trusts X-Forwarded-For only as far as trusted proxies have written it."""

    def __init__(self, trusted_proxies: Sequence[Network]) -> None:
        """Create the resolver; `trusted_proxies` are the networks of the operator's own proxies."""
        self._trusted = tuple(trusted_proxies)

    def resolve(self, peer: str | None, forwarded_for: Sequence[bytes]) -> str | None:
        """Return the client's IP address in canonical spelling, or None if there is none (a Unix socket).

        `peer` is the address of the socket's peer, `forwarded_for` the values of X-Forwarded-For in their order. If the
        peer is a trusted proxy, the addresses are read from the right: the first that is not a trusted proxy's is the
        client's. At an invalid address, the last valid one is the client's.
        """
        hop = _parse(peer) if peer is not None else None
        if hop is None:
            return None
        if self._trusted and forwarded_for and self._trusts(hop):  # defence: V64 trusted-proxy
            hop = self._walk(hop, forwarded_for)
        return hop.text

    def _walk(self, last: _Peer, forwarded_for: Sequence[bytes]) -> _Peer:
        # From the right: each proxy appends the address that it saw, and whatever is further left may be the client's
        # invention (as in authentik, CVE-2023-36456).
        for value in reversed(b",".join(forwarded_for).split(b",")):  # defence: V64 R21 hop-order
            hop = _parse_hop(value)
            # The last valid hop counts. In authentik a malformed value raised an exception that skipped the password
            # check (CVE-2024-47070).
            if hop is None:  # defence: V65 bad-hop
                break
            last = hop
            if not self._trusts(last):
                break
        return last

    def _trusts(self, hop: _Peer) -> bool:
        return any(hop.address in network for network in self._trusted)


_LANGUAGES_LENGTH = 256

_clean = lru_cache(maxsize=1024)(clean_user_agent)
"""Cached, because most requests have one of a few User-Agents."""


@lru_cache(maxsize=1024)
def _languages(header: bytes | None) -> str | None:
    """Return the beginning of an Accept-Language header as text; browsers list only a few languages."""
    return None if header is None else header[:_LANGUAGES_LENGTH].decode("ascii", "replace")


def client_of(
    scope: Scope, head: RequestHeaders, request_id: str, addresses: ClientAddressResolver
) -> Client:
    """Return the address, User-Agent, request id and languages of the client behind a request."""
    peer = scope.get("client")
    forwarded_for = head.every(b"x-forwarded-for") if b"x-forwarded-for" in head.fields else ()
    address = addresses.resolve(None if peer is None else peer[0], forwarded_for)
    return Client(
        address,
        _clean(head.fields.get(b"user-agent")),
        request_id,
        _languages(head.fields.get(b"accept-language")),
    )
