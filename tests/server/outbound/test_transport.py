"""The transport of httpx, which sends requests only where the guard allows."""

from ipaddress import ip_network

import httpx
import pytest

from server.outbound.guard import Guard
from server.outbound.transport import GuardedTransport
from tests.certificates import Authority
from tests.receiver import Names, Receiver, respond
from tests.server.outbound.conftest import OWN


async def _get(names: Names, receiver: Receiver, authority: Authority, *, allowed: bool) -> int:
    networks = ["127.0.0.0/8"] if allowed else []
    guard = Guard(
        names, OWN, allowed_ports=[receiver.port], allowed_networks=[ip_network(each) for each in networks]
    )
    async with httpx.AsyncClient(transport=GuardedTransport(guard, authority.pem)) as client:
        answers = [await client.get(receiver.url(host="hooks.test")) for _ in range(2)]
    return sum(answer.status_code for answer in answers)


async def test_a_request_goes_to_the_judged_address_with_the_name_of_the_url(
    secure: Receiver, authority: Authority
) -> None:
    secure.otherwise = respond(200, b"{}")
    names = Names({"hooks.test": [["127.0.0.3", "127.0.0.1"]]})

    assert await _get(names, secure, authority, allowed=True) == 400
    assert [request.headers["host"] for request in secure.requests] == [f"hooks.test:{secure.port}"] * 2
    assert secure.connections == 2


@pytest.mark.threat("SSO14")
async def test_an_address_that_is_not_allowed_is_not_called(secure: Receiver, authority: Authority) -> None:
    names = Names({"hooks.test": [["127.0.0.1"]]})

    with pytest.raises(httpx.ConnectError, match="refused_address"):
        await _get(names, secure, authority, allowed=False)
    assert secure.connections == 0


async def test_a_certificate_must_be_that_of_the_name(secure: Receiver, authority: Authority) -> None:
    names = Names({"else.test": [["127.0.0.1"]]})
    guard = Guard(names, OWN, allowed_ports=[secure.port], allowed_networks=[ip_network("127.0.0.0/8")])

    async with httpx.AsyncClient(transport=GuardedTransport(guard, authority.pem)) as client:
        with pytest.raises(httpx.ConnectError, match="certificate"):
            await client.get(secure.url(host="else.test"))
