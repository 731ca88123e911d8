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
from domain.keyset import Position
from models import Outcome
from server.database import partitioning
from tests.conftest import MakeService
from tests.service import START, Service

MANY = 4000
WITHIN = timedelta(minutes=1)

# Half of the records belong to one user and have one address; of the others, each user has five and each address one.
# An operator has caused every fifth of these.
RECORDS = text(f"""
INSERT INTO audit (id, time, event, outcome, user_id, actor_id, address, details)
SELECT i::text, CAST(:end AS timestamptz) - i * INTERVAL '1 second', 'sign_in.failed', 'failure',
  CASE WHEN i % 2 = 0 THEN 'busy' ELSE 'rare' || i % 801 END,
  CASE WHEN i % 2 = 0 THEN 'busy' WHEN i % 5 = 0 THEN 'operator' ELSE 'rare' || i % 801 END,
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

    async def search(self, statements: Sequence[Executable], within: timedelta, **options: Any) -> Any:
        """Search, and count."""
        before, *found, after = await self.database.search([READ, *statements, READ], within, **options)
        self.read = after.scalar() - before.scalar()
        return found


async def found(
    service: Service, wanted: AuditQuery, before: Position | None = None, after: Position | None = None
) -> tuple[int, int]:
    """Return how many records a search has found, and how many it has read."""
    database = Counting(service.services.database)

    async def searching(ctx: Context) -> int:
        counting = Context(replace(ctx.resources, database=database), ctx.facts)
        page = await search.find(counting, wanted, before=before, after=after, limit=50, within=WITHIN)
        return len(page.events)

    return await service.services.unit_of_work.run(searching), database.read


async def fill(service: Service) -> None:
    """Write the records, and let PostgreSQL count what it plans by."""
    async with service.services.database.transaction() as db:
        await db.execute(text("DELETE FROM audit"))
        await db.execute(RECORDS, end=START)
    async with service.services.database.transaction() as db:
        await db.execute(text("ANALYZE audit"))


@pytest.mark.parametrize("is_busy_first", [False, True], ids=["rare first", "busy first"])
@pytest.mark.parametrize("hours", [None, 1], ids=["always", "an hour"])
@pytest.mark.parametrize(
    "query",
    [
        lambda name, since: AuditQuery(subject=Subject(name), since=since),
        lambda name, since: AuditQuery(subject=Subject(name, ["unknown"]), since=since),
        lambda name, since: AuditQuery(subject=Subject(name), outcome=Outcome.FAILURE, since=since),
        lambda name, since: AuditQuery(actor_id=name, since=since),
        lambda name, since: AuditQuery(actor_id=name, outcome=Outcome.FAILURE, since=since),
        lambda name, since: AuditQuery(address=name, since=since),
    ],
    ids=["user", "user with hints", "user and outcome", "actor", "actor and outcome", "address"],
)
async def test_reads_what_it_returns(
    make_service: MakeService, query: Query, hours: int | None, *, is_busy_first: bool
) -> None:
    service = await make_service()
    await fill(service)
    since = None if hours is None else START - timedelta(hours=hours)
    for _ in range(8):
        await found(service, query(BUSY if is_busy_first else RARE, since))

    of_busy, of_rare = await found(service, query(BUSY, since)), await found(service, query(RARE, since))

    assert of_busy[0] == 50
    assert of_busy[1] < 200
    assert 1 <= of_rare[0] <= 5
    assert of_rare[1] < 200


@pytest.mark.parametrize("is_by_month", [False, True], ids=["one table", "by month"])
@pytest.mark.parametrize(
    "wanted",
    [
        AuditQuery(subject=Subject(BUSY)),
        AuditQuery(subject=Subject(BUSY, ["unknown"])),
        AuditQuery(actor_id=BUSY),
        AuditQuery(actor_id="operator"),
        AuditQuery(actor_id="operator", outcome=Outcome.FAILURE),
    ],
    ids=["user", "user with hints", "actor", "operator", "operator and outcome"],
)
async def test_reads_a_page_wherever_it_begins(
    make_service: MakeService, wanted: AuditQuery, *, is_by_month: bool
) -> None:
    service = await make_service()
    if is_by_month:
        await partitioning.partition(service.services.database, START)
    middle = Position(START - timedelta(seconds=MANY), str(MANY))
    # PostgreSQL plans the searches first while the table has no records.
    for page in [{}, {"before": middle}, {"after": middle}]:
        await found(service, wanted, **page)
    await fill(service)

    newest = await found(service, wanted)
    older, newer = await found(service, wanted, before=middle), await found(service, wanted, after=middle)

    assert [newest[0], older[0], newer[0]] == [50, 50, 50]
    assert max(newest[1], older[1], newer[1]) < 200
