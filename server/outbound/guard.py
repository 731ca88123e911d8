"""Resolve the host of a URL, and decide whether a request may be sent to its addresses."""

import asyncio
import socket
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from typing import Protocol
from urllib.parse import urlsplit

from domain.outbound import OutboundError, OutboundFailure
from server.config.base import Settings
from server.config.groups.oauth import OAuthSettings
from server.config.groups.observability import MetricsSettings
from server.config.groups.server import ServerSettings
from server.config.groups.webhooks import WebhookSettings
from server.outbound.addresses import LOOPBACK, Address, Network, is_refused, parts
from server.outbound.urls import LOOPBACK_HOSTS, Target, parse_url

LOOKUP_TIMEOUT = 3.0
"""Timeout in seconds of the look-up of a host."""

_MOST_LOOKUPS = 32
"""Look-ups at a time. A server for names that never responds keeps a thread for up to half a minute."""


class Resolver(Protocol):
    """The look-up of a host name."""

    async def resolve(self, host: str) -> Sequence[Address]:
        """Return all IPv4 and IPv6 addresses of a host, in the order of preference. Raises OSError."""


class SystemResolver:
    """The resolver of the operating system, in threads of its own.

    The few threads of the event loop are needed by connections to the database.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_MOST_LOOKUPS, "outbound-lookup")

    async def resolve(self, host: str) -> Sequence[Address]:
        """Return all addresses of a host, in the order of RFC 6724. Raises OSError."""
        look_up = partial(socket.getaddrinfo, host, None, type=socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, look_up)
        return [ip_address(str(place[0]).partition("%")[0]) for *_, place in found]


@dataclass(frozen=True, slots=True)
class OwnAddresses:
    """The URL and sockets of this service. Requests to them are always refused."""

    base_url: str
    listeners: Collection[tuple[Address, int]] = ()
    """The address and port of each listening socket; 0.0.0.0 and :: stand for all addresses of this machine."""

    def has_name(self, target: Target) -> bool:
        """Return whether a URL has the host of `base_url`.

        If `base_url` has a loopback host, a URL with any loopback host and the same port matches.
        """
        own = urlsplit(self.base_url)
        if own.hostname in LOOPBACK_HOSTS:
            port = own.port or (443 if own.scheme == "https" else 80)
            return target.host in LOOPBACK_HOSTS and target.port == port
        return target.host == own.hostname

    def has_address(self, address: Address, port: int) -> bool:
        """Return whether a socket of this service listens on this address and port."""
        return any(
            port == own_port and (address == own or (own.is_unspecified and _is_of_this_machine(address)))
            for own, own_port in self.listeners
        )


class Guard:
    """Decides to which URLs and addresses requests may be sent. Implements `domain.outbound.OutboundGuard`.

    Only global addresses and those in `allowed_networks` are allowed, except those of this service. `development` also
    allows http and all ports on this machine. `lookup_timeout` is in seconds.
    """

    def __init__(
        self,
        resolver: Resolver,
        own: OwnAddresses,
        *,
        allowed_ports: Collection[int] = (443,),
        allowed_networks: Collection[Network] = (),
        development: bool = False,
        lookup_timeout: float = LOOKUP_TIMEOUT,
    ) -> None:
        self._resolver = resolver
        self._own = own
        self._parse = partial(parse_url, allowed_ports=allowed_ports, development=development)
        self._allowed_networks = (*allowed_networks, *(LOOPBACK if development else ()))
        self._lookup_timeout = lookup_timeout

    async def check(self, url: str) -> None:
        """Check the form of a URL and every address of its host. Raises OutboundError."""
        await self.resolve(self.parse(url))

    def parse(self, url: str) -> Target:
        """Return the parts of a URL. Raises OutboundError if its form, scheme or port is not allowed."""
        try:
            return self._parse(url)
        except ValueError as error:
            raise OutboundError(OutboundFailure.REFUSED_ADDRESS, str(error)) from None

    async def resolve(self, target: Target) -> Sequence[Address]:
        """Look up the host of a URL; return its addresses. Raises OutboundError for none, or if any is not allowed."""
        if self._own.has_name(target):  # defence: WH20 own-name
            raise OutboundError(OutboundFailure.REFUSED_ADDRESS, "The URL is one of this service.")
        addresses = [target.address] if target.address is not None else await self._look_up(target.host)
        for address in addresses:  # defence: WH2 every-address
            if self._is_refused(address, target.port):
                raise OutboundError(
                    OutboundFailure.REFUSED_ADDRESS, "The host has an address that is not allowed."
                )
        return addresses

    async def _look_up(self, host: str) -> Sequence[Address]:
        try:
            async with asyncio.timeout(self._lookup_timeout):
                addresses = await self._resolver.resolve(host)
        except OSError:  # TimeoutError is one of them.
            addresses = ()
        if not addresses:
            raise OutboundError(OutboundFailure.DNS, "The host name has no address.")
        return list(dict.fromkeys(addresses))

    def _is_refused(self, address: Address, port: int) -> bool:
        if is_refused(address, self._allowed_networks):  # defence: WH1 WH2 refused-address
            return True
        return any(self._own.has_address(part, port) for part in parts(address))  # defence: WH20 own-address


def guard_of(settings: Settings, resolver: Resolver) -> Guard:
    """Return the guard for webhooks and identity providers. `resolver` looks up the host names."""
    webhooks = settings[WebhookSettings]
    return Guard(
        resolver,
        _own_addresses(settings),
        allowed_ports=webhooks.allowed_ports,
        allowed_networks=webhooks.allowed_networks,
        development=settings.profile == "development",
    )


def document_guard_of(settings: Settings, resolver: Resolver) -> Guard:
    """Return the guard for metadata documents of clients.

    Anyone may choose their URLs, so `allowed_networks` counts only if `client_document_hosts` limits the hosts.
    """
    hosts = settings[OAuthSettings].client_document_hosts
    return Guard(
        resolver,
        _own_addresses(settings),
        # defence: O27 public-only
        allowed_networks=settings[WebhookSettings].allowed_networks if hosts else (),
        development=settings.profile == "development",
    )


def _own_addresses(settings: Settings) -> OwnAddresses:
    server, metrics = settings[ServerSettings], settings[MetricsSettings]
    sockets = [(server.host, server.port), *([] if metrics.port is None else [(metrics.host, metrics.port)])]
    listeners = [(address, port) for host, port in sockets for address in _listening(host)]
    return OwnAddresses(settings.base_url, listeners)


def _listening(host: str) -> Sequence[Address]:
    """Return the addresses that a server with this setting listens on; of a name all that this machine has."""
    if host == "localhost":
        return [ip_address("127.0.0.1"), ip_address("::1")]
    try:
        return [ip_address(host)]
    except ValueError:
        return [ip_address("0.0.0.0"), ip_address("::")]  # noqa: S104 - for comparing


def _is_of_this_machine(address: Address) -> bool:
    """Return whether an interface of this machine has an address: only then a socket can be bound to it."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True
