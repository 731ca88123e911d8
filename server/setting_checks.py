"""What speaks against starting with certain settings: one check for each group of them (behaviour 2.1)."""

import contextlib
from collections.abc import Callable, Iterator
from importlib import import_module

from domain import identifiers
from domain.origins import TrustedOrigins
from server.blocklist import blocklist
from server.counters import store
from server.database import Database, parse
from server.policy import trusted_origins
from server.providers import checks
from server.settings import Settings
from server.sources import reason
from server.tracing import EXTRA, is_installed
from server.values import is_http

SAMPLE_SECRET = "replace-this-with-32-or-more-random-bytes"  # noqa: S105 - what a sample configuration shows
"""Stands in sample configurations, where a reader could leave it."""
SHORTEST_SECRET = 32
"""Bytes of the shortest secret that is accepted."""

_MAKE_ONE = "make one with: openssl rand -base64 48"


def problems(chosen: Settings) -> Iterator[str]:
    """Give one line per reason not to start, each beginning with the key."""
    for check in (*_EVERYWHERE, *(_PRODUCTION if chosen.profile == "production" else ())):
        yield from check(chosen)


def _secrets(chosen: Settings) -> Iterator[str]:
    if not chosen.secrets:
        yield f"secrets: must be given; {_MAKE_ONE}"
    for number, secret in enumerate(chosen.secrets, 1):
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


def _database(chosen: Settings) -> Iterator[str]:
    url = chosen.database_url.get_secret_value()
    if not url:
        yield "database_url: must be given, a PostgreSQL or SQLite address"
        return
    try:
        address = parse(url)
    except ValueError as fault:
        yield f"database_url: {fault}"
    else:
        if address.dialect == "postgresql" and chosen.database.pool_size < 3:
            yield "database.pool_size: must be at least 3 with PostgreSQL"


def _mail(chosen: Settings) -> Iterator[str]:
    if "smtp" in (chosen.mail.sender, chosen.password_reset.sender):
        if chosen.mail.smtp.host is None:
            yield "mail.smtp.host: must be given when mail is sent by smtp"
        if chosen.mail.from_address is None:
            yield "mail.from: must be given when mail is sent by smtp"
    if chosen.email_verification.required and chosen.mail.sender == "none":
        yield "email_verification.required: needs a mail.sender, or nobody could sign in"
    if chosen.delete_user.enabled and chosen.delete_user.confirm_by_mail and chosen.mail.sender == "none":
        yield "delete_user.confirm_by_mail: needs a mail.sender, or nobody could delete themselves"


def _cookies(chosen: Settings) -> Iterator[str]:
    session = chosen.session
    if session.cookie_same_site == "None" and not session.cookie_secure:
        yield "session.cookie_same_site: None needs session.cookie_secure, or browsers drop the cookie"
    for key, name in (("cookie_name", session.cookie_name), ("cookie_prefix", session.cookie_prefix)):
        bound = name.lower().startswith("__host-")
        if bound and session.cookie_domain is not None:
            yield f"session.{key}: a __Host- cookie cannot have a session.cookie_domain"
        if (bound or name.lower().startswith("__secure-")) and not session.cookie_secure:
            yield f"session.{key}: a cookie of this name needs session.cookie_secure"
    if session.cookie_name in {session.cookie_prefix + "two-factor", session.cookie_prefix + "trust-device"}:
        yield "session.cookie_name: is the name of another cookie of the service"


def _passwords(chosen: Settings) -> Iterator[str]:
    password = chosen.password
    if password.min_length > password.max_length:
        yield "password.min_length: is above password.max_length"
    if password.argon2_memory_kib < 8 * password.argon2_parallelism:
        yield "password.argon2_memory_kib: must be at least 8 for each of password.argon2_parallelism"


def _two_factor(chosen: Settings) -> Iterator[str]:
    if not identifiers.is_issuer(chosen.two_factor.issuer or ""):
        yield f"two_factor.issuer: at most {identifiers.ISSUER_LENGTH} characters, no colon, no control characters"
    page = chosen.two_factor.page
    with contextlib.suppress(ValueError):  # Origins that cannot be read are problems of their own.
        if page is not None and not trusted_origins(chosen).accepts(page):
            yield "two_factor.page: must be at base_url or at one of trusted_origins"


def _blocklist(chosen: Settings) -> Iterator[str]:
    if (listed := chosen.password.blocklist_file) is not None:
        try:
            blocklist(chosen.password.blocklist, listed)
        except (OSError, UnicodeDecodeError) as fault:
            yield f"password.blocklist_file: {listed}: {reason(fault)}"


def _templates(chosen: Settings) -> Iterator[str]:
    folder = chosen.mail.templates_dir
    if folder is None:
        return
    if not folder.is_dir():
        yield f"mail.templates_dir: there is no folder {folder}"
    # What reads templates is loaded where there are some to be read.
    elif (fault := import_module("server.rendering").fault_in(folder)) is not None:
        yield f"mail.templates_dir: {fault}"


def _limits(chosen: Settings) -> Iterator[str]:
    try:
        store(chosen, _no_database)
    except ValueError:
        yield "limits.store: is no address of a Valkey or Redis server, such as redis://127.0.0.1:6379/0"


def _tracing(chosen: Settings) -> Iterator[str]:
    if chosen.tracing.endpoint is not None and not is_installed():
        yield f"tracing.endpoint: needs OpenTelemetry; install it with: pip install '{EXTRA}'"


def _no_database() -> Database:
    raise AssertionError("nothing is counted here")


def _no_sample(chosen: Settings) -> Iterator[str]:
    if any(secret.get_secret_value() == SAMPLE_SECRET for secret in chosen.secrets):
        yield f"secrets: is still the sample value; {_MAKE_ONE}"


def _no_http(chosen: Settings) -> Iterator[str]:
    if chosen.allow_http:
        return
    if is_http(chosen.base_url):
        yield "base_url: must be https (or set allow_http)"
    if not chosen.session.cookie_secure:
        yield "session.cookie_secure: must be true (or set allow_http)"
    for entry in chosen.trusted_origins:
        if is_http(entry):
            yield f"trusted_origins: {entry!r} must be https (or set allow_http)"


def _no_console(chosen: Settings) -> Iterator[str]:
    for key, sender in (("mail", chosen.mail.sender), ("password_reset", chosen.password_reset.sender)):
        if sender == "console":
            yield f"{key}.sender: console would write links to the log; use smtp or file"


Check = Callable[[Settings], Iterator[str]]
_EVERYWHERE: tuple[Check, ...] = (
    _secrets,
    _name,
    _addresses,
    _database,
    _mail,
    _cookies,
    _passwords,
    _two_factor,
    _blocklist,
    _templates,
    _limits,
    _tracing,
    checks.problems,
)
_PRODUCTION: tuple[Check, ...] = (_no_sample, _no_http, _no_console)
