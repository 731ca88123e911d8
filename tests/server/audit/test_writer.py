"""The background writer of audit records: bounded, never blocking, and empty when the service stops."""

import io
import json
from datetime import UTC, datetime

from sqlalchemy import select, text
from sqlmodel import col

from domain import tokens
from models import Audit, Outcome
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
