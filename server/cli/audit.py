"""`gatewright audit`: Show audit records, newest first."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import orjson
import typer

from domain.admin import audit as admin_audit
from domain.context import Context
from handlers import wire
from models import Outcome
from server.cli.output import print_table
from server.cli.support import run
from server.config import durations

_COLUMNS = ("Time", "Event", "Outcome", "Code", "User", "Method", "Address", "Details")
_COLOURS = {"success": "green", "refused": "yellow", "failure": "red"}


@dataclass(frozen=True, slots=True)
class TimeArgument:
    """A point in time, absolute or relative to now."""

    at: datetime | None = None
    ago: timedelta = timedelta(0)

    def resolve(self, now: datetime) -> datetime:
        """Return the point in time."""
        return self.at or now - self.ago


def moment(written: str | TimeArgument) -> TimeArgument:
    """Parse a time such as `24h` (ago) or `2026-01-31T12:00` (UTC unless it has an offset). Raises ValueError."""
    if isinstance(written, TimeArgument):
        return written
    try:
        return TimeArgument(ago=durations.parse(written))
    except ValueError:
        pass
    try:
        at = datetime.fromisoformat(written)
    except ValueError:
        raise ValueError("should be a span such as 24h, or a time such as 2026-01-31T12:00") from None
    return TimeArgument(at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC))


def audit(
    user: Annotated[
        str | None,
        typer.Option(metavar="USER", help="Email address, username or id of a user, also of a deleted one."),
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(metavar="EVENT", help="Beginning of the event, such as sign_in or two_factor.locked."),
    ] = None,
    outcome: Annotated[
        Literal["success", "failure", "refused"] | None, typer.Option(help="Outcome of the event.")
    ] = None,
    since: Annotated[
        TimeArgument | None,
        typer.Option(
            parser=moment, metavar="TIME", help="Only records since, for example 24h or 2026-01-31."
        ),
    ] = None,
    until: Annotated[
        TimeArgument | None,
        typer.Option(parser=moment, metavar="TIME", help="Only records before this time."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=100_000, metavar="NUMBER", help="Maximum number of records.")
    ] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Show audit records, newest first.

    Example: gatewright audit --user ada@example.com --event sign_in --since 24h
    """

    async def job(ctx: Context) -> list[Any]:
        first, last = (None if bound is None else bound.resolve(ctx.now) for bound in (since, until))
        criteria = admin_audit.AuditFilter(user, event, outcome and Outcome(outcome), first, last)
        return list(await admin_audit.find(ctx, criteria, limit=limit))

    records = run(job)
    if as_json:
        for record in records:
            typer.echo(orjson.dumps(shape(record)))
    else:
        print_table(_COLUMNS, map(_row, records), _COLOURS)


def shape(record: Any) -> dict[str, Any]:
    """Return an audit record in the form of JSON, with the names of its columns."""
    return {**record._asdict(), "time": wire.instant(record.time)}


def _row(record: Any) -> tuple[object, ...]:
    who = record.user_id or (f"hint {record.hint[:12]}" if record.hint else "")
    columns = (record.event, record.outcome, record.code, who, record.method, record.address, record.details)
    return f"{record.time:%Y-%m-%d %H:%M:%S}", *columns
