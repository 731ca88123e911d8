"""Client addresses and User-Agents."""

from ipaddress import ip_network

import pytest

from server.api.client_address import ClientAddressResolver, clean_user_agent

WITHOUT_PROXIES = ClientAddressResolver(())
PROXIES = ClientAddressResolver(
    [ip_network(network) for network in ("10.0.0.0/8", "192.0.2.7/32", "fd00::/8")]
)


class TestWithoutProxies:
    @pytest.mark.threat("V64")
    @pytest.mark.parametrize(
        "header",
        [
            b"203.0.113.9",
            b"a",
            b"",
            b",",
            b"127.0.0.1",
            b"\xf0\x9f\x98\x80",
            b"1.2.3.4, 5.6.7.8",
            b"9" * 8192,
        ],
    )
    def test_the_socket_decides(self, header: bytes) -> None:
        assert WITHOUT_PROXIES.resolve("198.51.100.1", [header, header]) == "198.51.100.1"

    @pytest.mark.threat("V63")
    @pytest.mark.parametrize(
        ("peer", "address"),
        [
            ("198.51.100.1", "198.51.100.1"),
            ("::ffff:198.51.100.1", "198.51.100.1"),
            ("::FFFF:c633:6401", "198.51.100.1"),
            ("2001:DB8:0:0::1", "2001:db8::1"),
            ("fe80::1%eth0", "fe80::1"),
            (None, None),
            ("", None),
            ("/run/gatewright.sock", None),
            ("testclient", None),
        ],
    )
    def test_an_address_has_one_spelling(self, peer: str | None, address: str | None) -> None:
        assert WITHOUT_PROXIES.resolve(peer, []) == address


class TestBehindProxies:
    @pytest.mark.parametrize(
        ("headers", "address"),
        [
            ([], "10.0.0.1"),
            ([b"203.0.113.9"], "203.0.113.9"),
            ([b"1.1.1.1, 203.0.113.9"], "203.0.113.9"),
            ([b"1.1.1.1", b"203.0.113.9"], "203.0.113.9"),
            ([b"203.0.113.9", b"10.2.2.2"], "203.0.113.9"),
            ([b"1.1.1.1,203.0.113.9\t,\t10.2.2.2 ,192.0.2.7"], "203.0.113.9"),
            ([b"1.1.1.1, 192.0.2.8, 10.2.2.2"], "192.0.2.8"),
            ([b"10.3.3.3, 10.2.2.2"], "10.3.3.3"),
            ([b"203.0.113.9:4711"], "203.0.113.9"),
            ([b"[2001:db8::1]:4711"], "2001:db8::1"),
            ([b"[2001:DB8:0::1]"], "2001:db8::1"),
            ([b"2001:db8::1"], "2001:db8::1"),
            ([b"2001:db8::1, fd00::5"], "2001:db8::1"),
            ([b"::ffff:203.0.113.9"], "203.0.113.9"),
            ([b"203.0.113.9, ::ffff:10.2.2.2"], "203.0.113.9"),
        ],
    )
    def test_walks_from_the_right_to_the_first_untrusted_hop(
        self, headers: list[bytes], address: str
    ) -> None:
        assert PROXIES.resolve("10.0.0.1", headers) == address

    @pytest.mark.threat("V65")
    @pytest.mark.parametrize(
        "value",
        [
            b"a",
            b"",
            b",",
            b" ",
            b"999.1.1.1",
            b"1.2.3",
            b"1.2.3.4.5",
            b"0x7f.0.0.1",
            b"2130706433",
            b"01.2.3.4",
            b"1.2.3.4:",
            b"1.2.3.4:x",
            b"1.2.3.4:123456",
            b"[1.2.3.4]:80x",
            b"[::1",
            b"::1]",
            b"[::1]x",
            b"fe80::1%eth0",
            b"unknown",
            b"_hidden",
            b'"1.2.3.4"',
            b"for=1.2.3.4",
            b"\xff",
            b"\xf0\x9f\x98\x80",
            b"1.2.3.4\n",
            b"1.2.3.4\x00",
            b"9" * 8192,
            b"." * 8192,
            b"\xd9\xa1.2.3.4",
        ],
    )
    def test_what_is_no_address_ends_the_walk(self, value: bytes) -> None:
        assert PROXIES.resolve("10.0.0.1", [value]) == "10.0.0.1"
        assert PROXIES.resolve("10.0.0.1", [b"203.0.113.9, " + value + b", 10.2.2.2"]) == "10.2.2.2"

    def test_a_stranger_s_header_is_not_read(self) -> None:
        assert PROXIES.resolve("198.51.100.1", [b"203.0.113.9"]) == "198.51.100.1"

    def test_a_proxy_in_the_clothes_of_ipv6_is_trusted(self) -> None:
        assert PROXIES.resolve("::ffff:10.0.0.1", [b"203.0.113.9"]) == "203.0.113.9"

    def test_a_unix_socket_has_no_address(self) -> None:
        assert PROXIES.resolve(None, [b"203.0.113.9"]) is None

    def test_long_chains_end(self) -> None:
        assert PROXIES.resolve("10.0.0.1", [b",".join([b"10.0.0.2"] * 1500)]) == "10.0.0.2"


class TestCleanUserAgent:
    @pytest.mark.parametrize(
        ("raw", "kept"),
        [
            (None, None),
            (b"", None),
            (b"\x01\x02", None),
            (b"Mozilla/5.0 (X11)", "Mozilla/5.0 (X11)"),
            (b"a\tb\x00c\x7fd\r\ne", "abcde"),
            ("Grüße \u0085\u2028😀".encode(), "Grüße 😀"),
            (b"caf\xe9", "caf\ufffd"),
            (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
        ],
    )
    def test_keeps_what_is_harmless(self, raw: bytes | None, kept: str | None) -> None:
        assert clean_user_agent(raw) == kept

    @pytest.mark.threat("R34")
    def test_cuts_at_512_characters(self) -> None:
        assert clean_user_agent(b"x" * 16_000) == "x" * 512
        assert clean_user_agent(b"\x00" * 512 + "é".encode() * 600) == "é" * 512
