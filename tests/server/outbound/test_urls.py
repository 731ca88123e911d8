"""The form of URLs that requests may be sent to."""

import pytest

from server.outbound.urls import Target, parse_url

HOST = "https://hooks.test"


def parsed(url: str, development: bool = False) -> Target:
    return parse_url(url, allowed_ports=[443, 8443], development=development)


def refusal(url: str, development: bool = False) -> str:
    with pytest.raises(ValueError, match=r"^The .*\.$|^Port .*\.$|neither") as refused:
        parsed(url, development)
    return str(refused.value)


class TestParts:
    @pytest.mark.parametrize(
        ("url", "host", "port", "path", "authority"),
        [
            (HOST, "hooks.test", 443, "/", "hooks.test"),
            (f"{HOST}:443/", "hooks.test", 443, "/", "hooks.test"),
            (f"{HOST}:8443/a/b?c=d", "hooks.test", 8443, "/a/b?c=d", "hooks.test:8443"),
            (f"{HOST}?a=%20&b", "hooks.test", 443, "/?a=%20&b", "hooks.test"),
            (f"{HOST}/?to=https://a@b:1/", "hooks.test", 443, "/?to=https://a@b:1/", "hooks.test"),
            ("https://Hooks.TEST/Path", "hooks.test", 443, "/Path", "hooks.test"),
            ("https://xn--bcher-kva.test/", "xn--bcher-kva.test", 443, "/", "xn--bcher-kva.test"),
            ("https://192.0.2.1/", "192.0.2.1", 443, "/", "192.0.2.1"),
            ("https://[2001:db8::1]:8443/", "2001:db8::1", 8443, "/", "[2001:db8::1]:8443"),
        ],
    )
    def test_are_as_a_request_needs_them(
        self, url: str, host: str, port: int, path: str, authority: str
    ) -> None:
        target = parsed(url)

        assert (target.host, target.port, target.path, target.authority) == (host, port, path, authority)
        assert (None if target.address is None else str(target.address)) in {None, host}
        assert (target.address is None) == host.endswith("test")

    def test_may_be_those_of_this_machine_over_http_in_development(self) -> None:
        for host in ("localhost", "127.0.0.1", "[::1]"):
            target = parsed(f"http://{host}:9000/hook", development=True)

            assert (target.scheme, target.port, target.authority) == ("http", 9000, f"{host}:9000")
        assert parsed("http://localhost/", development=True).authority == "localhost"


@pytest.mark.threat("WH15")
class TestForm:
    @pytest.mark.parametrize(
        "url",
        [
            "",
            "hooks.test",
            "//hooks.test/",
            "https:hooks.test",
            "https:///",
            "https://",
            "ftp://hooks.test/",
            "file:///etc/passwd",
            "HTTPS://hooks.test/",
            f"{HOST}/\r\nX: y",
            f"{HOST}/\n",
            f"{HOST}\r\n",
            f"{HOST}/\t",
            f"{HOST}/a b",
            f"{HOST}/\x00",
            f" {HOST}/",
            f"{HOST}/ ",
            "https://user@hooks.test/",
            "https://user:password@hooks.test/",
            "https://@hooks.test/",
            "https://hooks.test@evil.test/",
            f"{HOST}/#part",
            f"{HOST}#",
            f"{HOST}\\@evil.test/",
            f"{HOST}/a\\b",
            # Cyrillic, a full stop of another script, fullwidth letters, and a letter that lower case makes ASCII.
            "https://h\u043e\u043eks.test/",
            "https://hooks\u3002test/",
            "https://\uff48ooks.test/",
            "https://hoo\u212as.test/",
            f"{HOST}/\u2028",
            f"{HOST}/ä",
            "https://hooks%2etest/",
            "https://hooks.test./",
            "https://localhost./",
            "https://hooks..test/",
            "https://.test/",
            "https://-hooks.test/",
            "https://hooks_a.test/",
            f"https://{'a' * 64}.test/",
            f"https://{'.'.join(['a' * 60] * 5)}/",
            f"{HOST}:/",
            f"{HOST}:+443/",
            f"{HOST}:٤٤٣/",
            "https://[hooks.test]/",
            "https://[::1/",
            "https://::1/",
        ],
    )
    def test_is_of_one_meaning(self, url: str) -> None:
        refusal(url)
        refusal(url, development=True)

    def test_is_not_long(self) -> None:
        assert parsed(f"{HOST}/".ljust(2048, "a")).path.endswith("aaa")
        assert "2048 characters" in refusal(f"{HOST}/".ljust(2049, "a"))
        assert "2048 characters" in refusal(f"{HOST}/" + "a" * 10_000)

    @pytest.mark.parametrize("port", [0, 22, 80, 6379, 444, 65536, 99999])
    def test_has_an_allowed_port(self, port: int) -> None:
        assert f"Port {port} is not allowed. Allowed: 443, 8443." in refusal(f"{HOST}:{port}/")

    def test_is_https(self) -> None:
        for url in (
            "http://hooks.test/",
            "http://hooks.test:443/",
            "http://localhost:443/",
            "http://127.0.0.1:443/",
        ):
            assert "https://" in refusal(url)
        for url in (
            "http://hooks.test:443/",
            "http://10.0.0.1:443/",
            "http://127.0.0.2:443/",
            "http://localhost.:443/",
        ):
            assert "https://" in refusal(url, development=True)
        for port in (0, 65536):
            assert "not allowed" in refusal(f"http://localhost:{port}/", development=True)


@pytest.mark.threat("WH1")
@pytest.mark.parametrize(
    "host",
    [
        *(
            "127.1",
            "127.0.1",
            "0x7f000001",
            "2130706433",
            "0177.0.0.1",
            "127.0.0.01",
            "0x7f.0.0.1",
            "127.0.0.1.",
        ),
        *("1", "0", "256.0.0.1", "1.2.3.4.5", "a.1", "a.0x1", "127.0.0.0x1"),
        *(
            "[::FFFF:10.0.0.1]",
            "[::ffff:10.0.0.1]",
            "[0::1]",
            "[0:0:0:0:0:0:0:1]",
            "[::01]",
            "[::1%lo]",
            "[:]",
            "[fe80::1%25eth0]",
        ),
    ],
)
def test_an_address_has_one_spelling(host: str) -> None:
    refusal(f"https://{host}/")
