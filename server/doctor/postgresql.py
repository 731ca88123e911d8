"""Checks of a PostgreSQL server: connection, version, encoding, timeouts, privileges, schema, clock."""

import math
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from models import metadata
from server.clock import Clock
from server.config.base import Settings
from server.config.groups.database import DatabaseSettings
from server.config.groups.two_factor import TwoFactorSettings
from server.database.address import Address
from server.database.errors import first_line, is_read_only, sqlstate
from server.database.partitions import PARTITIONS, end_of, next_month
from server.database.postgresql.engine import APPLICATION, FAULTS, Driver, postgresql_connect
from server.doctor import names, schema, sso
from server.doctor.findings import Finding, Verdict, ok, skipped, warning, wrong

LEAST_POSTGRESQL = 140000
MOST_APART = 60.0
"""Seconds by which the clocks of instances may differ."""
NOTICED = 1.0
STEP = 30
"""Seconds for which a TOTP code is shown."""

_UNKNOWN_DATABASE = "3D000"
_NOT_AUTHORIZED = "28"
"""The class of codes for a refused user or password."""

# Visible to every role, unlike the state of each standby.
_REPLICATION = """
SELECT EXISTS (SELECT FROM pg_stat_replication)
  AND (current_setting('synchronous_standby_names') = ''
       OR current_setting('synchronous_commit') IN ('off', 'local'))
"""

_CONNECTIONS = """
SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
       - coalesce(current_setting('reserved_connections', true)::int, 0) AS usable,
       count(*) FILTER (WHERE application_name <> $1) AS others,
       count(*) FILTER (WHERE application_name = $1 AND pid <> pg_backend_pid()) AS ours
FROM pg_stat_activity WHERE datid IS NOT NULL
"""

_PRIVILEGES = """
SELECT name || ' (' || string_agg(privilege, ', ') || ')'
FROM unnest($1::text[]) AS name, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege
WHERE to_regclass(quote_ident(name)) IS NOT NULL
  AND NOT has_table_privilege(current_user, to_regclass(quote_ident(name))::oid, privilege)
GROUP BY name ORDER BY name
"""


async def findings(chosen: Settings, address: Address, clock: Clock) -> list[Finding]:
    """Check the PostgreSQL server and its database, and return the findings; nothing is written."""
    database = chosen[DatabaseSettings]
    timeout, pooled = database.timeout.total_seconds(), database.pooler == "transaction"
    try:
        connection = await postgresql_connect(address.target, timeout, pooled=pooled)(timeout)
    except (ValueError, *FAULTS) as fault:
        if is_read_only(fault):
            return [_read_only()]
        return [wrong("database", f"{address.label}: {_reason(fault)}", _fix(fault, address))]
    try:
        return [
            await _server(connection, chosen, address),
            # The connections of a pooler are its own.
            *(() if pooled else await _connections(connection, chosen)),
            *await _replication(connection),
            *await _timeouts(connection, timeout),
            *await _privileges(connection),
            (judged := schema.judge(chosen, await _revision(connection))),
            *(await _names(connection, chosen) if judged.verdict is Verdict.OK else ()),
            *(await _sso(connection, chosen, clock) if judged.verdict is Verdict.OK else ()),
            await _clock(connection, chosen, clock),
            *await _partitions(connection, clock),
        ]
    except FAULTS as fault:
        return [wrong("database", f"{address.label}: {_reason(fault)}", _fix(fault, address))]
    finally:
        connection.terminate()


async def _names(connection: Driver, chosen: Settings) -> list[Finding]:
    """Check that roles, kinds of keys and the domain of passkeys are configured, unless counting
    the rows takes too long."""
    try:
        found = [await connection.fetch(sql) for sql in names.QUERIES]
    except TimeoutError:
        # The counts read whole tables. A database too large for them within the timeout is not a problem to report.
        return [skipped("roles", "counting the users takes longer than database.timeout")]
    return list(names.unknown(chosen, *(map(tuple, rows) for rows in found)))


async def _sso(connection: Driver, chosen: Settings, clock: Clock) -> list[Finding]:
    """Check the connections for single sign-on, of which there are few."""
    found = [await connection.fetch(sql) for sql in sso.QUERIES]
    return list(sso.findings(chosen, clock(), *(map(tuple, rows) for rows in found)))


async def _server(connection: Driver, chosen: Settings, address: Address) -> Finding:
    """Check version, encoding, role and number of connections."""
    number = int(await connection.fetchval("SHOW server_version_num"))
    encoding = await connection.fetchval("SHOW server_encoding")
    most = int(await connection.fetchval("SHOW max_connections"))
    read_only = await connection.fetchval("SHOW transaction_read_only") == "on"
    # The oldest version that reports `in_hot_standby` while connecting.
    if number < LEAST_POSTGRESQL:
        return wrong("database", f"PostgreSQL {number // 10000} is too old", "use PostgreSQL 14 or newer")
    if encoding != "UTF8":
        return wrong(
            "database",
            f"its encoding is {encoding}, which cannot store every name",
            "create a new one: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
        )
    if read_only:
        return _read_only()
    size = chosen[DatabaseSettings].pool_size
    if size >= most:
        return wrong(
            "database",
            f"database.pool_size is {size}, and the server accepts {most} connections in total",
            "lower database.pool_size (each server process opens as many), or raise max_connections",
        )
    return ok("database", f"{address.label}: PostgreSQL {number // 10000}, UTF8")


