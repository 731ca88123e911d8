"""Search the audit records, for the operator and for administrators of the service."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Network, ip_address
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, or_, select
from sqlmodel import col

from domain import tokens
from domain.admin import exports, permissions
from domain.admin.errors import (
    AuditEventNotFound,
    SearchTooBroad,
    YouAreNotAllowedToManageService,
)
from domain.admin.exports import Export, Page
from domain.admin.policy import AdminPolicy
from domain.audit import record, search
from domain.audit.search import AuditEvent, AuditPage, AuditQuery, Subject
from domain.context import Context
from domain.errors import Field, ValidationError
from domain.keyset import Position
from domain.ports import SearchTimedOut
from domain.users import lookup
from models import Audit, Outcome
from models.statements import table_of
from models.user import FIND_USER, UserRow

_WITHIN = timedelta(milliseconds=150)
"""How long the search for important events may take."""

_BYTES = {8: 1, 16: 2, 24: 3}
"""The bytes of a network that its addresses begin with, by its bits."""


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """A filter for audit records; None matches everything."""

    user: str | None = None
    """The user's id, email address or username; records of deleted and unknown users are found too."""
    event: str | None = None
    """The prefix of the event name."""
    outcome: Outcome | None = None
    since: datetime | None = None
    until: datetime | None = None


async def find(ctx: Context, criteria: AuditFilter, *, limit: int) -> Sequence[Any]:
    """Return the newest matching records, newest first, each with the columns of `Audit`."""
    conditions = _conditions(criteria)
    if criteria.user is not None:
        conditions.append(await _concerns(ctx, criteria.user))
    newest_first = (col(Audit.time).desc(), col(Audit.id))
    statement = select(*table_of(Audit).columns).where(*conditions).order_by(*newest_first).limit(limit)
    return await ctx.db.execute(statement.execution_options(in_thread=True))


