"""Resolution of the host of a URL, and the decision whether a request may go there."""

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
"""Seconds for the look-up of a host."""

_MOST_LOOKUPS = 32
"""Look-ups at a time. A server for names that never responds keeps a thread for up to half a minute."""


class Resolver(Protocol):
    """The look-up of a host name."""

    async def resolve(self, host: str) -> Sequence[Address]:
        """Return all IPv4 and IPv6 addresses of a host, the best first. Raises OSError."""


class SystemResolver:
    """The resolver of the operating system.

    It has threads of its own: those of the event loop are few, and the connections to the database wait for them.
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
    """Where this service itself can be reached; no request goes there, whatever is allowed."""

    base_url: str
    listeners: Collection[tuple[Address, int]] = ()
    """The address and port of each listening socket; 0.0.0.0 and :: are all addresses of this machine."""

    def has_name(self, target: Target) -> bool:
        """Return whether a URL has the host of `base_url`. On this machine other ports are other programs."""
        own = urlsplit(self.base_url)
        if own.hostname in LOOPBACK_HOSTS:
            port = own.port or (443 if own.scheme == "https" else 80)
            return target.host in LOOPBACK_HOSTS and target.port == port
        return target.host == own.hostname

    def has_address(self, address: Address, port: int) -> bool:
        """Return whether a socket of this service listens there."""
        return any(
            port == own_port and (address == own or (own.is_unspecified and _is_of_this_machine(address)))
            for own, own_port in self.listeners
        )


class Guard:
    """Decides about URLs and the addresses of their hosts. Implements `domain.outbound.OutboundGuard`.

    `development` adds http, and all ports, of this machine.
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
        """Return the addresses to connect to. Raises OutboundError if there is none, or if any is refused."""
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
    """Return the guard of a service with these settings."""
    webhooks = settings[WebhookSettings]
    return Guard(
        resolver,
        _own_addresses(settings),
        allowed_ports=webhooks.allowed_ports,
        allowed_networks=webhooks.allowed_networks,
        development=settings.profile == "development",
    )


def document_guard_of(settings: Settings, resolver: Resolver) -> Guard:
    """Return the guard for documents of clients, which anyone may name: none of another network unless its host is."""
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
