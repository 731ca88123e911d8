"""Trusted origins, and redirect URLs that stay within them.

The accepted grammar is defined here. It is stricter than that of browsers, so that a string has only one meaning:
nothing is decoded, repaired or resolved before it is compared.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Self

LONGEST_TARGET = 2048
"""The maximum length of a redirect URL, in characters."""

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:.]+\])"
_PORT = r"(?::(?P<port>[0-9]{1,5}))?"
# Browsers treat a backslash like a slash, and remove tabs and line breaks from URLs (WHATWG URL).
_PRINTABLE = r"[!-\[\]-~]"  # defence: V6 printable
"""ASCII without whitespace, control characters and the backslash."""

_AUTHORITY = r"[!\"$-.0->@-\[\]-~]"
"""The same without the characters that end an authority."""

# Browsers resolve `.` and `..`, so the path that they open would not be the one that was checked.
_SEGMENT = r"(?!\.{1,2}(?:[/?]|\Z))[A-Za-z0-9_.+@-]+"  # defence: V2 segment
_ESCAPE = r"%(?![Cc]2%[89])(?:[2-6A-Fa-f89][0-9A-Fa-f]|7[0-9A-Ea-e])"
"""A percent escape, except those of control characters: of ASCII, and of U+0080 to U+009F in UTF-8."""

# The second character cannot be a slash or backslash: `//host` and `/\host` are absolute URLs for browsers.
# defence: V2 relative
_RELATIVE = re.compile(rf"/(?:{_SEGMENT}/)*(?:{_SEGMENT})?(?:\?(?:[A-Za-z0-9_.+/=&@-]|{_ESCAPE})*)?")
# No user part: in `https://trusted@evil.test` the host is evil.test. The whole URL is matched, because
# `https://trusted.evil.test` has the same prefix as a trusted origin.
# defence: V2 V4 V6 absolute
_ABSOLUTE = re.compile(rf"(?P<scheme>https?)://(?P<host>{_HOST}){_PORT}(?:[/?#]{_PRINTABLE}*)?")
_CUSTOM = re.compile(
    rf"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>{_AUTHORITY}*)(?:[/?#]{_PRINTABLE}*)?"
)
_DOT_SEGMENT = re.compile(r"/(?:\.|%2[Ee]){1,2}(?:[/?#]|\Z)")
_ENTRY = re.compile(
    rf"(?:(?P<scheme>https?)://)?(?P<stars>\*\*?\.)?(?P<host>{_HOST}){_PORT}", re.ASCII | re.IGNORECASE
)
_NUMERIC_END = re.compile(r"(?:[^.]*\.)*(?:[0-9]+|0[Xx][0-9A-Fa-f]*)")
_LOOPBACK = r"http://(?:localhost|127\.0\.0\.1)(?::[0-9]+)?"  # defence: V5 loopback
# Never matches. An empty pattern would match the empty string instead.
_NOTHING = r"(?!)"

_DEFAULT_PORTS = {"http": 80, "https": 443}
_SCRIPT_SCHEMES = frozenset(
    {"javascript", "data", "vbscript", "file", "blob", "about", "filesystem", "view-source"}
)
_NETWORK_SCHEMES = frozenset({"http", "https", "ftp", "ws", "wss"})
# A star stands for whole labels in front of a dot, so `*.app.test` matches neither `evilapp.test` nor `app.test`.
_STARS = {"*.": rf"{_LABEL}\.", "**.": rf"(?:{_LABEL}\.)+"}  # defence: V3 stars


def origin_of(url: str) -> str | None:
    """Return the origin of a URL such as a Referer, host lower-cased, no default port; None if it has none."""
    if (match := _ABSOLUTE.fullmatch(url)) is not None:
        return _origin(match)
    match = _CUSTOM.fullmatch(url)
    if match is None or match["scheme"].lower() in _SCRIPT_SCHEMES | _NETWORK_SCHEMES:
        return None
    return f"{match['scheme']}://{match['authority']}"


def _origin(match: re.Match[str]) -> str | None:
    """Return the canonical origin of a match of `_ABSOLUTE` or `_ENTRY`; an entry without a scheme means https."""
    scheme = (match["scheme"] or "https").lower()  # defence: V2 scheme
    host = _one_spelling(match["host"])
    port = int(match["port"] or _DEFAULT_PORTS[scheme])
    if host is None or port > 65535:
        return None
    # defence: V2 V5 port
    return f"{scheme}://{host}" if port == _DEFAULT_PORTS[scheme] else f"{scheme}://{host}:{port}"


def _one_spelling(host: str) -> str | None:
    if not host.startswith("["):
        return host.lower()  # defence: V6 numeric-host
    try:
        return f"[{IPv6Address(host[1:-1])}]"
    except AddressValueError:
        return None


def refuse_numeric_hosts(host: str, entry: str) -> None:
    """Refuse hosts that browsers and resolvers interpret as an IPv4 address, such as `2130706433` or `127.1`.

    Raises ValueError naming the entry.
    """
    if _NUMERIC_END.fullmatch(host):
        try:
            IPv4Address(host)
        except AddressValueError:
            raise ValueError(f"{entry!r} is neither a host name nor a dotted IPv4 address") from None


def _parse_custom(entry: str) -> str:
    """Check an entry such as `myapp://callback/`, which is stored unchanged."""
    match = _CUSTOM.fullmatch(entry)
    scheme = entry.partition(":")[0].lower()
    if scheme in _SCRIPT_SCHEMES:
        raise ValueError(f"{entry!r} has a scheme that runs scripts or reads files")
    if scheme in _NETWORK_SCHEMES:
        raise ValueError(f"{entry!r} is not an origin: scheme, host and port, without a path or a user")
    if match is None or not entry.isascii() or re.search(r"[*?#]", entry) or _DOT_SEGMENT.search(entry):
        raise ValueError(
            f"{entry!r} is neither an origin nor the beginning of a custom scheme such as 'myapp://'"
        )
    return entry


def _origin_of_custom(entry: str) -> list[str]:
    """Return the Origin header of an app's pages in a list; empty if the entry is narrower than an origin."""
    origin = origin_of(entry)
    return [origin] if origin is not None and entry in (origin, f"{origin}/") else []


