"""Where a server listens is said as addresses are written (RFC 3986, 3.2.2)."""

import socket

import pytest

from server.http.server import Config, bound


@pytest.mark.parametrize(
    ("host", "written"), [("127.0.0.1", "127.0.0.1"), ("localhost", "localhost"), ("::1", "[::1]")]
)
def test_an_address_of_ipv6_stands_in_brackets(host: str, written: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        assert bound(Config("", host=host, log_config=None), listener) == f"{written}:{port}"
