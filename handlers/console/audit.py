"""The audit trail: the list of events, one event, the export, and the newest events of a user."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from domain import authentication_methods
from domain.admin import audit, targets, user_sessions
from domain.admin.audit import EventFilter
from domain.admin.errors import SearchTooBroad
from domain.audit.record import EVENTS
from domain.audit.search import AuditEvent
from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.localization import N_, Localization
from handlers import shapes, wire
from handlers.account_pages import user_agents
from handlers.audit import event_filter, event_shape
from handlers.audit import filters as filters_of
from handlers.console import layout, lists, registry, user_acts
from handlers.console.registry import NavigationItem, UserSection
from handlers.console.view import ConsoleView, view
from handlers.pages import sign_in_methods
from handlers.positions import positions, time_position
from handlers.responses import spreadsheets
from handlers.responses.reply import Page, Stream
from models import Outcome
from models.user import UserRow

ERROR_TEXTS: Mapping[str, str] = {
    "AUDIT_EVENT_NOT_FOUND": N_("There is no such event."),
}

_OUTCOMES = {"success": N_("Success"), "failure": N_("Failure"), "refused": N_("Refused")}
_ACTORS: Mapping[Any, str] = {
    "operator": N_("Operator"),
    "directory": N_("Directory (SCIM)"),
    "connection": N_("Single sign-on"),
}
"""Who acted if no user did: labels by the detail `by` of the event."""
_OF_USER = 50
"""The most events that the page of a user shows."""


# console.audit.show_list
async def show_list(  # noqa: PLR0913 - one parameter per parameter of the query
    ctx: Context,
    ui_locales: str | None = None,
    event: str | None = None,
    group: str | None = None,
    subject: str | None = None,
    actor: str | None = None,
    network: str | None = None,
    outcome: Any = None,
    from_: str | None = None,
    to: str | None = None,
    after: str | None = None,
    before: str | None = None,
) -> Page:
    """Show a page of audit events. `actor` caused the event, `subject` is the user whom the event is about."""
    # In the order of the list, a page after a position has older events.
    older_than, newer_than = positions(after, before, time_position)
    filters = filters_of(event, group, subject, actor, network, outcome, from_, to)
    here = view(ctx, "/audit", ui_locales, **filters)
    found = await audit.list_events(
        ctx, _wanted(filters), before=older_than, after=newer_than, limit=ctx.policy[ConsolePolicy].page_size
    )
    return layout.render(
        ctx,
        here,
        "audit/list.html",
        events=await lines(ctx, here, found.events),
        newer=found.first and here.url("/audit", **here.query, before=wire.cursor(found.first)),
        older=found.last and here.url("/audit", **here.query, after=wire.cursor(found.last)),
        export=here.url("/audit/export", **filters),
        filters=filters,
        active=sum(bool(value) for name, value in filters.items() if name not in ("subject", "actor")),
        event_names=_with(sorted(EVENTS), event),
        group_names=_with(sorted({name.partition(".")[0] for name in EVENTS}), group),
        outcomes=[(name, here.localization.gettext(label)) for name, label in _OUTCOMES.items()],
    )


# console.audit.export
async def export(  # noqa: PLR0913 - one parameter per parameter of the query
    ctx: Context,
    ui_locales: str | None = None,
    event: str | None = None,
    group: str | None = None,
    subject: str | None = None,
    actor: str | None = None,
    network: str | None = None,
    outcome: Any = None,
    from_: str | None = None,
    to: str | None = None,
) -> Stream:
    """Return all audit events that match the filters, as a CSV file."""
    filters = filters_of(event, group, subject, actor, network, outcome, from_, to)
    pages = await audit.export_events(ctx, _wanted(filters), spreadsheets.given(filters))
    return spreadsheets.stream("audit-events", ctx.now, pages, event_shape, shapes.AuditEvent.__annotations__)


# console.audit.show
async def show(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Show one audit event with all its details."""
    event = await audit.get_event(ctx, id_)
    here = view(ctx, f"/audit/{event.id}", ui_locales)
    [line] = await lines(ctx, here, [event])
    return layout.render(
        ctx,
        here,
        "audit/show.html",
        line=line,
        event=event,
        sessions_url=await _sessions_url(ctx, here, event),
        method=_method(here.localization, event.method),
        device=event.user_agent and user_agents.describe(here.localization, event.user_agent),
        details=[(name, _text(value)) for name, value in sorted(event.details.items())],
    )


