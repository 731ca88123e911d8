"""`python -m tests.labs.bench.disk`: bytes on disk of one user, session and audit record, on both databases.

Users sign up and in through a running service, so that rows and indexes are as the service leaves them. The password
hashes are cheap, which does not change their length by more than a byte.
"""

import asyncio
import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import asyncpg
import httpx
import typer

from tests.live import serving
from tests.postgres import Cluster
from tests.service import NO_TLS, PASSWORD

SIGN_INS, FAILURES = 4, 2
"""Sign-ins of each user after the sign-up, and attempts with a wrong password."""
BROWSER = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
)
SETTINGS = {
    "password.argon2_memory_kib": "1024",
    "password.argon2_time": "1",
    "limits.requests": "0",
    "limits.failures": "0",
    "limits.network_failures": "0",
    "limits.account_failures": "0",
    "mail.sender": "none",
}

_POSTGRESQL = """
SELECT relname, n_live_tup, pg_table_size(relid), pg_indexes_size(relid) FROM pg_stat_user_tables
"""
_SQLITE = """
SELECT tbl_name, sum(pgsize) FILTER (WHERE type = 'table'), sum(pgsize) FILTER (WHERE type = 'index')
FROM dbstat JOIN sqlite_schema USING (name) GROUP BY tbl_name
"""

Size = tuple[int, float, float]
"""Rows of a table, and bytes of its rows and of its indexes."""

Users = Annotated[int, typer.Option(min=100, help="Users who sign up.")]
Databases = Annotated[str, typer.Option(help="Kinds of databases, separated by commas.")]


def main(users: Users = 2000, databases: Databases = "sqlite,postgresql") -> None:
    """Measure a new database of each kind."""
    for database in databases.split(","):
        with ExitStack() as ends:
            directory = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-disk-")))
            if database == "postgresql":
                cluster = Cluster(None)
                cluster.start()
                ends.callback(cluster.stop)
                url = cluster.create()
                fill(directory, {**SETTINGS, "database_url": url}, users)
                sizes = asyncio.run(in_postgresql(url))
            else:
                fill(directory, SETTINGS, users)
                sizes = in_sqlite(directory / "gatewright.db")
        print(table(database, sizes), flush=True)


def fill(directory: Path, settings: Mapping[str, str], users: int) -> None:
    """Sign users up, sign them in, and send wrong passwords."""
    with (
        serving(directory, settings) as live,
        httpx.Client(
            base_url=live.url, verify=NO_TLS, trust_env=False, headers={"User-Agent": BROWSER}
        ) as client,
    ):
        for number in range(users):
            email = f"somebody.{number}@example.com"
            post(client, "/sign-up/email", {"name": "Somebody", "email": email, "password": PASSWORD}, 200)
            for _ in range(SIGN_INS):
                post(client, "/sign-in/email", {"email": email, "password": PASSWORD}, 200)
            for _ in range(FAILURES):
                post(client, "/sign-in/email", {"email": email, "password": "not this one"}, 401)


def post(client: httpx.Client, path: str, body: Mapping[str, str], status: int) -> None:
    """Send a request without a session."""
    client.cookies.clear()
    response = client.post(path, json=body)
    assert response.status_code == status, response.text


async def in_postgresql(url: str) -> dict[str, Size]:
    """Return the size of each table that has rows."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("VACUUM ANALYZE")
        return {
            name: (rows, own, indexes)
            for name, rows, own, indexes in await connection.fetch(_POSTGRESQL)
            if rows
        }
    finally:
        await connection.close()


def in_sqlite(file: Path) -> dict[str, Size]:
    """Return the size of each table that has rows."""
    with closing(sqlite3.connect(file)) as database:
        sizes = {}
        for name, own, indexes in database.execute(_SQLITE).fetchall():
            [rows] = database.execute(f'SELECT count(*) FROM "{name}"').fetchone()
            if rows:
                sizes[name] = (rows, own, indexes or 0)
        return sizes


def table(database: str, sizes: Mapping[str, Size]) -> str:
    """Return the sizes as a table in Markdown; those of tables with few rows say nothing."""
    most = max(rows for rows, _, _ in sizes.values())
    lines = [f"| {database} | rows | bytes of a row | in its indexes | together |", "|---|---|---|---|---|"]
    for name, (rows, own, indexes) in sorted(sizes.items()):
        if rows >= most / 20:
            each = (own / rows, indexes / rows, (own + indexes) / rows)
            lines.append(f"| `{name}` | {rows:,} | " + " | ".join(f"{value:.0f}" for value in each) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    typer.run(main)
