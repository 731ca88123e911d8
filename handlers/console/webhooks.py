"""The webhook endpoints: the list, the form of a new one, and the page that shows a new secret once."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from domain.admin_webhooks import endpoints, fields, operator
from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.keyset import Position
from domain.localization import N_
from domain.policy import Policy
from domain.webhooks.events import TEST
from domain.webhooks.policy import WebhookPolicy
from domain.webhooks.publication import EVERYTHING, WEBHOOK_EVENTS
from handlers import shapes, wire
from handlers.account_pages import shown_once
from handlers.console import layout
from handlers.console.registry import Figure, Hit, NavigationItem, Search, Tile
from handlers.console.view import ConsoleView, view
from handlers.positions import positions, time_position
from handlers.responses.reply import Page, Redirect
from models.webhook_endpoint import EndpointRow, EndpointState

ERROR_TEXTS: Mapping[str, str] = {
    "INVALID_WEBHOOK_URL": N_(
        "Requests cannot be sent to this URL. It begins with https, has an allowed port, and its host has public "
        "addresses only."
    ),
    "UNKNOWN_EVENT": N_("One of the events does not exist any more. Remove it, and save again."),
    "TOO_MANY_ENDPOINTS": N_("There are as many endpoints as are allowed. Delete one first."),
    "ENDPOINT_READ_ONLY": N_("This endpoint comes from the configuration and is changed there."),
    "ENDPOINT_NOT_ACTIVE": N_("Nothing is sent to this endpoint, because it is paused or disabled."),
    "ENDPOINT_NOT_FOUND": N_("There is no such endpoint."),
    "DELIVERY_NOT_FOUND": N_("There is no such delivery. Ended ones are listed for some weeks."),
    "PAYLOAD_EXPIRED": N_("The content of this event is erased, so it cannot be sent again."),
    "STALE_ENDPOINT": N_(
        "The endpoints were changed after you opened this form, so nothing was done. Check them, and try again."
    ),
}

FIELD_TEXTS: Mapping[str, str] = {
    "typedName": N_("This is not the name of the endpoint."),
    "events": N_("Choose 1 to 50 events."),
}

FIELD_LABELS: Mapping[str, str] = {"typedName": N_("Name of the endpoint"), "events": N_("Events")}

ERROR_FIELDS: Mapping[str, tuple[str, ...]] = {
    "INVALID_WEBHOOK_URL": ("url",),
}

SECRET = "/webhooks/secret"  # noqa: S105 - the path of a page
EVENT = "event-"
"""The prefix of the names of the checkboxes for events."""
FAILING = "failing"
STATES = {
    EndpointState.ACTIVE.value: N_("Active"),
    FAILING: N_("Failing"),
    EndpointState.PAUSED.value: N_("Paused"),
    EndpointState.DISABLED.value: N_("Disabled"),
}
_PERMISSION = ("service", "manage")
_HITS = 5


# console.webhooks.show_list
async def show_list(
    ctx: Context,
    ui_locales: str | None = None,
    search: str | None = None,
    state: str | None = None,
    after: str | None = None,
    before: str | None = None,
) -> Page:
    """Show a page of endpoints."""
    newer_than, older_than = positions(after, before, time_position)
    filters = {"search": (search or "").strip() or None, "state": state or None}
    found = [
        row
        for row in await endpoints.list_all(ctx)
        if _matches(row, filters["search"]) and filters["state"] in (None, state_of(row))
    ]
    rows, previous, following = _page(found, newer_than, older_than, ctx.policy[ConsolePolicy].page_size)
    here = view(ctx, "/webhooks", ui_locales, **filters)
    return layout.render(
        ctx,
        here,
        "webhooks/list.html",
        headers=shown_once.forget(ctx),
        rows=rows,
        pending=await endpoints.count_pending(ctx, rows),
        total=len(found),
        previous_url=previous and here.url("/webhooks", **here.query, before=wire.cursor(previous)),
        next_url=following and here.url("/webhooks", **here.query, after=wire.cursor(following)),
        filters=filters,
        **words(here),
    )


def _page(
    rows: Sequence[EndpointRow],
    after: Position | None,
    before: Position | None,
    size: int,
) -> tuple[Sequence[EndpointRow], Position | None, Position | None]:
    """Return the rows after or before a position, and the positions for the previous and the next page, or None."""
    if before is not None:
        end = sum(_position(row) < before for row in rows)
        start = max(0, end - size)
    else:
        start = 0 if after is None else sum(_position(row) <= after for row in rows)
        end = start + size
    shown = rows[start:end]
    if not shown:
        return (), None, None
    return (
        shown,
        _position(shown[0]) if start else None,
        _position(shown[-1]) if end < len(rows) else None,
    )


def _position(row: EndpointRow) -> Position:
    return Position(row.created_at, row.id)


def _matches(row: EndpointRow, text: str | None) -> bool:
    wanted = (text or "").casefold()
    return wanted in row.name.casefold() or wanted in row.url.casefold() or wanted == row.id.casefold()


def state_of(row: EndpointRow) -> str:
    """Return the state of an endpoint: `failing` for an active one whose deliveries fail, else the stored state."""
    return FAILING if row.is_active and row.failing_since is not None else row.state


def host_of(url: str) -> str:
    """Return the host of a URL, with the port if the URL names one."""
    return urlsplit(url).netloc


def words(here: ConsoleView) -> Mapping[str, Any]:
    """Return the functions and translated labels with which templates describe endpoints."""
    states = {name: here.localization.gettext(text) for name, text in STATES.items()}
    return {"states": states, "state_of": state_of, "host_of": host_of}


# console.webhooks.show_creation
async def show_creation(ctx: Context, ui_locales: str | None = None) -> Page:
    """Show a form that creates an endpoint."""
    # Asked for before the form is filled in.
    endpoints.require(ctx, fresh=True)
    here = view(ctx, "/webhooks/new", ui_locales)
    rows = await endpoints.list_all(ctx)
    most = ctx.policy[WebhookPolicy].max_endpoints
    return layout.render(
        ctx,
        here,
        "webhooks/new.html",
        seen=operator.state_of(rows),
        most=most if len(rows) >= most else None,
        **form_values(ctx, None),
    )


def form_values(ctx: Context, row: EndpointRow | None) -> Mapping[str, Any]:
    """Return the template values for the form of an endpoint: its fields, and the events to choose from.

    `row` is None for a new endpoint.
    """
    chosen = () if row is None else row.subscriptions
    return {
        "values": {}
        if row is None
        else {name: getattr(row, name) for name in ("name", "url", "description")},
        "chosen": chosen,
        "groups": event_groups(chosen),
        "everything": EVERYTHING,
        "ports": ctx.policy[WebhookPolicy].allowed_ports,
    }


def event_groups(chosen: Sequence[str]) -> Sequence[tuple[str, Sequence[str]]]:
    """Return the events that can be chosen, by group. Those in `chosen` that no longer exist are included.

    Test events are not included: they are sent whatever an endpoint subscribes to.
    """
    names = (fields.subscriptions() - {TEST.name, TEST.group} | set(chosen)) - {EVERYTHING}
    groups: dict[str, list[str]] = {name: [] for name in _group_names()}
    for name in sorted(names, key=lambda one: (not one.endswith(".*"), one)):
        groups.setdefault(name.partition(".")[0], []).append(name)
    return [(name, members) for name, members in groups.items() if members]


def _group_names() -> Sequence[str]:
    """Return the groups of events in alphabetical order, but users and sessions first."""
    groups = {name.partition(".")[0] for name in WEBHOOK_EVENTS}
    return sorted(groups, key=lambda name: (name != "user", name != "session", name))


def sent_fields(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of an endpoint that a form contains, by their JSON names."""
    return {
        "name": body["name"].strip(),
        "url": body["url"].strip(),
        "description": body.get("description", "").strip() or None,
        "events": [name.removeprefix(EVENT) for name in body if name.startswith(EVENT)],
    }


