"""What a request's head says of its target and of where its body ends; and the wishes in it that nobody fulfils."""

import re
from urllib.parse import unquote

import httptools

Headers = list[tuple[bytes, bytes]]

_UPGRADE = re.compile(rb"\r\nupgrade[ \t]*:[^\r\n]*", re.IGNORECASE)

_PLAIN_PATH = re.compile(rb"/[A-Za-z0-9/_-]*")
"""A target that is its own path: nothing in it is encoded, and it has no query."""

_BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})


def names_upgrade(data: bytes) -> bool:
    """Whether the wish for another protocol may stand in what has come, in one of its usual spellings."""
    # Not by `in`: for bytes, Python would first try whether they are a number, and make an exception of it.
    return data.find(b"pgrade:") >= 0 or data.find(b"PGRADE:") >= 0


def without_upgrade(data: bytes) -> bytes:
    """Leave the wish for another protocol out of a head that begins here: there is none, and who expresses it by habit
    gets an ordinary answer (RFC 9110, 7.8). One that arrives otherwise is refused if it has a body."""
    head, end, rest = data.partition(b"\r\n\r\n")
    return _UPGRADE.sub(b"", head) + end + rest if end else data


def has_body(headers: Headers) -> bool:
    """Whether a head announces a body."""
    return not _BODY_HEADERS.isdisjoint(dict(headers))


def check_coding(headers: Headers, version: str) -> None:
    """Allow no transfer coding but `chunked`, once, and none before HTTP/1.1 (RFC 9112, 6.1). Raises ValueError."""
    codings = 0
    for name, value in headers:
        if name == b"transfer-encoding":
            codings += 1
            if version == "1.0" or codings > 1 or value.strip(b" \t").lower() != b"chunked":
                raise ValueError(
                    "a body in a coding that nobody here reads may end elsewhere than it seems to"
                )


def target(url: bytes) -> tuple[str, bytes, bytes]:
    """Return path, raw path and query of a request's target. Raises what httptools raises for one that is none."""
    if _PLAIN_PATH.fullmatch(url):
        return url.decode("ascii"), url, b""
    parsed = httptools.parse_url(url)
    path = parsed.path.decode("ascii")
    return unquote(path) if "%" in path else path, parsed.path, parsed.query or b""
