"""The network addresses that requests may go to."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

LOOPBACK: tuple[Network, ...] = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))

# `is_global` of the standard library follows the registries of IANA (RFC 6890) as they were at each release of Python,
# so the networks are listed here.
# defence: WH1 ipv4-networks
_NOT_GLOBAL_IPV4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, where clouds have their metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
# All other networks of IPv6 are loopback, unspecified, unique local, link-local, multicast or reserved.
_GLOBAL_UNICAST = IPv6Network("2000::/3")  # defence: WH1 ipv6-unicast
_NOT_GLOBAL_IPV6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, benchmarks among them
        "2001:db8::/32",  # documentation
        "3fff::/20",  # documentation
    )
)

_NAT64 = IPv6Network("64:ff9b::/96")
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")
_COMPATIBLE = IPv6Network("::/96")


def is_refused(address: Address, allowed_networks: Iterable[Network]) -> bool:
    """Return whether an address, or an IPv4 address in it, is not global and not within `allowed_networks`."""
    return any(
        # 0.0.0.0 and :: connect to this machine, whichever network was allowed.
        # defence: WH1 unspecified
        part.is_unspecified or not (_is_global(part) or any(part in network for network in allowed_networks))
        for part in parts(address)
    )


def parts(address: Address) -> tuple[Address, ...]:
    """Return the addresses that a packet to `address` may reach: itself, or the IPv4 addresses embedded in it."""
    if isinstance(address, IPv4Address):
        return (address,)
    last = IPv4Address(int(address) & 0xFFFFFFFF)
    if address.ipv4_mapped is not None or address in _NAT64:
        return (last,)
    if address.sixtofour is not None:  # defence: WH1 6to4
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if address in _LOCAL_NAT64 or (address in _COMPATIBLE and int(address) > 1):
        return (address, last)
    return (address,)


def _is_global(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_GLOBAL_IPV4)
    return address in _GLOBAL_UNICAST and not any(address in network for network in _NOT_GLOBAL_IPV6)
