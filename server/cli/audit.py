"""`gatewright audit`: look through the audit records."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import orjson
import typer

from domain.admin import audit as admin_audit
from domain.admin.audit import Wanted
from domain.context import Context
from handlers import wire
from models import Outcome
from server.cli.support import cell, print_table, run
from server.config import durations

_COLUMNS = ("Time", "Event", "Outcome", "Code", "User", "Method", "Address", "Details")


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time, or one that lies so long back."""

    at: datetime | None = None
    ago: timedelta = timedelta(0)

    def resolve(self, now: datetime) -> datetime:
        """Return the point in time, seen from now."""
        return self.at or now - self.ago


def moment(written: str | Moment) -> Moment:
    """Read `24h` (so long ago) or `2026-01-31T12:00` (in UTC unless it says otherwise). Raises ValueError."""
    if isinstance(written, Moment):
        return written
    try:
        return Moment(ago=durations.parse(written))
    except ValueError:
        pass
    try:
        at = datetime.fromisoformat(written)
    except ValueError:
        raise ValueError("should be a span such as 24h, or a time such as 2026-01-31T12:00") from None
    return Moment(at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC))


def audit(
    user: Annotated[
        str | None, typer.Option(help="About whom: address, username or id, of somebody deleted, too.")
    ] = None,
    event: Annotated[
        str | None, typer.Option(help="How the event begins: sign_in, two_factor.locked.")
    ] = None,
    outcome: Annotated[Outcome | None, typer.Option(help="How it went.")] = None,
    since: Annotated[
        Moment | None, typer.Option(parser=moment, metavar="TIME", help="From then on: 24h, 2026-01-31.")
    ] = None,
    until: Annotated[
        Moment | None, typer.Option(parser=moment, metavar="TIME", help="Before then, written likewise.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Records shown at most.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Show what happened, the newest first."""

    async def job(ctx: Context) -> list[Any]:
        first, last = (None if bound is None else bound.resolve(ctx.now) for bound in (since, until))
        wanted = Wanted(user, event, outcome, first, last)
        return list(await admin_audit.find(ctx, wanted, limit=limit))

    found = run(job)
    if as_json:
        for record in found:
            typer.echo(orjson.dumps(shape(record)))
    else:
        print_table(_COLUMNS, map(_row, found))


def shape(record: Any) -> dict[str, Any]:
    """Write a record as JSON, with the names of the columns."""
    return {**record._asdict(), "time": wire.instant(record.time)}


def _row(record: Any) -> tuple[str, ...]:
    who = record.user_id or (f"hint {record.hint[:12]}" if record.hint else "")
    details = ", ".join(f"{name}={value}" for name, value in record.details.items())
    columns = (record.event, record.outcome, record.code, who, record.method, record.address, details)
    return f"{record.time:%Y-%m-%d %H:%M:%S}", *map(cell, columns)
