"""The operations of openapi/paths/audit.yaml: search and export the audit trail, and read one event."""

from collections.abc import Mapping
from datetime import datetime

from domain import identifiers
from domain.admin import audit
from domain.admin.audit import EventFilter
from domain.audit.search import AuditEvent
from domain.context import Context
from domain.errors import Field, ValidationError
from domain.keyset import Position
from handlers import shapes, wire
from handlers.responses import spreadsheets
from handlers.responses.reply import Stream
from models import Outcome


# audit.list_events
async def list_events(  # noqa: PLR0913 - one parameter per parameter of the query
    ctx: Context,
    event: str | None = None,
    group: str | None = None,
    subject: str | None = None,
    actor: str | None = None,
    network: str | None = None,
    outcome: str | None = None,
    from_: str | None = None,
    to: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> shapes.AuditEventPage:
    """Return a page of audit events, newest first.

    `actor` caused the event, `subject` is the user whom the event is about. `cursor` is `nextCursor` of the previous
    page.
    """
    given = filters(event, group, subject, actor, network, outcome, from_, to)
    page = await audit.list_events(
        ctx, _wanted(given), before=_position(cursor), limit=100 if limit is None else limit
    )
    return {
        "events": [event_shape(event) for event in page.events],
        "nextCursor": None if page.last is None else wire.cursor(page.last),
    }


# audit.export_events
async def export_events(  # noqa: PLR0913 - one parameter per parameter of the query
    ctx: Context,
    event: str | None = None,
    group: str | None = None,
    subject: str | None = None,
    actor: str | None = None,
    network: str | None = None,
    outcome: str | None = None,
    from_: str | None = None,
    to: str | None = None,
) -> Stream:
    """Return all audit events that match the filters, as a CSV file."""
    given = filters(event, group, subject, actor, network, outcome, from_, to)
    pages = await audit.export_events(ctx, _wanted(given), spreadsheets.given(given))
    return spreadsheets.stream("audit-events", ctx.now, pages, event_shape, shapes.AuditEvent.__annotations__)


# audit.get_event
async def get_event(ctx: Context, id_: str) -> shapes.AuditEvent:
    """Return an audit event."""
    return event_shape(await audit.get_event(ctx, id_))


def event_shape(event: AuditEvent) -> shapes.AuditEvent:
    """Return an audit event in the form of API responses."""
    return {
        "id": event.id,
        "time": wire.instant(event.time),
        "event": event.event,
        "outcome": event.outcome,
        "code": event.code,
        "userId": event.user_id,
        "actorId": event.actor_id,
        "sessionId": event.session_id,
        "method": event.method,
        "ipAddress": event.address,
        "userAgent": event.user_agent,
        "requestId": event.request_id,
        "details": event.details,
    }


def filters(
    event: str | None,
    group: str | None,
    subject: str | None,
    actor: str | None,
    network: str | None,
    outcome: str | None,
    since: str | None,
    until: str | None,
) -> Mapping[str, str | None]:
    """Return the filters of a search for events, by the names of the query parameters.

    A parameter that is absent or blank has the value None.
    """
    given = {
        "event": event,
        "group": group,
        "subject": subject,
        "actor": actor,
        "network": network,
        "outcome": outcome,
        "from": since,
        "to": until,
    }
    return {name: (value or "").strip() or None for name, value in given.items()}


def event_filter(
    given: Mapping[str, str | None], *, since: datetime | None, until: datetime | None
) -> EventFilter:
    """Return the filter for a search of audit events.

    `given` is the result of `filters`; `since` and `until` are its `from` and `to` as times.
    """
    outcome = given["outcome"]
    return EventFilter(
        event=given["event"],
        group=given["group"],
        user=given["subject"],
        actor=given["actor"],
        network=given["network"],
        outcome=None if outcome is None else Outcome(outcome),
        since=since,
        until=until,
    )


def _wanted(given: Mapping[str, str | None]) -> EventFilter:
    return event_filter(given, since=_time("from", given["from"]), until=_time("to", given["to"]))


def _time(name: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    moment = identifiers.instant_or_none(text)
    if moment is None:
        problem = "must be a time with a zone"
        raise ValidationError(f"[query.{name}] {problem}", Field("query", name, problem))
    return moment


def _position(cursor: str | None) -> Position | None:
    return None if cursor is None else wire.position(cursor)