async def _connections(connection: Driver, chosen: Settings) -> list[Finding]:
    """Check that one process more than those that run fits, as in a rolling restart."""
    usable, others, ours = await connection.fetchrow(_CONNECTIONS, APPLICATION)
    size = chosen[DatabaseSettings].pool_size
    # The server does not show which process a connection belongs to, so the number of processes is estimated.
    running = max(1, math.ceil(ours / size))
    if (running + 1) * size <= usable - others:
        return []
    return [
        warning(
            "connections",
            f"{running + 1} processes, one more than run now, need {(running + 1) * size} connections"
            f" (database.pool_size {size}); the server has {usable}, of which others use {others}",
            "raise max_connections, or lower database.pool_size",
        )
    ]


async def _replication(connection: Driver) -> list[Finding]:
    """Check that a standby that takes over has every write that was answered."""
    if not await connection.fetchval(_REPLICATION):
        return []
    return [
        warning(
            "replication",
            "commits wait for no standby: a failover loses the last writes, and sessions that were ended work again",
            "make replication synchronous (Patroni: synchronous_mode), unless the standbys only serve reads",
        )
    ]


def _read_only() -> Finding:
    return wrong(
        "database",
        "it is read-only: a standby, or set to read-only",
        "use the primary's address, or reset default_transaction_read_only",
    )


async def _timeouts(connection: Driver, timeout: float) -> list[Finding]:  # noqa: ASYNC109
    """Check that the server responds well within `database.timeout`, and enforces it too."""
    began = time.monotonic()
    kept = await connection.fetchval("SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout'")
    return list(check_timeouts(time.monotonic() - began, timeout, bool(kept)))


def check_timeouts(answered: float, timeout: float, is_kept: bool) -> Iterator[Finding]:
    """Yield a finding if a response took too long, and one if the server does not cancel slow statements.

    `answered` is the time of the response and `timeout` is `database.timeout`, both in seconds. `is_kept` is whether
    the server has a `statement_timeout`.
    """
    if answered > timeout / 4:
        yield warning(
            "timeouts",
            f"one response took {answered:.2f} s, and database.timeout is {timeout:g} s",
            "run service and database closer to each other, or raise database.timeout",
        )
    if not is_kept:
        yield warning(
            "timeouts",
            "the server does not cancel slow statements: a pooler in between drops statement_timeout",
            "configure the pooler to pass it on, or set it for the role: ALTER ROLE … SET statement_timeout = '5s'",
        )


async def _privileges(connection: Driver) -> list[Finding]:
    lacking = [row[0] for row in await connection.fetch(_PRIVILEGES, sorted(metadata.tables))]
    if not lacking:
        return []
    role = await connection.fetchval("SELECT current_user")
    return [
        wrong(
            "privileges",
            f"{role} lacks privileges: {'; '.join(lacking)}",
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}",
        )
    ]


async def _partitions(connection: Driver, clock: Clock) -> list[Finding]:
    """Check that audit records have the partitions of this month and the next, if they are partitioned."""
    found = [end_of(row[0]) for row in await connection.fetch(PARTITIONS)]
    ends = [end for end in found if end is not None]
    if found and max(ends, default=clock()) < next_month(next_month(clock())):
        return [
            warning(
                "audit",
                "the next month has no partition, so its records would go to audit_later",
                "let one instance run as the owner of the table, or run gatewright database partition every week",
            )
        ]
    return []


async def _revision(connection: Driver) -> str | None:
    if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
        return None
    revision: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    return revision


async def _clock(connection: Driver, chosen: Settings, clock: Clock) -> Finding:
    before = clock()
    theirs = await connection.fetchval("SELECT clock_timestamp()")
    # The server's time is compared with the middle of the round trip, which bounds the error to half of it.
    ours = before + (clock() - before) / 2
    apart = (ours - theirs).total_seconds()
    return check_clock(apart, chosen[TwoFactorSettings].totp_window * STEP)


def check_clock(apart: float, tolerated: int) -> Finding:
    """Return the finding about the clock of this machine, which is `apart` seconds ahead of the database's.

    Codes of authenticator apps are accepted up to `tolerated` seconds off.
    """
    way = f"{abs(apart):.1f} s {'ahead of' if apart > 0 else 'behind'} the database's"
    if abs(apart) <= NOTICED:
        return ok("clock", f"within {NOTICED:g} s of the database's")
    consequence = f"codes of authenticator apps are refused beyond {tolerated} s"
    fix = "synchronize the clocks of both machines with NTP"
    judge = wrong if abs(apart) > min(MOST_APART, tolerated or MOST_APART) else warning
    return judge("clock", f"{way}; {consequence}", fix)


def _reason(fault: BaseException) -> str:
    if isinstance(fault, TimeoutError):
        return "no response in time"
    if sqlstate(fault):
        return first_line(fault)
    return getattr(fault, "strerror", None) or type(fault).__name__


def _fix(fault: BaseException, address: Address) -> str:
    if sqlstate(fault) == _UNKNOWN_DATABASE:
        name = urlsplit(address.label).path.lstrip("/")
        return f"create it: CREATE DATABASE {name} ENCODING 'UTF8'"
    if sqlstate(fault).startswith(_NOT_AUTHORIZED):
        return "check user and password in database_url, and the server's pg_hba.conf"
    if sqlstate(fault):
        return "see the log of the database server"
    return "check host and port in database_url, and that this machine can reach the server"
