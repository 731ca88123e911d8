"""Receivers on the loopback interface, whose names a scripted resolver knows, and clients that may reach them."""

from collections.abc import AsyncIterator, Callable
from ipaddress import ip_network
from pathlib import Path

import pytest

from domain.outbound import OutboundError, OutboundFailure
from server.outbound.client import Answer, OutboundClient
from server.outbound.guard import Guard, OwnAddresses, Resolver
from tests.certificates import Authority
from tests.receiver import HOST, Names, Receiver

OWN = OwnAddresses("https://auth.test")
BODY = b'{"type": "user.created"}'
HEADERS = {"content-type": "application/json", "user-agent": "Gatewright-Webhooks/1"}

MakeClient = Callable[..., "Client"]


class Client:
    """A client that is asked for what becomes of a request."""

    def __init__(self, guard: Guard, authority: Authority) -> None:
        self.guard = guard
        self._client = OutboundClient(guard, authority.pem)

    async def post(self, url: str, body: bytes = BODY, within: float = 10) -> Answer:
        return await self._client.post(url, headers=HEADERS, body=body, within=within)

    async def failure(self, url: str, within: float = 10) -> OutboundFailure:
        with pytest.raises(OutboundError) as failed:
            await self.post(url, within=within)
        return failed.value.reason


@pytest.fixture(scope="session")
def authority() -> Authority:
    """The authority that the clients trust."""
    return Authority()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A receiver without TLS."""
    async with Receiver() as receiver:
        yield receiver


@pytest.fixture
async def secure(authority: Authority, tmp_path: Path) -> AsyncIterator[Receiver]:
    """A receiver with a valid certificate for hooks.test and its address."""
    async with Receiver(authority.server(tmp_path, "hooks.test", HOST)) as receiver:
        yield receiver


@pytest.fixture
def client(authority: Authority) -> Client:
    """A client as in development, which may reach this machine over http."""
    return Client(Guard(Names({}), OWN, development=True), authority)


@pytest.fixture
def make_client(authority: Authority) -> MakeClient:
    """Make a client as in production: of networks that are not global it may reach only the allowed ones."""

    def make(
        resolver: Resolver,
        *receivers: Receiver,
        allowed: str | None = "127.0.0.0/8",
        own: OwnAddresses = OWN,
        lookup_timeout: float = 3,
    ) -> Client:
        guard = Guard(
            resolver,
            own,
            allowed_ports=[443, *(receiver.port for receiver in receivers)],
            allowed_networks=[] if allowed is None else [ip_network(allowed)],
            lookup_timeout=lookup_timeout,
        )
        return Client(guard, authority)

    return make