def _conditions(criteria: AuditFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if criteria.event is not None:
        conditions.append(col(Audit.event).startswith(criteria.event, autoescape=True))
    if criteria.outcome is not None:
        conditions.append(col(Audit.outcome) == criteria.outcome)
    if criteria.since is not None:
        conditions.append(col(Audit.time) >= criteria.since)
    if criteria.until is not None:
        conditions.append(col(Audit.time) < criteria.until)
    return conditions


async def _concerns(ctx: Context, identifier: str) -> ColumnElement[bool]:
    """Return the condition that a record is about a user: as subject, as actor, or by an identifier that was typed.

    Hints find records of identifiers that belonged to no user at the time.
    """
    ids, typed = {identifier}, {identifier}
    user = await lookup.look_up(ctx, identifier)
    if user is not None:
        ids = {user.id}
        typed = {user.email, user.username or user.email}
    hints = {hint for name in typed if not tokens.is_token(name) for hint in record.hints(ctx, name)}
    return or_(col(Audit.user_id).in_(ids), col(Audit.actor_id).in_(ids), col(Audit.hint).in_(hints))


@dataclass(frozen=True, slots=True)
class EventFilter:
    """A filter for audit events, as administrators of the service give it; None matches everything."""

    event: str | None = None
    """The name of an event."""
    group: str | None = None
    """The first part of the names of events, such as `sign_in`."""
    user: str | None = None
    """The user concerned, by id, email address or username; records of deleted and unknown users are found too."""
    actor: str | None = None
    """The user who acted, by id, email address or username."""
    network: str | None = None
    """An IP address, or an IPv4 network of 8, 16 or 24 bits in CIDR notation."""
    outcome: Outcome | None = None
    since: datetime | None = None
    until: datetime | None = None


async def list_events(
    ctx: Context,
    wanted: EventFilter,
    *,
    before: Position | None = None,
    after: Position | None = None,
    limit: int,
) -> AuditPage:
    """Return a page of the events that match, newest first: those older than `before`, or those newer than `after`.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, ValidationError, SearchTooBroad.
    """
    # defence: ADM24 audit-events
    permissions.require(ctx, "service", "manage", YouAreNotAllowedToManageService)
    query, within = await _query(ctx, wanted), ctx.policy[AdminPolicy].scan_timeout
    try:
        return await search.find(ctx, query, before=before, after=after, limit=limit, within=within)
    except SearchTimedOut:
        raise SearchTooBroad from None


async def latest_of(ctx: Context, user: UserRow, *, limit: int) -> Sequence[AuditEvent]:
    """Return the newest events about a user or caused by them, newest first.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, SearchTooBroad.
    """
    about = await list_events(ctx, EventFilter(user=user.id), limit=limit)
    by = await list_events(ctx, EventFilter(actor=user.id), limit=limit)
    events = {event.id: event for event in (*about.events, *by.events)}
    return sorted(events.values(), key=attrgetter("time", "id"), reverse=True)[:limit]


async def export_events(
    ctx: Context, wanted: EventFilter, filters: Mapping[str, str]
) -> AsyncGenerator[Sequence[AuditEvent], None]:
    """Return an iterator over the pages of all events that match, newest first.

    `filters` are the filters as the request gives them, which the audit record of the export contains.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, ValidationError, SearchTooBroad, ExportInProgress.
    """
    # defence: ADM24 export-events
    permissions.require(ctx, "service", "manage", YouAreNotAllowedToManageService)
    query, within = await _query(ctx, wanted), ctx.policy[AdminPolicy].scan_timeout

    async def read(after: Position | None) -> Page[AuditEvent]:
        page = await search.find(ctx, query, before=after, limit=exports.PAGE, within=within)
        return page.events, page.last

    return await Export(ctx, "audit events", filters, ("service", "manage"), read).begin()


async def list_important_events(ctx: Context, *, limit: int) -> Sequence[AuditEvent] | None:
    """Return the newest events that are declared as important, or None if the search takes too long.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired.
    """
    permissions.require(ctx, "service", "manage", YouAreNotAllowedToManageService)
    names = tuple(event.name for event in record.EVENTS.values() if event.important)
    try:
        return await search.newest(ctx, names, limit=limit, within=_WITHIN)
    except SearchTimedOut:
        return None


async def get_event(ctx: Context, event_id: str) -> AuditEvent:
    """Return an event. Raises YouAreNotAllowedToManageService, TwoFactorRequired, AuditEventNotFound."""
    # defence: ADM24 audit-event
    permissions.require(ctx, "service", "manage", YouAreNotAllowedToManageService)
    event = await search.get(ctx, event_id)
    if event is None:
        raise AuditEventNotFound
    return event


async def _query(ctx: Context, wanted: EventFilter) -> AuditQuery:
    return AuditQuery(
        events=_events(wanted),
        subject=None if wanted.user is None else await _subject(ctx, wanted.user),
        actor_id=None if wanted.actor is None else (await _subject(ctx, wanted.actor)).id,
        address=None if wanted.network is None else _address(wanted.network),
        outcome=wanted.outcome,
        since=wanted.since,
        until=wanted.until,
    )


def _events(wanted: EventFilter) -> Sequence[str] | None:
    if wanted.group is None:
        return None if wanted.event is None else [wanted.event]
    names = [name for name in record.EVENTS if name.partition(".")[0] == wanted.group]
    return names if wanted.event is None else [name for name in names if name == wanted.event]


async def _subject(ctx: Context, identifier: str) -> Subject:
    """Return the id of a user, and the digests that replace their names in records before they existed."""
    named = FIND_USER.params(id=identifier, lowered=identifier.lower())
    # Outside the transaction, because the search has a connection of its own.
    [found] = await ctx.resources.database.search(
        [named], ctx.policy[AdminPolicy].scan_timeout, is_scan=False
    )
    user = found.first()
    typed = {identifier} if user is None else {user.email, user.username or user.email}
    hints = [hint for name in sorted(typed) if not tokens.is_token(name) for hint in record.hints(ctx, name)]
    return Subject(identifier if user is None else user.id, hints)


def _address(network: str) -> str:
    """Return an IP address in canonical spelling, or the beginning of the addresses of a network."""
    try:
        if "/" not in network:
            return str(ip_address(network))
        parsed = IPv4Network(network)
        if parsed.prefixlen in _BYTES:
            return "".join(f"{byte}." for byte in parsed.network_address.packed[: _BYTES[parsed.prefixlen]])
    except ValueError:
        pass
    problem = "must be an IP address, or an IPv4 network of 8, 16 or 24 bits"
    raise ValidationError(f"[query.network] {problem}", Field("query", "network", problem))
