"""The guard of a service with its settings: which URLs it lets users choose."""

from collections.abc import Callable
from pathlib import Path

import pytest

from domain.outbound import OutboundError, OutboundFailure, OutboundGuard
from server.outbound.guard import guard_of
from server.services import load_settings
from tests.receiver import Names
from tests.service import environment

NAMES = {
    "hooks.test": [["8.8.8.8", "2606:4700::1111"]],
    "inner.test": [["10.1.2.3"]],
    "localhost": [["127.0.0.1", "::1"]],
}
PRODUCTION = {
    "profile": "production",
    "base_url": "https://auth.test",
    "secrets": "0123456789abcdef0123456789abcdef",
    "mail.sender": "none",
    "webhooks.allowed_ports": "443,8443",
}

MakeGuard = Callable[..., OutboundGuard]


@pytest.fixture
def make_guard(tmp_path: Path) -> MakeGuard:
    """Make the guard of a service with settings such as `webhooks.allowed_ports`."""

    def make(**settings: str) -> OutboundGuard:
        values = {name.replace("__", "."): value for name, value in settings.items()}
        loaded = load_settings(environment("sqlite:///absent.db", tmp_path / "mail", values), tmp_path)
        return guard_of(loaded, Names(NAMES))

    return make


async def refusal(guard: OutboundGuard, url: str) -> OutboundFailure | None:
    try:
        await guard.check(url)
    except OutboundError as error:
        return error.reason
    return None


class TestInDevelopment:
    async def test_receivers_may_be_on_this_machine(self, make_guard: MakeGuard) -> None:
        guard = make_guard()

        for url in (
            "http://localhost:9000/",
            "http://127.0.0.1:9000/",
            "https://[::1]:1/",
            "https://hooks.test/",
        ):
            assert await refusal(guard, url) is None, url
        for url in ("https://inner.test/", "http://hooks.test/", "https://hooks.test:9000/"):
            assert await refusal(guard, url) == OutboundFailure.REFUSED_ADDRESS, url

    @pytest.mark.threat("WH20")
    async def test_they_are_not_this_service(self, make_guard: MakeGuard) -> None:
        guard = make_guard(
            base_url="http://localhost:8100",
            server__port="8200",
            server__host="0.0.0.0",
            metrics__port="9464",
        )

        for port in (8100, 8200, 9464):
            for host in ("localhost", "127.0.0.1", "[::1]"):
                expected = None if (host, port) == ("[::1]", 9464) else OutboundFailure.REFUSED_ADDRESS
                assert await refusal(guard, f"http://{host}:{port}/") == expected, (host, port)


class TestInProduction:
    async def test_receivers_are_outside(self, make_guard: MakeGuard) -> None:
        guard = make_guard(**PRODUCTION)

        for url in ("https://hooks.test/", "https://hooks.test:8443/", "https://1.1.1.1/"):
            assert await refusal(guard, url) is None, url
        for url in (
            *("https://inner.test/", "https://localhost/", "https://10.1.2.3/", "http://hooks.test/"),
            *("https://hooks.test:80/", "https://auth.test/", "https://auth.test:8443/"),
        ):
            assert await refusal(guard, url) == OutboundFailure.REFUSED_ADDRESS, url
        assert await refusal(guard, "https://unknown.test/") == OutboundFailure.DNS

    async def test_they_may_be_in_a_network_of_the_operator(self, make_guard: MakeGuard) -> None:
        guard = make_guard(**PRODUCTION, webhooks__allowed_networks="10.1.0.0/16")

        assert await refusal(guard, "https://inner.test/") is None
        assert await refusal(guard, "https://10.2.0.1/") == OutboundFailure.REFUSED_ADDRESS

    async def test_a_refusal_says_what_to_change_and_names_no_address(self, make_guard: MakeGuard) -> None:
        guard = make_guard(**PRODUCTION)

        for url, message in (
            ("https://hooks.test:22/", "Port 22 is not allowed. Allowed: 443, 8443."),
            ("https://inner.test/", "The host has an address that is not allowed."),
            ("https://auth.test/", "The URL is one of this service."),
            ("https://unknown.test/", "The host name has no address."),
            ("http://hooks.test/", "The URL must begin with https://."),
        ):
            with pytest.raises(OutboundError) as refused:
                await guard.check(url)
            assert str(refused.value) == message
