"""What a handler gives back: a plain shape (200, JSON), or one of these for headers, a redirect or a page."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

Shape = TypeVar("Shape")
Header = tuple[bytes, bytes]
"""A lower-case name and a value, as ASGI wants them."""


@dataclass(frozen=True, slots=True)
class Reply(Generic[Shape]):
    """A JSON body with status 200, and headers such as Set-Cookie beside it."""

    body: Shape = field(repr=False)
    headers: tuple[Header, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Redirect:
    """A way to somewhere else: 302, or 303 after a POST."""

    location: str = field(repr=False)
    headers: tuple[Header, ...] = field(default=(), repr=False)
    status: int = 302
    refused: bool = False
    """Whether it tells of a refusal, so that nothing the rule wrote may stay."""
    defect: Exception | None = field(default=None, repr=False)
    """What nobody foresaw and the redirect tells of, for the log."""


@dataclass(frozen=True, slots=True)
class Page:
    """An HTML page with status 200."""

    html: str
    headers: tuple[Header, ...] = ()
