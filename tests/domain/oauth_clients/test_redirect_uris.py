"""Which URIs a client may register, and which a request may then name."""

import pytest

from domain.oauth_clients import redirect_uris
from domain.oauth_clients.redirect_uris import ApplicationType

REGISTERED = (
    "https://shop.example/callback",
    "https://shop.example/with?query=1",
    "com.example.shop:/callback",
    "http://127.0.0.1/callback",
    "http://[::1]:8080/callback?x=1",
)


def is_allowed(uri: str, kind: ApplicationType = "web", *, is_development: bool = False) -> bool:
    """Return whether a client of a service in production may register the URI."""
    return redirect_uris.is_allowed(uri, kind, is_development=is_development)


@pytest.mark.parametrize(
    "uri",
    [
        "https://shop.example/callback",
        "https://shop.example",
        "https://shop.example:8443/a/b?c=d&e=%20f",
        "https://192.0.2.7/callback",
        "https://[2001:db8::7]/callback",
    ],
)
def test_https_is_for_every_client(uri: str) -> None:
    assert is_allowed(uri)
    assert is_allowed(uri, "native")


@pytest.mark.parametrize(
    "uri",
    [
        "http://127.0.0.1/callback",
        "http://127.0.0.1:49152/callback",
        "http://[::1]/callback",
        "com.example.shop:/callback",
        "com.example.shop://callback",
        "com.example.shop:///callback",
        "com.example.shop:/",
    ],
)
@pytest.mark.threat("O13")
def test_what_only_native_applications_have(uri: str) -> None:
    assert is_allowed(uri, "native")
    assert not is_allowed(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "http://localhost:3000/callback",
        "http://127.0.0.1:3000/",
        "http://[::1]/",
        "https://localhost/callback",
    ],
)
@pytest.mark.threat("O13")
def test_web_applications_of_this_machine_are_for_development(uri: str) -> None:
    assert is_allowed(uri, is_development=True)
    assert not is_allowed(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "/callback",
        "//shop.example/callback",
        "https:/shop.example/callback",
        "https:shop.example",
        "https://",
        "https:///callback",
        "HTTPS://shop.example/callback",
        "http://shop.example/callback",
        "https://shop.example/callback#fragment",
        "https://shop.example/callback#",
        "https://user@shop.example/callback",
        "https://user:password@shop.example/callback",
        "https://shop.example\\@evil.example/callback",
        "https://shop.example/../callback",
        "https://shop.example/a/%2e%2e/callback",
        "https://shop.example/a/.%2E/callback",
        "https://*.shop.example/callback",
        "https://shop.example/*",
        "https://shop.example:0/callback",
        "https://shop.example:65536/callback",
        "https://shop.example:/callback",
        "https://shop.example./callback",
        "https://shop..example/callback",
        "https://2130706433/callback",
        "https://127.1/callback",
        "https://0x7f000001/callback",
        "https://127.0.0.2/callback",
        "https://[::ffff:127.0.0.1]/callback",
        "https://[::1/callback",
        "https://[zz]/callback",
        "https://app.localhost/callback",
        "https://shöp.example/callback",
        "https://shop.example/cällback",
        "https://shop.example/call back",
        "https://shop.example/call\nback",
        "https://shop.example/call\tback",
        "https://shop.example/%zz",
        'https://shop.example/"',
        "https://shop.example/<script>",
        "https://shop.example/{a}",
        "javascript:alert(1)",
        "javascript://shop.example/%0aalert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "blob:https://shop.example/1",
        "urn:ietf:wg:oauth:2.0:oob",
        "shop:/callback",
        "com.example.shop:callback",
        "com.example.shop://",
        "com.example.shop:////evil.example",
        "com.example.shop://user@host/callback",
        "com.example.shop:/../callback",
        "com.example.shop:/callback#x",
        "http://localhost/callback",
        "http://127.0.0.1.evil.example/callback",
        "http://127.0.0.1@evil.example/callback",
        "https://shop.example/" + "a" * 2028,
    ],
)
@pytest.mark.threat("O1")
def test_what_no_client_may_register(uri: str) -> None:
    assert not is_allowed(uri)
    assert not is_allowed(uri, "native")


@pytest.mark.parametrize("uri", REGISTERED)
def test_a_registered_uri_matches(uri: str) -> None:
    assert redirect_uris.matches(REGISTERED, uri)


@pytest.mark.parametrize(
    "uri",
    [
        "http://127.0.0.1:1/callback",
        "http://127.0.0.1:65535/callback",
        "http://[::1]/callback?x=1",
        "http://[::1]:1234/callback?x=1",
    ],
)
def test_a_loopback_literal_matches_with_any_port(uri: str) -> None:
    assert redirect_uris.matches(REGISTERED, uri)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "https://shop.example/callbac",
        "https://shop.example/callback/",
        "https://shop.example/callback/more",
        "https://shop.example/callback?x=1",
        "https://shop.example/callback?",
        "https://shop.example/callback#x",
        "https://shop.example/with",
        "https://shop.example/with?query=2",
        "https://shop.example/with?query=1&x=2",
        "https://shop.example/../callback",
        "https://shop.example//callback",
        "//shop.example/callback",
        "https://shop.example/CALLBACK",
        "https://SHOP.example/callback",
        "HTTPS://shop.example/callback",
        "http://shop.example/callback",
        "https://shop.example:443/callback",
        "https://shop.example:8443/callback",
        "https://user@shop.example/callback",
        "https://shop.example@evil.example/callback",
        "https://shop.example.evil.example/callback",
        "https://evil.example/https://shop.example/callback",
        " https://shop.example/callback",
        "https://shop.example/callback\n",
        "https://shop.example/callb%61ck",
        "javascript:https://shop.example/callback",
        "com.example.shop:/callback/",
        "com.example.shop://callback",
        "http://localhost/callback",
        "http://localhost:8080/callback",
        "http://127.0.0.1/other",
        "http://127.0.0.1:0/callback",
        "http://127.0.0.1:65536/callback",
        "http://127.0.0.1:08080/callback",
        "http://127.0.0.1:/callback",
        "http://127.0.0.1:80@evil.example/callback",
        "http://127.0.0.2/callback",
        "http://127.1/callback",
        "https://127.0.0.1/callback",
        "http://[::1]/callback",
        "http://[0:0:0:0:0:0:0:1]/callback?x=1",
    ],
)
@pytest.mark.threat("O1")
def test_everything_else_does_not_match(uri: str) -> None:
    assert not redirect_uris.matches(REGISTERED, uri)


def test_a_port_of_another_host_than_a_loopback_literal_is_not_free() -> None:
    registered = ("https://shop.example:8443/callback", "http://localhost:3000/callback")

    assert not redirect_uris.matches(registered, "https://shop.example/callback")
    assert not redirect_uris.matches(registered, "http://localhost:3001/callback")
