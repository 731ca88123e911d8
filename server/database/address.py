"""The URL of the database in the setting `database_url`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qs

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from server.config.base import Settings
from server.config.groups.database import DatabaseSettings


@dataclass(frozen=True, slots=True)
class Address:
    """The location of the database: the path of a SQLite file, or the DSN of a PostgreSQL server."""

    dialect: Literal["sqlite", "postgresql"]
    target: str
    label: str
    """The address without the password, for messages."""


def parse(url: str) -> Address:
    """Parse a database URL: `postgresql://…`, `postgres://…` or `sqlite:///path`, each also with its async driver.

    Raises ValueError for any other URL, and for one with several hosts.
    """
    if _names_several_hosts(url):
        raise ValueError(
            "the database address names several hosts; give one that leads to the primary: that of a proxy, such as"
            " HAProxy, or a virtual address"
        )
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise ValueError("the database address is not a URL") from error
    if parsed.drivername in ("sqlite", "sqlite+aiosqlite"):
        return _sqlite_address(parsed)
    if parsed.drivername in ("postgresql", "postgres", "postgresql+asyncpg"):
        # The rest is passed to asyncpg as it is, which reads parameters that SQLAlchemy does not know.
        dsn = "postgresql:" + url.split(":", 1)[1]
        return Address("postgresql", dsn, parsed.set(drivername="postgresql", query={}).render_as_string())
    raise ValueError(
        f"the database address begins with {parsed.drivername}://; it takes postgresql:// or sqlite:///"
    )


def check(settings: Settings) -> Iterator[str]:
    """Yield one line if `database_url` is invalid, or if `database.pool_size` is below 4 with PostgreSQL.

    Yields nothing if `database_url` is not set.
    """
    url = settings.database_url.get_secret_value()
    if not url:
        return
    try:
        address = parse(url)
    except ValueError as fault:
        yield f"database_url: {fault}"
    else:
        if address.dialect == "postgresql" and settings[DatabaseSettings].pool_size < 4:
            yield "database.pool_size: must be at least 4 with PostgreSQL"


def _names_several_hosts(url: str) -> bool:
    # For each connection the driver tries the hosts in turn, so a first host that hangs delays every connection.
    scheme, _, rest = url.partition("://")
    if scheme.startswith("sqlite"):
        return False
    authority, query = rest.partition("/")[0].partition("?")[0], parse_qs(rest.partition("?")[2])
    named = [authority.rpartition("@")[2], *query.get("host", ()), *query.get("port", ())]
    return any("," in hosts for hosts in named)


def _sqlite_address(url: URL) -> Address:
    path = url.database or ""
    if path in ("", ":memory:") or path.startswith("file:"):
        raise ValueError("the database address needs the path of a file: sqlite:///gatewright.db")
    return Address("sqlite", path, f"sqlite:///{path}")