async def _sessions_url(ctx: Context, here: ConsoleView, event: AuditEvent) -> str | None:
    """Return the URL of the page with the sessions of the user whose session the event names.

    None if there is no such session any more, or the caller may not list sessions.
    """
    if event.session_id is None or not registry.may(ctx, "session", "list"):
        return None
    owner = await user_sessions.owner_of(ctx, event.session_id)
    return owner and here.url(f"{user_acts.page_of(owner)}/sessions")


class Line(NamedTuple):
    """An audit event as the pages show it."""

    event: AuditEvent
    sentence: str
    outcome: str
    user: UserRow | None
    actor: UserRow | None
    by: str | None
    """Who acted, in words, if it was no user; otherwise None."""


async def lines(ctx: Context, here: ConsoleView, events: Sequence[AuditEvent]) -> Sequence[Line]:
    """Return audit events as the pages show them, with the users that they name.

    The users are absent if the caller may not read users.
    """
    names = await targets.names_of(
        ctx, {user_id for event in events for user_id in (event.user_id, event.actor_id)}
    )
    return [
        Line(
            event,
            _sentence(here.localization, event),
            here.localization.gettext(_OUTCOMES.get(event.outcome, event.outcome)),
            names.get(event.user_id or ""),
            names.get(event.actor_id or ""),
            _by(here.localization, event),
        )
        for event in events
    ]


def _by(localization: Localization, event: AuditEvent) -> str | None:
    """Return who acted in words; None if a user did, or if it is not known."""
    label = _ACTORS.get(event.details.get("by"))
    return None if label is None else localization.gettext(label)


def _sentence(localization: Localization, event: AuditEvent) -> str:
    """Return what happened, in words; for an event that this version does not know, the name of the event."""
    declared = EVENTS.get(event.event)
    if declared is None:
        return event.event
    is_failure = event.outcome != Outcome.SUCCESS
    return localization.gettext((is_failure and declared.failure) or declared.sentence)


def _method(localization: Localization, name: str | None) -> str | None:
    if not name:
        return None
    method = authentication_methods.find(name)
    if method is not None and method.label is not None:
        return localization.gettext(method.label)
    return sign_in_methods.provider_name(name.rpartition(":")[2])


def _text(value: Any) -> str:
    """Return the value of a detail as text; a value that is no string as JSON."""
    return value if isinstance(value, str) else wire.exported({"": value}).decode().strip()[4:-1]


def _wanted(filters: Mapping[str, str | None]) -> EventFilter:
    since, until = lists.first_day(filters["from"]), lists.last_day(filters["to"])
    return event_filter(filters, since=since, until=until)


def _with(names: Sequence[str], chosen: str | None) -> Sequence[tuple[str, str]]:
    """Return the choices of a filter; `chosen` is added if it is not among the names."""
    more = [chosen] if chosen and chosen not in names else []
    return [(name, name) for name in (*names, *more)]


async def _load(ctx: Context, here: ConsoleView, user: UserRow) -> Mapping[str, Any]:
    """Return the newest events about a user, or caused by the user, as template values."""
    about, by = (here.url("/audit", **{name: user.id}) for name in ("subject", "actor"))
    try:
        events = await audit.latest_of(ctx, user, limit=_OF_USER)
    except SearchTooBroad:
        return {"events": None, "all_url": about, "by_url": by}
    return {"events": await lines(ctx, here, events), "all_url": about, "by_url": by}


NAVIGATION = (
    NavigationItem(path="/audit", label=N_("Audit"), permission=("service", "manage"), position=50),
)
USER_SECTIONS = (
    UserSection(name="audit", label=N_("Audit"), permission=("service", "manage"), position=90, load=_load),
)
