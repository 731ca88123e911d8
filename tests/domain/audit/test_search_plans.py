"""How PostgreSQL searches audit records: it reads few more than it returns, whatever it was asked before."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Executable, text

from domain.audit import search
from domain.audit.search import AuditQuery, Subject
from domain.context import Context
from server.database import partitioning
from tests.conftest import MakeService
from tests.service import START, Service

MANY = 4000
WITHIN = timedelta(minutes=1)

# Half of the records belong to one user and have one address; of the others, each user has five and each address one.
RECORDS = text(f"""
INSERT INTO audit (id, time, event, outcome, user_id, address, details)
SELECT i::text, CAST(:end AS timestamptz) - i * INTERVAL '1 minute', 'sign_in.failed', 'failure',
  CASE WHEN i % 2 = 0 THEN 'busy' ELSE 'user' || i % 801 END,
  CASE WHEN i % 2 = 0 THEN 'busy' ELSE 'address' || i END, '{{}}'
FROM generate_series(1, {2 * MANY}) AS i
""")
PLANS = text(
    "SELECT sum(generic_plans), sum(custom_plans) FROM pg_prepared_statements"
    " WHERE statement LIKE 'SELECT audit.id%user_id = %'"
)
"""How often the connection's searches for a user had a plan for all values, and how often one of their own."""
READ = text(
    "SELECT coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0) FROM pg_stat_xact_user_tables"
    " WHERE relname LIKE 'audit%'"
)
"""How many records the connection has read, counted from a moment before the transaction."""


@pytest.fixture
def dialect() -> str:
    """Return the database that plans statements for values of average frequency."""
    return "postgresql"


@dataclass
class Counting:
    """A database that counts the records that its last search has read."""

    database: Any
    read: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    async def search(
        self, statements: Sequence[Executable], within: timedelta, *, is_scan: bool, **values: object
    ) -> Any:
        """Search, and count."""
        plan = statements[0].get_execution_options()["plan"]
        before, *found, after = await self.database.search(
            [READ.execution_options(plan=plan), *statements, READ], within, is_scan=is_scan, **values
        )
        self.read = after.scalar() - before.scalar()
        return found


async def found(service: Service, wanted: AuditQuery) -> tuple[int, int]:
    """Return how many records a search has found, and how many it has read."""
    database = Counting(service.services.database)

    async def searching(ctx: Context) -> int:
        counting = Context(replace(ctx.resources, database=database), ctx.facts)
        page = await search.find(counting, wanted, before=None, limit=50, within=WITHIN)
        return len(page.events)

    return await service.services.unit_of_work.run(searching), database.read


@pytest.mark.parametrize("days", [None, 2])
@pytest.mark.parametrize("condition", ["user", "address"])
@pytest.mark.parametrize("is_busy_first", [False, True])
async def test_reads_what_it_returns(
    make_service: MakeService, days: int | None, condition: str, *, is_busy_first: bool
) -> None:
    service = await make_service()
    async with service.services.database.transaction() as db:
        await db.execute(text("DELETE FROM audit"))
        await db.execute(RECORDS, end=START)
    async with service.services.database.transaction() as db:
        await db.execute(text("ANALYZE audit"))
    since = None if days is None else START - timedelta(days=days)

    def query(name: str) -> AuditQuery:
        if condition == "user":
            return AuditQuery(subject=Subject(name), since=since, until=START)
        return AuditQuery(address=name, since=since, until=START)

    rare = f"{condition}1"
    for _ in range(8):
        await found(service, query("busy" if is_busy_first else rare))
    of_busy, of_rare = await found(service, query("busy")), await found(service, query(rare))

    assert of_busy[0] == 50
    assert of_busy[1] < 200
    assert of_rare[1] < 200


async def test_of_a_user_in_some_months_is_not_planned_anew(make_service: MakeService) -> None:
    service = await make_service()
    await partitioning.partition(service.services.database, service.clock.now)

    async def searching(ctx: Context) -> Any:
        for month in range(12):
            wanted = AuditQuery(
                subject=Subject("u" * 32), since=START - month * timedelta(days=30), until=START
            )
            await search.find(ctx, wanted, before=None, limit=50, within=WITHIN)
        [plans] = await ctx.resources.database.search([PLANS], WITHIN, is_scan=False)
        return plans.first()

    generic, custom = await service.services.unit_of_work.run(searching)

    assert generic >= 12
    assert custom == 0
