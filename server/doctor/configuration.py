"""What can be seen without asking anybody: the strength of secrets, addresses that fit together, who may read files."""

import math
import stat
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from server.config import profiles, settings
from server.config.settings import Settings
from server.config.sources import CONFIG, PREFIX
from server.config.value_types import is_http
from server.doctor.findings import Finding, odd, ok, wrong

LEAST_BITS = 100
"""What the characters of a secret must be worth, by how often each of them stands in it."""

_SECRET_KEYS = frozenset({"secrets", "database_url", "password", "client_secret", "private_key", "store"})
_OTHERS = stat.S_IRWXO
_GROUP_AND_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def secrets(chosen: Settings) -> Iterator[Finding]:
    """Judge the service keys; their length is a matter of the configuration."""
    texts = [secret.get_secret_value() for secret in chosen.secrets]
    weak = [str(number) for number, text in enumerate(texts, 1) if bits(text) < LEAST_BITS]
    if weak:
        yield wrong(
            "secrets",
            f"entry {', '.join(weak)} can be guessed",
            "put a new one in front, made with: openssl rand -base64 48",
        )
    if len(set(texts)) < len(texts):
        yield odd("secrets", "one stands there twice", "remove the second")
    if not weak:
        yield ok("secrets", f"{len(texts)}, the newest of {len(texts[0])} characters")


def bits(text: str) -> float:
    """Return what a text would be worth if its characters were drawn as often as they stand in it."""
    return sum(-number * math.log2(number / len(text)) for number in Counter(text).values())


def addresses(chosen: Settings) -> Iterator[Finding]:
    """Judge base_url, origins, proxies and the port of the numbers by what they let happen."""
    found = [*_public(chosen), *_origins(chosen), *_proxies(chosen), *_metrics(chosen)]
    yield from found or [ok("addresses", chosen.base_url + chosen.base_path)]


def _public(chosen: Settings) -> Iterator[Finding]:
    if chosen.profile == "development":
        return
    if is_http(chosen.base_url):
        yield odd(
            "addresses", "base_url is http: passwords and cookies can be read on the way", "serve it by https"
        )
    if is_local(urlsplit(chosen.base_url).hostname or ""):
        yield odd(
            "addresses",
            f"base_url is {chosen.base_url}, which nobody reaches from elsewhere",
            "set base_url to the address users see: links in mails are made of it",
        )


def _origins(chosen: Settings) -> Iterator[Finding]:
    for entry in chosen.trusted_origins:
        if "*" in entry:
            yield odd(
                "addresses",
                f"trusted_origins: {entry} lets whoever has one of these hosts act for users",
                "list the hosts one by one",
            )


def _proxies(chosen: Settings) -> Iterator[Finding]:
    if any(network.prefixlen == 0 for network in chosen.trusted_proxies):
        yield wrong(
            "addresses",
            "trusted_proxies holds every address: clients choose the address they are limited by",
            "list your own proxies only",
        )
    if not chosen.trusted_proxies and chosen.profile == "production" and not is_http(chosen.base_url):
        yield odd(
            "addresses",
            "no trusted_proxies, and https ends before this service: all users share the proxy's address and limits",
            "set trusted_proxies to the network of what ends https",
        )


def _metrics(chosen: Settings) -> Iterator[Finding]:
    if chosen.metrics.port is not None and not is_local(chosen.metrics.host):
        yield odd(
            "addresses",
            f"metrics.host is {chosen.metrics.host}: whoever reaches the port reads the numbers",
            "let only Prometheus reach it, by a firewall or a network policy",
        )


def is_local(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def files(chosen: Settings, environ: Mapping[str, str], directory: Path) -> Iterator[Finding]:
    """Judge who may read the files that hold secrets or live links."""
    found = [*_files(chosen, environ, directory)]
    yield from found or [ok("files", "nobody else can read what is secret")]


def _files(chosen: Settings, environ: Mapping[str, str], directory: Path) -> Iterator[Finding]:
    configured = directory / environ.get(CONFIG, settings.FILE)
    if holds_secrets(configured):
        yield from _unreadable(configured, _OTHERS, "holds secrets")
    if chosen.profile == "development":
        yield from _unreadable(directory / profiles.SECRET_FILE, _GROUP_AND_OTHERS, "holds the service key")
    if "file" in (chosen.mail.sender, chosen.password_reset.sender):
        yield from _unreadable(directory / chosen.mail.file_path, _OTHERS, "holds links that work")
    for name in sorted(environ):
        if name.startswith(PREFIX) and name.endswith("_FILE") and name != CONFIG:
            # Containers like to mount secrets readable by all their users, of which there is one.
            for finding in _unreadable(Path(environ[name]), _OTHERS, f"is what {name} names"):
                yield odd(finding.check, finding.found, finding.mend)


def holds_secrets(path: Path) -> bool:
    """Whether a settings file that can be read gives a value to a key that is secret."""
    try:
        written = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return any(key in _SECRET_KEYS for key in _keys(written))


def _keys(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        yield key
        if isinstance(value, dict):
            yield from _keys(value)


def _unreadable(path: Path, forbidden: int, holds: str) -> Iterator[Finding]:
    """Complain of a file that exists and that others may open."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return
    if mode & forbidden:
        yield wrong("files", f"{path} {holds}, and its mode is {mode:o}", f"chmod 600 {path}")
