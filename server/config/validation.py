"""Checks of the settings before startup, by the service, the groups and the packages."""

from collections.abc import Callable, Iterable, Iterator

from domain import identifiers
from domain.trusted_origins import TrustedOrigins
from server.config.base import Settings
from server.config.value_types import is_http

SAMPLE_SECRET = "replace-this-with-32-or-more-random-bytes"  # noqa: S105 - what a sample configuration shows
"""The placeholder in sample configurations, which an operator may forget to replace."""
SHORTEST_SECRET = 32
"""Minimum length of a secret in bytes."""

Check = Callable[[Settings], Iterator[str]]
"""A function that yields one line per reason not to start, each beginning with the key."""

_MAKE_ONE = "make one with: openssl rand -base64 48"


def problems(chosen: Settings, checks: Iterable[Check]) -> Iterator[str]:
    """Yield one line per reason not to start, each beginning with the key; `checks` are those of other packages."""
    yield from _secrets(chosen)
    yield from _name(chosen)
    yield from _addresses(chosen)
    for group in chosen.groups():
        yield from group.problems(chosen)
    for check in checks:
        yield from check(chosen)
    if chosen.profile == "production":
        yield from _no_sample(chosen)
        yield from _no_http(chosen)
        for group in chosen.groups():
            yield from group.production_problems(chosen)


def _secrets(chosen: Settings) -> Iterator[str]:
    if not chosen.secrets:
        yield f"secrets: must be given; {_MAKE_ONE}"
    for number, secret in enumerate(chosen.secrets, 1):
        # defence: R43 short-secret
        if len(secret.get_secret_value().encode("utf-8", "surrogateescape")) < SHORTEST_SECRET:
            yield f"secrets: entry {number} is shorter than {SHORTEST_SECRET} bytes; {_MAKE_ONE}"


def _name(chosen: Settings) -> Iterator[str]:
    if not identifiers.is_name(chosen.app_name):
        yield "app_name: no control characters and nothing else that steers the display"


def _addresses(chosen: Settings) -> Iterator[str]:
    if not chosen.base_url:
        yield "base_url: must be given, the public origin such as https://auth.example.com"
    for entry in chosen.trusted_origins:
        try:
            TrustedOrigins.parse("https://any.example", (entry,))
        except ValueError as fault:
            yield f"trusted_origins: {fault}"
    if not chosen.database_url.get_secret_value():
        yield "database_url: must be given, a PostgreSQL or SQLite address"


def _no_sample(chosen: Settings) -> Iterator[str]:
    # defence: R43 sample-secret
    if any(secret.get_secret_value() == SAMPLE_SECRET for secret in chosen.secrets):
        yield f"secrets: is still the sample value; {_MAKE_ONE}"


def _no_http(chosen: Settings) -> Iterator[str]:
    if chosen.allow_http:
        return
    if is_http(chosen.base_url):
        yield "base_url: must be https (or set allow_http)"
    for entry in chosen.trusted_origins:
        if is_http(entry):
            yield f"trusted_origins: {entry!r} must be https (or set allow_http)"
