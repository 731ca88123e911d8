"""The headers of one request, and the few readings of them that the stages share."""

import re
from collections.abc import Iterable, Sequence

Headers = Iterable[tuple[bytes, bytes]]

_BEARER = re.compile(rb"bearer +([A-Za-z0-9_-]+)", re.IGNORECASE)  # defence: V28 bearer-scheme
_SCHEME = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?: .*)?", re.DOTALL)

_WHITE_SPACE = b" \t"
"""The whitespace around a header value that is not part of it (RFC 9110, 5.5)."""

MALFORMED = ""
"""Stands for a credential that is there and cannot be one."""


class RequestHeaders:
    """The headers of a request by name, lower case as ASGI gives them; `repeated` when a name occurs twice.

    `headers` are as they were sent; `fields` and `every` have values without white space around them.
    """

    __slots__ = ("fields", "headers", "repeated")

    def __init__(self, headers: Headers) -> None:
        self.headers = headers if isinstance(headers, list) else list(headers)
        self.fields = {name: value.strip(_WHITE_SPACE) for name, value in self.headers}
        self.repeated = len(self.fields) != len(self.headers)

    def every(self, name: bytes) -> list[bytes]:
        """Return every value sent under a name."""
        if self.repeated:
            return [value.strip(_WHITE_SPACE) for field, value in self.headers if field == name]
        value = self.fields.get(name)
        return [] if value is None else [value]

    def occurs_once(self, name: bytes) -> bool:
        """Return whether exactly one value was sent under a name."""
        return name in self.fields and (not self.repeated or len(self.every(name)) == 1)

    def size(self) -> int:
        """Return the bytes the headers took on the wire: each name and value, a colon, a space and the line's end."""
        size = 4 * len(self.headers)
        for name, value in self.headers:
            size += len(name) + len(value)
        return size

    def cookies(self, name: bytes) -> Sequence[str]:
        """Return the raw values of the cookies of a name, each value once: browsers keep a cookie for each Domain and
        Path.

        Only the cookies asked for are read, so that no other one, however broken, can hide them.
        """
        sent = self.fields.get(b"cookie")
        if sent is None:
            return ()
        if self.repeated:
            sent = b";".join(self.every(b"cookie"))  # defence: V27 cookie-headers
        # As it comes when it is the only one, and could be read below, too, in twice as long.
        first, _, rest = sent.partition(b"=")
        if first == name and rest.isalnum():
            return (rest.decode("ascii"),)
        # Not by `in`: for bytes, Python would first try whether they are a number, and make an exception of it.
        if sent.find(name) < 0:  # defence: V41 cookie-name-shortcut
            return ()
        values: dict[str, None] = {}  # defence: V27 broken-cookie
        for pair in sent.split(b";"):
            key, _, value = pair.partition(b"=")
            if key.strip(b" \t") == name:  # defence: V41 cookie-name
                values[value.strip(b" \t").decode("latin-1")] = None  # defence: V27 cookie-bytes
        return tuple(values)

    def is_navigation(self) -> bool:
        """Return whether a browser opens, prefetches or embeds a page, which mail scanners do, too."""
        mode = self.fields.get(b"sec-fetch-mode")
        if mode is None and b"text/html" in b",".join(self.every(b"accept")).lower():
            return True
        # A program's fetch says `cors` or `same-origin`; an image or a frame does not.
        is_fetch = mode in (None, b"cors", b"same-origin")  # defence: M8 embedded
        return not is_fetch or b"sec-purpose" in self.fields  # defence: M1 navigation

    def bearer(self) -> str | None:
        """Return the token of the Authorization header.

        None without such a header or with another scheme, which a proxy may use for itself. MALFORMED for
        several headers, for a value that is no credential, and for a bearer token of impossible characters.
        """
        value = self.fields.get(b"authorization")
        if value is None:
            return None
        if self.repeated and not self.occurs_once(b"authorization"):  # defence: V28 one-authorization
            return MALFORMED
        # As clients write it, and the pattern would read it, too, in five times as long.
        token: bytes = value[7:]
        if value.startswith(b"Bearer ") and token.isalnum():
            return token.decode("ascii")
        found = _BEARER.fullmatch(value)
        if found is not None:
            return found[1].decode("ascii")
        scheme = _SCHEME.fullmatch(value)  # defence: V28 authorization-bytes
        # defence: V28 malformed-authorization
        return MALFORMED if scheme is None or scheme[1].lower() == b"bearer" else None

    def has_bearer(self) -> bool:
        """Return whether an Authorization header has the scheme Bearer, which other origins cannot send unasked."""
        if b"authorization" not in self.fields:
            return False
        values = (value.partition(b" ")[0].lower() for value in self.every(b"authorization"))
        return b"bearer" in values
