"""Checks without the network: strength of secrets, URLs and addresses that fit together, modes of files."""

import math
import stat
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from server.config import profiles, settings
from server.config.base import Settings
from server.config.groups.mail import MailSettings
from server.config.groups.observability import MetricsSettings
from server.config.groups.password import PasswordResetSettings
from server.config.profiles import is_local
from server.config.sources import CONFIG, PREFIX
from server.config.value_types import is_http
from server.doctor.findings import Finding, ok, warning, wrong

LEAST_BITS = 100
"""Entropy in bits below which a secret counts as weak, computed from the frequencies of its characters."""

_SECRET_KEYS = frozenset({"secrets", "database_url", "password", "client_secret", "private_key", "store"})
_OTHERS = stat.S_IRWXO
_GROUP_AND_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def secrets(chosen: Settings) -> Iterator[Finding]:
    """Yield the findings about `secrets`: entries that can be guessed, or are listed twice."""
    texts = [secret.get_secret_value() for secret in chosen.secrets]
    weak = [str(number) for number, text in enumerate(texts, 1) if bits(text) < LEAST_BITS]
    if weak:
        yield wrong(
            "secrets",
            f"entry {', '.join(weak)} can be guessed",
            "put a new one first, made with: openssl rand -base64 48",
        )
    if len(set(texts)) < len(texts):
        yield warning("secrets", "one is listed twice", "remove the second")
    if not weak:
        yield ok("secrets", f"{len(texts)}, the newest has {len(texts[0])} characters")


def bits(text: str) -> float:
    """Return the entropy of a text in bits, by the frequencies of its characters."""
    return sum(-number * math.log2(number / len(text)) for number in Counter(text).values())


def addresses(chosen: Settings) -> Iterator[Finding]:
    """Yield the findings about base_url, origins, proxies and the metrics port."""
    found = [*_public(chosen), *_origins(chosen), *_proxies(chosen), *_metrics(chosen)]
    yield from found or [ok("addresses", chosen.base_url + chosen.base_path)]


def _public(chosen: Settings) -> Iterator[Finding]:
    if chosen.profile == "development":
        return
    if is_http(chosen.base_url):
        yield warning(
            "addresses",
            "base_url is http: passwords and cookies can be read in transit",
            "serve it over https",
        )
    if is_local(urlsplit(chosen.base_url).hostname or ""):
        yield warning(
            "addresses",
            f"base_url is {chosen.base_url}, which is only reachable from this machine",
            "set base_url to the URL users see: links in emails begin with it",
        )


def _origins(chosen: Settings) -> Iterator[Finding]:
    for entry in chosen.trusted_origins:
        if "*" in entry:
            yield warning(
                "addresses",
                f"trusted_origins: {entry} lets the owner of any of these hosts act for users",
                "list the hosts one by one",
            )


def _proxies(chosen: Settings) -> Iterator[Finding]:
    if any(network.prefixlen == 0 for network in chosen.trusted_proxies):
        yield wrong(
            "addresses",
            "trusted_proxies contains every address: clients can choose the address that limits count",
            "list only your own proxies",
        )
    # The service does not terminate TLS itself, so an https base_url means that there is a proxy.
    if not chosen.trusted_proxies and chosen.profile == "production" and not is_http(chosen.base_url):
        yield warning(
            "addresses",
            "trusted_proxies is empty and a proxy terminates https: all users share its address and limits",
            "set trusted_proxies to the network of the proxy",
        )


def _metrics(chosen: Settings) -> Iterator[Finding]:
    metrics = chosen[MetricsSettings]
    if metrics.port is not None and not is_local(metrics.host):
        yield warning(
            "addresses",
            f"metrics.host is {metrics.host}: metrics are readable by anyone who reaches the port",
            "restrict the port to Prometheus with a firewall or a network policy",
        )


def files(chosen: Settings, environ: Mapping[str, str], directory: Path) -> Iterator[Finding]:
    """Yield the findings about the permissions of files that contain secrets or emails with valid links."""
    found = [*_files(chosen, environ, directory)]
    yield from found or [ok("files", "files with secrets are not readable by others")]


def _files(chosen: Settings, environ: Mapping[str, str], directory: Path) -> Iterator[Finding]:
    configured = settings.settings_file(environ, directory)
    if holds_secrets(configured):
        yield from _unreadable(configured, _OTHERS, "contains secrets")
    if chosen.profile == "development":
        for name, held in (
            (profiles.SECRET_FILE, "the service key"),
            (profiles.VERIFIER_FILE, "a verifier token"),
        ):
            yield from _unreadable(directory / name, _GROUP_AND_OTHERS, f"contains {held}")
    if "file" in (chosen[MailSettings].sender, chosen[PasswordResetSettings].effective_sender(chosen)):
        yield from _unreadable(directory / chosen[MailSettings].file_path, _OTHERS, "contains valid links")
    for name in sorted(environ):
        if name.startswith(PREFIX) and name.endswith("_FILE") and name != CONFIG:
            # Containers mount secrets readable by all their users, of which there is only one.
            for finding in _unreadable(Path(environ[name]), _OTHERS, f"is what {name} names"):
                yield warning(finding.check, finding.found, finding.fix)


def holds_secrets(path: Path) -> bool:
    """Return whether a settings file sets a secret; False if it cannot be read."""
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
    """Yield a finding if the mode of a file allows one of the `forbidden` permissions."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return
    if mode & forbidden:
        yield wrong("files", f"{path} {holds}, and its mode is {mode:o}", f"chmod 600 {path}")
