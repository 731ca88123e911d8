"""`python -m tests.labs.bench.console`: how long the list of users takes with few and many users."""

import asyncio
import random
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import text

from server.database import migrations
from server.observability import logs
from tests.handlers.pages import SETTINGS
from tests.handlers.test_console import administrator
from tests.labs.bench import console_pages, growth_rows
from tests.labs.bench.timing import timed
from tests.postgres import Cluster
from tests.service import Service, close_service, open_service

MOST_TIMES = 1.5
"""The goal: the median with the most users, in medians with the fewest."""

SERIES = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows)",
    "postgresql": "WITH n(i) AS (SELECT generate_series(1, CAST(:rows AS integer)))",
}
"""A table `n` with the numbers up to `:rows` in a column `i`, by database."""

JOINED = {
    "sqlite": "1767268800000 - i * 1000",
    "postgresql": "TIMESTAMPTZ '2026-01-01 12:00:00+00' - i * INTERVAL '1 second'",
}
"""When the user of a number signed up."""

USERS = """
INSERT INTO "user" (id, name, email, email_verified, two_factor_enabled, role, banned, created_at, updated_at)
{series} SELECT 'u' || i, 'Somebody ' || i, 'somebody.' || i || '@example.com', {true}, {false}, 'user', {false},
{joined}, {joined} FROM n
"""
ACCOUNTS = """
INSERT INTO account (id, user_id, provider_id, issuer, account_id, created_at, updated_at)
SELECT 'a' || id, id, 'credential', '', id, created_at, updated_at FROM "user" WHERE email LIKE 'somebody.%'
"""

Users = Annotated[str, typer.Option(help="Numbers of users, ascending, separated by commas.")]
Asked = Annotated[int, typer.Option(min=5, help="Requests of each kind at each size.")]
Databases = Annotated[str, typer.Option(help="postgresql, sqlite, or both, separated by a comma.")]

Audit = Annotated[
    int,
    typer.Option(
        min=0,
        help="Measure every page instead, on PostgreSQL with the last number of users, ten sessions of each, and this"
        " many audit records: 30000000 need 40 GB of disk.",
    ),
]


def main(
    users: Users = "10000,1000000",
    asked: Asked = 100,
    databases: Databases = "sqlite,postgresql",
    audit: Audit = 0,
) -> None:
    """Fill private databases, and open pages of the list in this process."""
    if audit:
        console_pages.run(int(users.split(",")[-1]), audit, asked)
        return
    logs.configure("error", "json")
    sizes = [int(size) for size in users.split(",")]
    for dialect in databases.split(","):
        with ExitStack() as ends:
            directory = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-console-")))
            if dialect == "sqlite":
                urls = [f"sqlite:///{directory / f'{size}.db'}" for size in sizes]
            else:
                cluster = Cluster(None)
                cluster.start()
                ends.callback(cluster.stop)
                urls = [cluster.create(migrated=True) for _ in sizes]
            print(asyncio.run(_measure(dialect, urls, sizes, asked, directory)), flush=True)


async def _measure(
    dialect: str, urls: Sequence[str], sizes: Sequence[int], asked: int, directory: Path
) -> str:
    found: dict[str, list[float]] = {}
    for url, size in zip(urls, sizes, strict=True):
        service = await open_service(url, directory, {**SETTINGS, "limits.enabled": "false"})
        try:
            await (
                fill_sqlite(service, size) if dialect == "sqlite" else _fill_postgresql(service, url, size)
            )
            browser = await administrator(service)
            for name, query in (await _requests(size)).items():
                seconds = []
                for each in query * (asked // len(query)):
                    with timed() as taken:
                        page = await browser.open(f"/console/users{each}")
                    assert page.status == 200 or "SEARCH_TOO_BROAD" in page.text, page.text
                    seconds.append(taken[0] * 1000)
                found.setdefault(name, []).append(statistics.median(seconds))
        finally:
            await close_service(service)
    heads = " | ".join(f"{size:,} users" for size in sizes)
    lines = [f"| {dialect}, ms at p50 | {heads} | times | goal met |", "|---" * (len(sizes) + 3) + "|"]
    for name, medians in found.items():
        times = medians[-1] / medians[0]
        cells = " | ".join(f"{median:.1f}" for median in medians)
        lines.append(f"| {name} | {cells} | {times:.2f} | {'yes' if times <= MOST_TIMES else '**no**'} |")
    return "\n".join(lines) + "\n"


async def _requests(size: int) -> Mapping[str, list[str]]:
    """Return the queries of each kind."""
    numbers = [random.randint(size // 2, size) for _ in range(5)]
    return {
        "first page": [""],
        "beginning of an address": [f"?search=somebody.{number}@" for number in numbers],
        "part of an address": [f"?search=.{number}@" for number in numbers],
        "banned": ["?banned=true"],
        "sorted by name": ["?sort=name"],
    }


async def fill_sqlite(service: Service, size: int) -> None:
    """Add users to the SQLite database of a service."""
    values = {"series": SERIES["sqlite"], "joined": JOINED["sqlite"], "true": "1", "false": "0"}
    async with service.services.database.transaction() as db:
        await db.execute(text(USERS.format(**values)), rows=size)
        await db.execute(text(ACCOUNTS))
        await db.execute(text("ANALYZE"))


async def _fill_postgresql(service: Service, url: str, size: int) -> None:
    values = {
        "series": SERIES["postgresql"],
        "joined": JOINED["postgresql"],
        "true": "true",
        "false": "false",
    }
    # Without the timeout of the service's own connections.
    connection = await growth_rows.connect(url)
    await connection.execute(USERS.format(**values).replace(":rows", str(size)))
    await connection.execute(ACCOUNTS)
    await migrations.add_search_indexes(service.services.database)
    for table in ("user", "account"):
        await connection.execute(f'VACUUM (ANALYZE) "{table}"')
    await connection.close()


if __name__ == "__main__":
    typer.run(main)