def _parse_origin(match: re.Match[str], entry: str) -> str:
    origin = _origin(match)
    if origin is None:
        raise ValueError(f"{entry!r} has a host or port that does not exist")
    refuse_numeric_hosts(match["host"], entry)
    return origin


def _parse_wildcard(match: re.Match[str], entry: str) -> str:
    """Turn `https://*.example.com` into a pattern over canonical origins."""
    if match["host"].startswith("[") or _NUMERIC_END.fullmatch(match["host"]):
        raise ValueError(f"{entry!r} has a wildcard before an address")
    scheme, _, rest = _parse_origin(match, entry).partition("://")
    # An unescaped dot matches any character: `fooaexample.com` would pass for `foo.example.com` (as in authentik,
    # CVE-2024-52289).
    return f"{scheme}://{_STARS[match['stars']]}{re.escape(rest)}"  # defence: V3 escaped-rest


@dataclass(frozen=True, slots=True)
class TrustedOrigins:
    """The origin of `base_url` and the entries of `trusted_origins`, prepared for comparing."""

    exact: frozenset[str]
    """Canonical origins, as browsers send them."""
    pattern: re.Pattern[str] = field(repr=False)
    """Matches the canonical origins that the wildcard entries trust."""
    custom: tuple[str, ...] = ()
    """The entries with a custom scheme."""

    @classmethod
    def parse(cls, base_url: str, entries: Iterable[str], *, loopback: bool = False) -> Self:
        """Prepare the origin of `base_url` and the entries; `loopback` adds localhost over http at any port.

        Raises ValueError naming an entry that is not an origin: a bare `*`, a scheme that runs scripts, a path.
        """
        match = _ABSOLUTE.fullmatch(base_url)
        if match is None or re.search(r"[/?#]", base_url.partition("://")[2]):
            raise ValueError(f"base_url {base_url!r} is not an origin: scheme, host and port, without a path")
        # defence: V5 loopback-default
        exact, patterns, custom = [_parse_origin(match, base_url)], [_LOOPBACK if loopback else _NOTHING], []
        for entry in entries:
            match = _ENTRY.fullmatch(entry)
            if match is None:
                custom.append(_parse_custom(entry))
                exact += _origin_of_custom(entry)
            elif match["stars"]:
                patterns.append(_parse_wildcard(match, entry))
            else:
                exact.append(_parse_origin(match, entry))
        return cls(frozenset(exact), re.compile("|".join(patterns)), tuple(custom))

    def trusts(self, origin: str) -> bool:
        """Return whether a value of the Origin header, or the origin of a Referer, is trusted. `null` never is."""
        if origin in self.exact:  # defence: V4 exact-origin
            return True
        return origin_of(origin) == origin and self._is_trusted_url(origin)  # defence: V3 one-spelling

    def accepts(self, target: str) -> bool:
        """Return whether a redirect URL is relative, or at a trusted origin, or under a custom scheme."""
        # Bounds the work of the patterns below.
        if len(target) > LONGEST_TARGET:  # defence: V2 target-length
            return False
        if target.startswith("/"):
            return _RELATIVE.fullmatch(target) is not None
        return self._is_trusted_url(target)  # defence: V6 V7 leads-home

    def _is_trusted_url(self, url: str) -> bool:
        match = _ABSOLUTE.fullmatch(url)  # defence: V2 whole-target
        if match is None:
            return self._lies_under_custom(url)
        origin = _origin(match)
        # defence: V3 V4 trusted-origin
        return origin is not None and (origin in self.exact or self.pattern.fullmatch(origin) is not None)

    def _lies_under_custom(self, url: str) -> bool:
        """Return whether a URL equals a custom entry or lies below it."""
        # Dot segments could lead out of the entry.
        # defence: V7 custom-dots
        if not self.custom or _CUSTOM.fullmatch(url) is None or _DOT_SEGMENT.search(url):
            return False
        return any(
            # defence: V7 custom-entry
            url.startswith(entry)
            and (len(url) == len(entry) or entry.endswith("/") or url[len(entry)] in "/?#")
            for entry in self.custom
        )
