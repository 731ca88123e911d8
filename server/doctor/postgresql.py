"""A PostgreSQL server as the service would find it: reach, version, encoding, time-outs, privileges, schema, clock."""

import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from models import metadata
from server.clock import Clock
from server.config.settings import Settings
from server.database.database import Address
from server.database.errors import first_line, is_read_only, sqlstate
from server.database.postgresql.engine import FAULTS, Driver, postgresql_connect
from server.doctor import schema
from server.doctor.findings import Finding, odd, ok, wrong

LEAST_POSTGRESQL = 140000
MOST_APART = 60.0
"""Seconds that the clocks of instances may differ (behaviour 9.1)."""
NOTICED = 1.0
STEP = 30
"""Seconds of one TOTP code."""

_UNKNOWN_DATABASE = "3D000"
_NOT_AUTHORIZED = "28"
"""The class of codes for a user or a password that the server does not accept."""

_PRIVILEGES = """
SELECT name || ' (' || string_agg(privilege, ', ') || ')'
FROM unnest($1::text[]) AS name, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege
WHERE to_regclass(quote_ident(name)) IS NOT NULL
  AND NOT has_table_privilege(current_user, to_regclass(quote_ident(name))::oid, privilege)
GROUP BY name ORDER BY name
"""


async def findings(chosen: Settings, address: Address, clock: Clock) -> list[Finding]:
    """Look at the server; nothing is written."""
    timeout = chosen.database.timeout.total_seconds()
    try:
        connection = await postgresql_connect(address.target, timeout)(timeout)
    except (ValueError, *FAULTS) as fault:
        if is_read_only(fault):
            return [_read_only()]
        return [wrong("database", f"{address.label}: {_reason(fault)}", _mend(fault, address))]
    try:
        return [
            await _server(connection, chosen, address),
            *await _timeouts(connection, timeout),
            *await _privileges(connection),
            schema.judge(chosen, await _revision(connection)),
            await _clock(connection, chosen, clock),
        ]
    except FAULTS as fault:
        return [wrong("database", f"{address.label}: {_reason(fault)}", _mend(fault, address))]
    finally:
        connection.terminate()


async def _server(connection: Driver, chosen: Settings, address: Address) -> Finding:
    """Judge what kind of server it is."""
    number = int(await connection.fetchval("SHOW server_version_num"))
    encoding = await connection.fetchval("SHOW server_encoding")
    most = int(await connection.fetchval("SHOW max_connections"))
    read_only = await connection.fetchval("SHOW transaction_read_only") == "on"
    if number < LEAST_POSTGRESQL:
        return wrong("database", f"PostgreSQL {number // 10000} is too old", "use PostgreSQL 14 or newer")
    if encoding != "UTF8":
        return wrong(
            "database",
            f"its encoding is {encoding}, which cannot hold every name",
            "make a new one: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
        )
    if read_only:
        return _read_only()
    if chosen.database.pool_size >= most:
        return wrong(
            "database",
            f"database.pool_size is {chosen.database.pool_size}, and the server takes {most} connections in all",
            "lower database.pool_size: each server process keeps as many; or raise max_connections",
        )
    return ok("database", f"{address.label}: PostgreSQL {number // 10000}, UTF8")


def _read_only() -> Finding:
    return wrong(
        "database",
        "it is read-only: a standby, or set so",
        "give the primary's address, or reset default_transaction_read_only",
    )


async def _timeouts(connection: Driver, timeout: float) -> list[Finding]:  # noqa: ASYNC109
    """Judge whether the server answers well within `database.timeout`, and keeps it itself, too."""
    began = time.monotonic()
    kept = await connection.fetchval("SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout'")
    return list(judge_timeouts(time.monotonic() - began, timeout, bool(kept)))


def judge_timeouts(answered: float, timeout: float, is_kept: bool) -> Iterator[Finding]:
    """Judge the seconds an answer took, and whether the server ends statements by itself."""
    if answered > timeout / 4:
        yield odd(
            "time-outs",
            f"one answer took {answered:.2f} s, and database.timeout is {timeout:g} s",
            "bring service and database nearer to each other, or raise database.timeout",
        )
    if not is_kept:
        yield odd(
            "time-outs",
            "the server does not end statements that take too long: something in between drops statement_timeout",
            "let the pooler pass it on, or set it for the role: ALTER ROLE … SET statement_timeout = '5s'",
        )


async def _privileges(connection: Driver) -> list[Finding]:
    lacking = [row[0] for row in await connection.fetch(_PRIVILEGES, sorted(metadata.tables))]
    if not lacking:
        return []
    role = await connection.fetchval("SELECT current_user")
    return [
        wrong(
            "privileges",
            f"{role} may not use: {'; '.join(lacking)}",
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}",
        )
    ]


async def _revision(connection: Driver) -> str | None:
    if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
        return None
    revision: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    return revision


async def _clock(connection: Driver, chosen: Settings, clock: Clock) -> Finding:
    before = clock()
    theirs = await connection.fetchval("SELECT clock_timestamp()")
    ours = before + (clock() - before) / 2
    apart = (ours - theirs).total_seconds()
    return judge_clock(apart, chosen.two_factor.totp_window * STEP)


def judge_clock(apart: float, tolerated: int) -> Finding:
    """Judge a clock that is `apart` seconds ahead of the database's; codes of apps may be `tolerated` seconds off."""
    way = f"{abs(apart):.1f} s {'ahead of' if apart > 0 else 'behind'} the database's"
    if abs(apart) <= NOTICED:
        return ok("clock", f"within {NOTICED:g} s of the database's")
    consequence = f"codes of authenticator apps are refused beyond {tolerated} s"
    mend = "let NTP set the clocks of both machines"
    judge = wrong if abs(apart) > min(MOST_APART, tolerated or MOST_APART) else odd
    return judge("clock", f"{way}; {consequence}", mend)


def _reason(fault: BaseException) -> str:
    if isinstance(fault, TimeoutError):
        return "no answer in time"
    if sqlstate(fault):
        return first_line(fault)
    return getattr(fault, "strerror", None) or type(fault).__name__


def _mend(fault: BaseException, address: Address) -> str:
    if sqlstate(fault) == _UNKNOWN_DATABASE:
        name = urlsplit(address.label).path.lstrip("/")
        return f"make it: CREATE DATABASE {name} ENCODING 'UTF8'"
    if sqlstate(fault).startswith(_NOT_AUTHORIZED):
        return "check user and password in database_url, and the server's pg_hba.conf"
    if sqlstate(fault):
        return "see the log of the database server"
    return "check host and port in database_url, and that this machine reaches the server"