# console.webhooks.create
async def create(ctx: Context, body: shapes.ConsoleNewWebhookForm) -> Redirect:
    """Create an endpoint, and redirect to the page that shows its secret once."""
    here = view(ctx)
    row, secret = await endpoints.create(ctx, sent_fields({**body}), None, seen=body.get("seen", ""))
    return show_once(ctx, here, row, secret, None)


def show_once(
    ctx: Context, here: ConsoleView, row: EndpointRow, secret: str, previous_until: datetime | None
) -> Redirect:
    """Return the redirect to the page that shows the new secret of an endpoint once.

    `previous_until` is the time until which the previous secret signs as well; None for a new endpoint.
    """
    until = None if previous_until is None else wire.instant(previous_until)
    return shown_once.redirect(
        ctx, here, SECRET, id=row.id, name=row.name, host=host_of(row.url), text=secret, until=until
    )


# console.webhooks.show_secret
async def show_secret(ctx: Context, ui_locales: str | None = None) -> Page | Redirect:
    """Show the new secret of an endpoint; redirect to the list if the secret is no longer available."""
    endpoints.require(ctx)
    here = view(ctx, SECRET, ui_locales)
    content = shown_once.content_of(ctx, here, SECRET)
    if content is None:
        return here.redirect("/webhooks")
    until = content["until"] and datetime.fromisoformat(content["until"])
    return layout.render(ctx, here, "webhooks/secret.html", **{**content, "until": until})


async def _find(ctx: Context, here: ConsoleView, text: str) -> Sequence[Hit]:
    found = [row for row in await endpoints.list_all(ctx) if _matches(row, text)]
    return [Hit(row.name, host_of(row.url), here.url(f"/webhooks/{row.id}")) for row in found[:_HITS]]


async def _figures(ctx: Context, here: ConsoleView) -> Sequence[Figure]:
    states = [state_of(row) for row in await endpoints.list_all(ctx)]
    gettext = here.localization.gettext
    details = [
        Figure(gettext(STATES[name]), states.count(name), here.url("/webhooks", state=name), is_bad=True)
        for name in (FAILING, EndpointState.DISABLED.value)
    ]
    return [Figure(gettext("Webhook endpoints"), len(states), here.url("/webhooks"), details=details)]


def _exists(policy: Policy) -> bool:
    webhooks = policy[WebhookPolicy]
    return webhooks.enabled and webhooks.management == "admin"


NAVIGATION = (
    NavigationItem(
        path="/webhooks", label=N_("Webhooks"), permission=_PERMISSION, position=45, exists=_exists
    ),
)
SEARCHES = (
    Search(
        label=N_("Webhooks"),
        permission=_PERMISSION,
        position=45,
        find=_find,
        list_path="/webhooks",
        exists=_exists,
    ),
)
TILES = (Tile(permission=_PERMISSION, position=30, load=_figures, exists=_exists),)
