"""The network addresses that requests may go to."""

from ipaddress import ip_address, ip_network

import pytest

from server.outbound.addresses import is_refused

REFUSED = [
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255"),
    *("127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1", "172.31.255.255"),
    *("192.0.0.1", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255"),
    *("198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "100::1", "fc00::1", "fdff::1", "fe80::1", "febf::1", "fec0::1", "ff02::1", "ff0e::1"),
    *("2001::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "3fff::1", "4000::1", "5f00::1"),
    # Forms that carry an IPv4 address: mapped, compatible, 6to4, Teredo (of the server, of the client), NAT64.
    *("::ffff:10.0.0.1", "::ffff:127.0.0.1", "::ffff:0.0.0.0", "::10.0.0.1", "::8.8.8.8"),
    *("2002:a00:1::", "2002:7f00:1::1", "2002:a9fe:a9fe::1"),
    *("2001:0:a00:1:0:0:f7f7:f7f7", "2001:0:808:808:0:0:80ff:fffe"),
    *(
        "64:ff9b::7f00:1",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::1",
        "64:ff9b:1::8.8.8.8",
        "64:ff9b:1:ffff::8.8.8.8",
    ),
    *("64:ff9b:2::1", "::ffff:0:10.0.0.1"),
]
GLOBAL = [
    *("1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.255.255", "172.32.0.1", "192.0.1.1"),
    *("11.0.0.1", "126.255.255.255", "128.0.0.1", "169.253.255.255", "198.17.255.255", "198.20.0.1"),
    *("223.255.255.255", "2606:4700::1111", "2a00:1450::1", "2001:200::1", "2001:4860:4860::8888"),
    *("::ffff:8.8.8.8", "2002:808:808::1", "2001:0:808:808:0:0:f7f7:f7f7", "64:ff9b::8.8.8.8"),
]


@pytest.mark.threat("WH1")
class TestJudgement:
    @pytest.mark.parametrize("address", REFUSED)
    def test_refuses_an_address_that_is_not_global(self, address: str) -> None:
        assert is_refused(ip_address(address), [])

    @pytest.mark.parametrize("address", GLOBAL)
    def test_allows_a_global_address(self, address: str) -> None:
        assert not is_refused(ip_address(address), [])

    @pytest.mark.parametrize(
        ("address", "network", "refused"),
        [
            ("10.1.2.3", "10.1.0.0/16", False),
            ("10.2.0.1", "10.1.0.0/16", True),
            ("::ffff:10.1.2.3", "10.1.0.0/16", False),
            ("64:ff9b::10.1.2.3", "10.1.0.0/16", False),
            ("fd00::1", "fd00::/8", False),
            ("fe80::1", "fd00::/8", True),
            ("::1", "::1/128", False),
            # What is carried is judged as well where the network itself had to be allowed.
            ("64:ff9b:1::8.8.8.8", "64:ff9b:1::/48", False),
            ("64:ff9b:1::169.254.169.254", "64:ff9b:1::/48", True),
            ("::10.0.0.1", "::/96", True),
            # The unspecified addresses are this machine.
            ("0.0.0.0", "0.0.0.0/0", True),
            ("::", "::/0", True),
            ("::ffff:0.0.0.0", "0.0.0.0/0", True),
        ],
    )
    def test_makes_exceptions_for_allowed_networks(self, address: str, network: str, refused: bool) -> None:
        assert is_refused(ip_address(address), [ip_network(network)]) is refused
