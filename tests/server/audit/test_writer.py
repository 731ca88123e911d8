"""The background writer of audit records: bounded, never blocking, and empty when the service stops."""

import asyncio
import io
import json
from datetime import UTC, datetime

from sqlalchemy import select, text
from sqlmodel import col

from domain import tokens
from models import Audit, Outcome
from models.daily_count import DailyCount
from server.audit import writer
from server.audit.writer import WAITING_AT_MOST, AuditWriter
from server.database.database import Database

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def record(event: str = "origin.refused") -> Audit:
    return Audit(id=tokens.token(), time=NOW, event=event, outcome=Outcome.REFUSED, details={})


async def written(database: Database) -> list[str]:
    async with database.transaction() as db:
        return list((await db.execute(select(col(Audit.event)))).scalars())


class TestDesk:
    async def test_takes_no_more_than_its_places_and_says_so(
        self, migrated: Database, log_stream: io.BytesIO
    ) -> None:
        writer = AuditWriter(migrated)

        for _ in range(WAITING_AT_MOST + 7):
            writer.enqueue([record()])
        await writer.close()

        assert len(await written(migrated)) == WAITING_AT_MOST
        [line] = map(json.loads, log_stream.getvalue().splitlines())
        assert (line["event"], line["records"]) == ("audit.dropped", 7)

    async def test_writes_what_waits_before_it_closes(self, migrated: Database) -> None:
        writer = AuditWriter(migrated)
        writer.enqueue([record("service.started")])
        await writer.flush()
        writer.enqueue([record(), record("redirect.refused")])

        await writer.close()

        assert sorted(await written(migrated)) == ["origin.refused", "redirect.refused", "service.started"]

    async def test_goes_on_after_a_fault(self, migrated: Database, log_stream: io.BytesIO) -> None:
        writer = AuditWriter(migrated)
        await _rename(migrated, "audit", "elsewhere")

        writer.enqueue([record()])
        await writer.flush()
        await _rename(migrated, "elsewhere", "audit")
        writer.enqueue([record("redirect.refused")])
        await writer.close()

        assert await written(migrated) == ["redirect.refused"]
        [line] = map(json.loads, log_stream.getvalue().splitlines())
        assert (line["event"], line["records"]) == ("audit.write_failed", 1)


class TestCounts:
    async def test_those_of_several_instances_add_up(self, migrated: Database) -> None:
        first, second = AuditWriter(migrated), AuditWriter(migrated)
        for each in (first, second):
            each.count([record(), record("sign_out")])
        first.count([record("sign_out")])

        await asyncio.gather(first.flush(), second.flush())
        await first.flush()

        assert await counted(migrated) == {"origin.refused": 2, "sign_out": 3}

    async def test_they_wait_for_a_database_that_is_away(self, migrated: Database) -> None:
        writer = AuditWriter(migrated)
        writer.count([record()])
        await _rename(migrated, "daily_count", "elsewhere")
        await writer.flush()
        writer.count([record()])
        await _rename(migrated, "elsewhere", "daily_count")

        await writer.close()

        assert await counted(migrated) == {"origin.refused": 2}

    async def test_kinds_are_bounded(self, migrated: Database) -> None:
        writer = AuditWriter(migrated)
        for number in range(2000):
            writer.count([record(f"event.{number}")])

        await writer.close()

        assert len(await counted(migrated)) == 1000


async def counted(database: Database) -> dict[str, int]:
    """Return the counts of the day."""
    columns = (col(DailyCount.day), col(DailyCount.event), col(DailyCount.count))
    async with database.transaction() as db:
        found = await db.execute(select(*columns))
    assert {day for day, _, _ in found} <= {NOW.replace(hour=0)}
    return {event: number for _, event, number in found}


async def _rename(database: Database, old: str, new: str) -> None:
    async with database.transaction() as db:
        await db.execute(text(f"ALTER TABLE {old} RENAME TO {new}"))


class TestLog:
    def test_leaves_out_what_is_empty_and_warns_of_failures(self, log_stream: io.BytesIO) -> None:
        failed = record("mail.failed")
        failed.outcome, failed.details = Outcome.FAILURE, {"template": "otp"}

        writer.log([record(), failed])

        first, second = map(json.loads, log_stream.getvalue().splitlines())
        assert (first["level"], second["level"]) == ("info", "warning")
        assert set(first) == {"timestamp", "level", "event", "id", "time", "outcome"}
        assert second["details"] == {"template": "otp"}

    def test_keeps_what_was_sent_within_its_line(self, log_stream: io.BytesIO) -> None:
        sent = record()
        sent.user_agent = 'x\r\n{"event":"forged"}\u2028\x1b[2K'

        writer.log([sent])

        [line] = log_stream.getvalue().splitlines()
        assert line.isascii()
        assert json.loads(line)["user_agent"] == sent.user_agent
