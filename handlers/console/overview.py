"""The first page of the console: figures, charts, important events, and what other modules declare for it."""

from collections.abc import Mapping, Sequence
from typing import Any

from domain import authentication_methods
from domain.admin import audit
from domain.audit.record import EVENTS
from domain.audit.search import AuditEvent
from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.instances import instances
from domain.instances.instances import ThisInstance
from domain.localization import N_
from domain.statistics import statistics
from domain.users import lookup
from handlers.console import layout, registry, texts
from handlers.console.charts import Chart, by_label
from handlers.console.registry import Figure, NavigationItem, Panel, Tile
from handlers.console.view import ConsoleView, view
from handlers.pages import sign_in_methods
from handlers.responses.reply import Page, Redirect
from models import Outcome

_DATABASES = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}
_EVENTS = 10
"""How many important events are shown."""

_PERMISSION = ("service", "manage")


# console.overview.show
async def show(ctx: Context, ui_locales: str | None = None) -> Page | Redirect:
    """Show the overview, or redirect to the list of users if the settings make that the first page."""
    here = view(ctx, "", ui_locales)
    if ctx.policy[ConsolePolicy].home == "users" and registry.may(ctx, "user", "list"):
        return here.redirect("/users")
    figures = [figure for tile in registry.tiles(ctx) for figure in await tile.load(ctx, here)]
    panels = [(panel, await panel.load(ctx, here)) for panel in registry.panels(ctx)]
    return layout.render(ctx, here, "overview/overview.html", figures=figures, panels=panels)


async def _figures(ctx: Context, here: ConsoleView) -> Sequence[Figure]:
    found = await statistics.get(ctx)
    gettext = here.localization.gettext

    def link(page: str, **query: str) -> str | None:
        return here.url(page, **query) if registry.is_offered(ctx, page) else None

    return [
        Figure(
            gettext("Users"),
            found.users,
            link("/users"),
            details=(
                Figure(gettext("New in 24 hours"), found.users_of_day),
                Figure(gettext("New in 30 days"), found.users_of_month),
            ),
        ),
        Figure(gettext("Active sessions"), found.active_sessions),
        Figure(
            gettext("Sign-ins in 24 hours"),
            found.sign_ins_of_day,
            link("/audit", event="sign_in.succeeded"),
            details=(
                Figure(gettext("Failed"), found.failures_of_day, link("/audit", event="sign_in.failed")),
            ),
        ),
        Figure(
            gettext("Emails waiting"),
            found.mails_waiting,
            link("/mail", state="waiting"),
            details=(
                Figure(gettext("Failed"), found.mails_failed, link("/mail", state="failed"), is_bad=True),
            ),
        ),
    ]


async def _charts(ctx: Context, here: ConsoleView) -> Mapping[str, Any]:
    counted = (await statistics.get(ctx)).days
    if counted is None:
        return {"charts": None}
    gettext = here.localization.gettext
    days = [one.day for one in counted]
    others = gettext("Other")
    sign_ups = {gettext("Sign-ups"): [one.sign_ups for one in counted]}
    sign_ins = by_label([one.sign_ins for one in counted], lambda name: way_in(here, name), others)
    failures = by_label(
        [one.failures for one in counted], lambda code: texts.reason(code, here.localization), others
    )
    return {
        "charts": (
            Chart("sign-ups", gettext("Sign-ups"), days, sign_ups, has_legend=False),
            Chart("sign-ins", gettext("Sign-ins"), days, sign_ins),
            Chart("failures", gettext("Failed sign-ins"), days, failures),
        ),
    }


def way_in(here: ConsoleView, name: str) -> str:
    """Return the label of an authentication method; of a method without a label the name of its provider."""
    method = authentication_methods.find(name)
    if method is not None and method.label is not None:
        return here.localization.gettext(method.label)
    return sign_in_methods.provider_name(name.rpartition(":")[2])


async def _events(ctx: Context, here: ConsoleView) -> Mapping[str, Any]:
    found = await audit.list_important_events(ctx, limit=_EVENTS)
    people = await _people(ctx, found or ())

    def sentence(event: AuditEvent) -> str:
        declared = EVENTS[event.event]
        failure = declared.failure if event.outcome != Outcome.SUCCESS else None
        return here.localization.gettext(failure or declared.sentence)

    return {
        "events": found,
        "sentence": sentence,
        "people": people,
        "all_url": here.url("/audit") if registry.is_offered(ctx, "/audit") else None,
    }


async def _people(ctx: Context, events: Sequence[AuditEvent]) -> Mapping[str, str]:
    """Return the email addresses of the users of events, by user id; empty if the caller may not list users."""
    if not registry.may(ctx, "user", "list"):
        return {}
    ids = {one for event in events for one in (event.user_id, event.actor_id) if one is not None}
    users = [await lookup.by_id(ctx, one) for one in sorted(ids)]
    return {user.id: user.email for user in users if user is not None}


async def _about(ctx: Context, here: ConsoleView) -> Mapping[str, Any]:
    running = await instances.list_instances(ctx)
    return {
        "database": _DATABASES[ctx.db.dialect],
        "this": ctx.port[ThisInstance],
        "instances": running,
        "differences_url": here.url("/settings") if instances.differences(running) else None,
    }


NAVIGATION = (NavigationItem(path="", label=N_("Overview"), permission=None, position=10),)
TILES = (Tile(permission=_PERMISSION, position=10, load=_figures),)
PANELS = (
    Panel(
        name="charts",
        label=N_("Last 30 days"),
        permission=_PERMISSION,
        position=10,
        load=_charts,
        is_wide=True,
    ),
    Panel(name="events", label=N_("Important events"), permission=_PERMISSION, position=20, load=_events),
    Panel(name="about", label=N_("This service"), permission=_PERMISSION, position=90, load=_about),
)
