"""How PostgreSQL searches audit records: it reads few more than it returns, whatever it searched for before."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Executable, text

from domain.audit import search
from domain.audit.search import AuditQuery, Subject
from domain.context import Context
from tests.conftest import MakeService
from tests.service import START, Service

MANY = 4000
WITHIN = timedelta(minutes=1)

# Half of the records belong to one user and have one address; of the others, each user has five and each address one.
RECORDS = text(f"""
INSERT INTO audit (id, time, event, outcome, user_id, address, details)
SELECT i::text, CAST(:end AS timestamptz) - i * INTERVAL '1 second', 'sign_in.failed', 'failure',
  CASE WHEN i % 2 = 0 THEN 'busy' ELSE 'rare' || i % 801 END,
  CASE WHEN i % 2 = 0 THEN 'busy' ELSE 'rare' || i END, '{{}}'
FROM generate_series(1, {2 * MANY}) AS i
""")
READ = text(
    "SELECT coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0) FROM pg_stat_xact_user_tables"
    " WHERE relname LIKE 'audit%'"
)
"""How many records the connection has read, counted from a moment before the transaction."""

BUSY, RARE = "busy", "rare1"

Query = Callable[[str, datetime | None], AuditQuery]
"""A search for a user or an address with this name, from a time on."""


@pytest.fixture
def dialect() -> str:
    """Return the database that may plan statements for values of average frequency."""
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
        before, *found, after = await self.database.search(
            [READ, *statements, READ], within, is_scan=is_scan, **values
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


@pytest.mark.parametrize("is_busy_first", [False, True], ids=["rare first", "busy first"])
@pytest.mark.parametrize("hours", [None, 1], ids=["always", "an hour"])
@pytest.mark.parametrize(
    "query",
    [
        lambda name, since: AuditQuery(subject=Subject(name), since=since, until=START),
        lambda name, since: AuditQuery(subject=Subject(name, ["unknown"]), since=since, until=START),
        lambda name, since: AuditQuery(address=name, since=since, until=START),
    ],
    ids=["user", "user with hints", "address"],
)
async def test_reads_what_it_returns(
    make_service: MakeService, query: Query, hours: int | None, *, is_busy_first: bool
) -> None:
    service = await make_service()
    async with service.services.database.transaction() as db:
        await db.execute(text("DELETE FROM audit"))
        await db.execute(RECORDS, end=START)
    async with service.services.database.transaction() as db:
        await db.execute(text("ANALYZE audit"))
    since = None if hours is None else START - timedelta(hours=hours)
    for _ in range(8):
        await found(service, query(BUSY if is_busy_first else RARE, since))

    of_busy, of_rare = await found(service, query(BUSY, since)), await found(service, query(RARE, since))

    assert of_busy[0] == 50
    assert of_busy[1] < 200
    assert 1 <= of_rare[0] <= 5
    assert of_rare[1] < 200
