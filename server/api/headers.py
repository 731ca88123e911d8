"""The headers of one request, and the parsing of headers that several stages of the pipeline need."""

import re
from collections.abc import Iterable, Sequence

Headers = Iterable[tuple[bytes, bytes]]

_BEARER = re.compile(rb"bearer +([A-Za-z0-9_-]+)", re.IGNORECASE)  # defence: V28 bearer-scheme
_SCHEME = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?: .*)?", re.DOTALL)

_WHITE_SPACE = b" \t"
"""The whitespace around a header value that is not part of it (RFC 9110, 5.5)."""

MALFORMED = ""
"""The value for a credential that was sent but is malformed."""


class RequestHeaders:
    """The headers of a request, with lower-case names.

    `headers` is the list of ASGI. `fields` has the last value of each name, without surrounding whitespace; `repeated`
    is true if any name occurs more than once.
    """

    __slots__ = ("fields", "headers", "repeated")

    def __init__(self, headers: Headers) -> None:
        # ASGI servers pass a list, which need not be copied on every request.
        self.headers = headers if isinstance(headers, list) else list(headers)
        self.fields = {name: value.strip(_WHITE_SPACE) for name, value in self.headers}
        self.repeated = len(self.fields) != len(self.headers)

    def every(self, name: bytes) -> list[bytes]:
        """Return all values of the headers with this name, without surrounding whitespace."""
        if self.repeated:
            return [value.strip(_WHITE_SPACE) for field, value in self.headers if field == name]
        value = self.fields.get(name)
        return [] if value is None else [value]

    def occurs_once(self, name: bytes) -> bool:
        """Return whether exactly one header has this name."""
        return name in self.fields and (not self.repeated or len(self.every(name)) == 1)

    def size(self) -> int:
        """Return the size of the headers on the wire in bytes: name, colon, space, value and line end of each."""
        size = 4 * len(self.headers)
        for name, value in self.headers:
            size += len(name) + len(value)
        return size

    def cookies(self, name: bytes) -> Sequence[str]:
        """Return the distinct raw values of the cookies with a name: browsers keep one cookie for each Domain and Path.

        Only these cookies are parsed, so another malformed cookie cannot hide them.
        """
        sent = self.fields.get(b"cookie")
        if sent is None:
            return ()
        if self.repeated:
            sent = b";".join(self.every(b"cookie"))  # defence: V27 cookie-headers
        # The common case, a header with this cookie only. The code below parses it as well, but takes twice as long.
        first, _, rest = sent.partition(b"=")
        if first == name and rest.isalnum():
            return (rest.decode("ascii"),)
        # Not by `in`: for bytes, Python would first try whether they are a number, and make an exception of it.
        if sent.find(name) < 0:  # defence: V41 cookie-name-shortcut
            return ()
        values: dict[str, None] = {}  # defence: V27 broken-cookie
        # Not by http.cookies, which stops at the first malformed cookie and so loses those behind it.
        for pair in sent.split(b";"):
            key, _, value = pair.partition(b"=")
            if key.strip(b" \t") == name:  # defence: V41 cookie-name
                values[value.strip(b" \t").decode("latin-1")] = None  # defence: V27 cookie-bytes
        return tuple(values)

    def is_navigation(self) -> bool:
        """Return whether a browser opens, prefetches or embeds a page. Mail scanners do so as well."""
        mode = self.fields.get(b"sec-fetch-mode")
        if mode is None and b"text/html" in b",".join(self.every(b"accept")).lower():
            return True
        # `fetch` in a script sends the mode `cors` or `same-origin`; an image or a frame does not.
        is_fetch = mode in (None, b"cors", b"same-origin")  # defence: M8 embedded
        return not is_fetch or b"sec-purpose" in self.fields  # defence: M1 navigation

    def bearer(self) -> str | None:
        """Return the token of the Authorization header.

        None without the header, or for another scheme, because a proxy may use one. MALFORMED for several headers, a
        value that is not a credential, and a bearer token with invalid characters.
        """
        value = self.fields.get(b"authorization")
        if value is None:
            return None
        # A proxy may check another one of them than this service.
        if self.repeated and not self.occurs_once(b"authorization"):  # defence: V28 one-authorization
            return MALFORMED
        # The usual spelling. The pattern would match it as well, but takes five times as long.
        token: bytes = value[7:]
        if value.startswith(b"Bearer ") and token.isalnum():
            return token.decode("ascii")
        match = _BEARER.fullmatch(value)
        if match is not None:
            return match[1].decode("ascii")
        scheme = _SCHEME.fullmatch(value)  # defence: V28 authorization-bytes
        # A malformed bearer token must not fall through to the cookie, whose session the caller did not mean.
        # defence: V28 malformed-authorization
        return MALFORMED if scheme is None or scheme[1].lower() == b"bearer" else None

    def has_bearer(self) -> bool:
        """Return whether an Authorization header has the scheme Bearer; other origins need a preflight to send one."""
        if b"authorization" not in self.fields:
            return False
        values = (value.partition(b" ")[0].lower() for value in self.every(b"authorization"))
        return b"bearer" in values
