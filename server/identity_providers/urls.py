"""The URLs of providers that the service may call: https, and in development http on this machine."""

import re
from urllib.parse import urlsplit

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PLAIN = re.compile(r"[!-~]{1,2048}", re.ASCII)


def is_valid_url(url: str, *, loopback_http: bool) -> bool:
    """Return whether the service may call a URL or redirect users to it.

    It must be https (or http on this machine if `loopback_http`), with a host, without user, fragment or backslash, and
    of at most 2048 printable ASCII characters.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if not _PLAIN.fullmatch(url) or not host or "@" in parts.netloc or "#" in url or "\\" in url:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and loopback_http and host in _LOOPBACK)


def is_loopback(url: str) -> bool:
    """Return whether the host of a URL is this machine."""
    try:
        return urlsplit(url).hostname in _LOOPBACK
    except ValueError:
        return False
