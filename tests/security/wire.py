"""Requests that no client library sends: every byte as the test says, to a service in a process of its own."""

import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson

TIMEOUT = 10.0
"""Seconds after which a test gives up on the service."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One answer as it came over the wire, header names in lower case."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def json(self) -> Any:
        """The parsed body."""
        return orjson.loads(self.body)

    @property
    def code(self) -> str:
        """Status and code of an error, as in `401 UNAUTHORIZED`; of a success only the status."""
        return str(self.status) if self.status < 400 else f"{self.status} {self.json['code']}"

    def every(self, name: str) -> list[str]:
        """Return every value of a header."""
        return [value for field, value in self.headers if field == name]


def ask(url: str, request_line: str, *headers: bytes, body: bytes = b"") -> Heard:
    """Send one request on a connection of its own; `{host}` in a header stands for the service's own address."""
    address = urlsplit(url).netloc
    lines = [request_line.encode("latin-1"), *(line.replace(b"{host}", address.encode()) for line in headers)]
    if body:
        lines += [b"Content-Type: application/json", b"Content-Length: %d" % len(body)]
    raw = b"\r\n".join([*lines, b"Connection: close", b"", body])
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=TIMEOUT) as connection:
        connection.sendall(raw)
        return _heard(b"".join(iter(lambda: connection.recv(65536), b"")))


def _heard(raw: bytes) -> Heard:
    head, _, body = raw.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    pairs = [line.partition(":") for line in lines]
    return Heard(int(status.split()[1]), [(name.lower(), value.strip()) for name, _, value in pairs], body)
