"""Requests that no well-behaved client sends: straight into the application, every byte as the test says."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import unquote

import orjson

Headers = list[tuple[bytes, bytes]]


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: Headers
    body: bytes

    @property
    def json(self) -> Any:
        """The parsed body."""
        return orjson.loads(self.body)

    def every(self, name: str) -> list[str]:
        """Return every value of a header."""
        return [value.decode() for field, value in self.headers if field == name.encode()]

    def header(self, name: str) -> str | None:
        """Return the value of a header that must not be there twice."""
        values = self.every(name)
        assert len(values) < 2
        return values[0] if values else None


async def ask(
    app: Any,
    method: str,
    target: str,
    headers: Iterable[tuple[str, str | bytes]] = (),
    pieces: Iterable[bytes] = (b"",),
) -> Answer:
    """Send one request whose body arrives in these pieces; a piece that is never asked for is never sent."""
    path, _, query = target.partition("?")
    sent = [(name.encode(), value if isinstance(value, bytes) else value.encode()) for name, value in headers]
    scope = {
        "type": "http",
        "method": method,
        "http_version": "1.1",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"host", b"auth.test"), *sent],
        "client": ("192.0.2.1", 5000),
    }
    source = iter(pieces)
    waiting = list(islice(source, 1))
    messages: list[Any] = []

    async def receive() -> Any:
        if not waiting:
            return {"type": "http.disconnect"}
        piece = waiting.pop()
        waiting.extend(islice(source, 1))
        return {"type": "http.request", "body": piece, "more_body": bool(waiting)}

    async def send(message: Any) -> None:
        messages.append(message)

    await app(scope, receive, send)
    return Answer(messages[0]["status"], messages[0]["headers"], messages[1]["body"])
