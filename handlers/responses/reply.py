"""The classes of results that handlers return.

A handler returns a plain shape for a 200 response in JSON, and an instance of one of these classes for another status,
header or format.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Shape = TypeVar("Shape")
Header = tuple[bytes, bytes]
"""A header: its name in lower case and its value, as in ASGI."""


@dataclass(frozen=True, slots=True)
class Reply(Generic[Shape]):
    """A response with a JSON body, and with headers such as Set-Cookie."""

    # Never in a `repr`, which may be logged: bodies and headers contain tokens.
    body: Shape = field(repr=False)
    headers: tuple[Header, ...] = field(default=(), repr=False)
    status: int = 200
    opens_session: bool = False
    """Whether the response contains the token of a new session."""


# Not frozen: creating a frozen one takes three times as long, and only frequent responses are rendered before.
@dataclass(slots=True)
class Rendered:
    """A response with a body that is already rendered as JSON."""

    json: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirect. In response to a POST, its status is always 303."""

    location: str = field(repr=False)
    headers: tuple[Header, ...] = field(default=(), repr=False)
    status: int = 302
    opens_session: bool = False
    """Whether the redirect sets the cookie of a new session."""
    defect: Exception | None = field(default=None, repr=False)
    """The unexpected exception behind the redirect, for the log."""


@dataclass(frozen=True, slots=True)
class NoContent:
    """An empty response (204)."""


@dataclass(frozen=True, slots=True)
class SamlDocument:
    """The SAML metadata of this service."""

    xml: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Document:
    """A public JSON document that caches may keep for `max_age` seconds."""

    body: bytes = field(repr=False)
    etag: bytes
    max_age: int


@dataclass(frozen=True, slots=True)
class Page:
    """An HTML page."""

    html: str = field(repr=False)
    headers: tuple[Header, ...] = field(default=(), repr=False)
    status: int = 200


@dataclass(frozen=True, slots=True)
class Download:
    """A JSON document that the browser saves under a name."""

    body: bytes = field(repr=False)
    name: str


@dataclass(frozen=True, slots=True)
class Stream:
    """A file that the browser saves under a name, sent in parts as fast as the client receives them.

    `parts` is closed at its end, or when the client has disconnected.
    """

    parts: AsyncGenerator[bytes, None] = field(repr=False)
    content_type: bytes
    name: str
