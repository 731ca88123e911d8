"""`gatewright database`: Change how the database stores tables."""

import asyncio
from typing import Annotated

import typer

from server.cli import check_config
from server.clock import system_clock
from server.config.base import Settings
from server.config.groups.database import DatabaseSettings
from server.config.groups.observability import AuditSettings
from server.database import partitioning, partitions
from server.database.database import open_database

app = typer.Typer(help="Change how the database stores tables.", no_args_is_help=True)

_MIB = 2**20


@app.command()
def partition(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; show what would be converted.")
    ] = False,
) -> None:
    """Partition the audit records by month (PostgreSQL).

    The service can keep running. No record is copied; one index is added, with about a sixth of the size of the table.
    Afterwards the service creates the partitions of future months, and drops the partition of a month when
    audit.retention has passed since its end. An interrupted conversion continues when the command is run again.

    Example: gatewright database partition --dry-run
    """
    typer.echo(asyncio.run(_partition(check_config.read(), dry_run=dry_run)))


async def _partition(settings: Settings, *, dry_run: bool) -> str:
    chosen = settings[DatabaseSettings]
    database = await open_database(
        settings.database_url.get_secret_value(),
        pool_size=chosen.pool_size,
        timeout=chosen.timeout.total_seconds(),
        pooled=chosen.pooler == "transaction",
    )
    try:
        if (found := await partitioning.estimate(database)) is None:
            if not dry_run:
                keep = settings[AuditSettings].retention
                await partitions.maintain(database, system_clock(), keep or None)
            return "The audit records are partitioned already; the partitions of the next months exist."
        if not dry_run:
            await partitioning.partition(database, system_clock())
            return "The audit records are partitioned by month."
    finally:
        await database.close()
    records, size = found
    return f"About {records:,} audit records ({size / _MIB:,.0f} MiB) would be partitioned by month."
