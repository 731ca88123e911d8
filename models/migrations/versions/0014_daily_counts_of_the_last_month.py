"""The counts of the last 31 days, from the audit records of these days.

Adds only rows. A start and `gatewright migrate` count on PostgreSQL before, while records are written.
"""

from typing import Any

from alembic import op

revision = "0014"
down_revision = "0013"

NEEDS = "0013"
"""The revision that brings the table."""

INDEXES: dict[str, tuple[str, list[Any], Any]] = {}

_BACKFILL = """
INSERT INTO daily_count (day, event, way_in, code, count)
SELECT {day}, event, COALESCE(method, ''), COALESCE(code, ''), COUNT(*) FROM audit
WHERE time >= {since} AND NOT EXISTS (SELECT 1 FROM daily_count)
GROUP BY 1, 2, 3, 4
"""
BACKFILL = _BACKFILL.format(
    day="date_trunc('day', time, 'UTC')", since="date_trunc('day', now(), 'UTC') - INTERVAL '30 days'"
)
"""The statement for PostgreSQL, which does nothing the second time."""

_SQLITE = _BACKFILL.format(
    day="time / 86400000 * 86400000",
    since="CAST(strftime('%s', 'now', 'start of day', '-30 days') AS INTEGER) * 1000",
)


def upgrade() -> None:
    op.execute(BACKFILL if op.get_context().dialect.name == "postgresql" else _SQLITE)


def downgrade() -> None:
    op.execute("DELETE FROM daily_count")
