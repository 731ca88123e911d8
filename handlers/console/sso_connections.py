"""Connections for single sign-on: the list, and the form of a new one."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from domain.admin_organizations import operator as organizations
from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.errors import Field, ValidationError
from domain.localization import N_
from domain.organizations.errors import OrganizationNotFound
from domain.organizations.policy import OrganizationPolicy
from domain.policy import Policy
from domain.sso.policy import SsoPolicy
from domain.sso_connections import connections, search
from domain.sso_connections.search import ConnectionSearch
from handlers import shapes, wire
from handlers.account_pages import shown_once
from handlers.console import layout
from handlers.console.registry import Figure, Hit, NavigationItem, Search, Tile
from handlers.console.view import ConsoleView, view
from handlers.positions import positions, time_position
from handlers.responses.reply import Page, Redirect
from handlers.sso_pages import certificates, provider_form
from models.sso_connection import ConnectionSource, ConnectionState, ConnectionType

ERROR_FIELDS: Mapping[str, tuple[str, ...]] = {"SSO_PROVIDER_EXISTS": ("providerId",)}
ERROR_TEXTS: Mapping[str, str] = {
    "SSO_PROVIDER_EXISTS": N_("Another connection has this identifier. Choose another one."),
    "SSO_PROVIDER_NOT_FOUND": N_("There is no such connection."),
}
FIELD_TEXTS: Mapping[str, str] = {
    "providerId": N_("Use 1 to 40 lower-case letters, digits and hyphens."),
    "organization": N_("There is no organization with this slug or identifier."),
}
FIELD_LABELS: Mapping[str, str] = {"providerId": N_("Identifier"), "organization": N_("Organization")}
NOTICES = {
    "connection-created": N_(
        "The connection is created. Register the values below at the identity provider."
    ),
}

LIST, NEW = "/sso", "/sso/new"
STATES = {
    ConnectionState.DRAFT.value: N_("Draft"),
    ConnectionState.ACTIVE.value: N_("Active"),
    ConnectionState.PAUSED.value: N_("Paused"),
}
TYPES = {ConnectionType.SAML.value: "SAML 2.0", ConnectionType.OIDC.value: "OpenID Connect"}
SOURCES = {
    ConnectionSource.OPERATION.value: N_("Console or API"),
    ConnectionSource.CLI.value: N_("Command line"),
    ConnectionSource.CONFIG.value: N_("Configuration"),
}
MISSING = "missing"
"""The value of the filter by state for connections with a domain whose DNS record is missing.

The other values are states of connections."""
_PERMISSION = ("service", "manage")
_HITS = 5


# console.sso_connections.show_list
async def show_list(
    ctx: Context,
    ui_locales: str | None = None,
    search: str | None = None,
    type_: str | None = None,
    state: str | None = None,
    owner: str | None = None,
    after: str | None = None,
    before: str | None = None,
) -> Page:
    """Show a page of connections."""
    older_than, newer_than = positions(after, before, time_position)
    filters = {
        "search": (search or "").strip() or None,
        "type": type_ or None,
        "state": state or None,
        "owner": owner or None,
    }
    found = await _search(ctx, filters, older_than, newer_than)
    here, ends = view(ctx, LIST, ui_locales, **filters), found.ends
    return layout.render(
        ctx,
        here,
        "sso/list.html",
        headers=shown_once.forget(ctx),
        found=found,
        newer=ends.first and here.url(LIST, **here.query, before=wire.cursor(ends.first)),
        older=ends.last and here.url(LIST, **here.query, after=wire.cursor(ends.last)),
        filters=filters,
        is_filtered=any(filters.values()),
        certificates={one.row.id: certificates.certificates_of(ctx, one.row) for one in found.connections},
        **words(here),
    )


async def _search(
    ctx: Context, filters: Mapping[str, str | None], older_than: Any, newer_than: Any
) -> search.FoundConnections:
    owner, state = filters["owner"], filters["state"]
    wanted = ConnectionSearch(
        filters["search"] or "",
        filters["type"],
        None if state == MISSING else state,
        is_of_service=None if owner is None else owner == "service",
        is_missing_record=state == MISSING,
    )
    size = ctx.policy[ConsolePolicy].page_size
    return await search.list_connections(ctx, wanted, before=older_than, after=newer_than, limit=size)


def words(here: ConsoleView) -> Mapping[str, Any]:
    """Return the names and translated labels with which templates describe connections."""
    gettext = here.localization.gettext
    return {
        "states": {name: gettext(text) for name, text in STATES.items()},
        "sources": {name: gettext(text) for name, text in SOURCES.items()},
        "types": TYPES,
        "page_of": page_of,
        "missing": MISSING,
    }


def page_of(provider_id: str) -> str:
    """Return the path of the page of a connection, below the path of the console."""
    return f"{LIST}/providers/{provider_id}"


# console.sso_connections.show_creation
async def show_creation(ctx: Context, type_: str | None = None, ui_locales: str | None = None) -> Page:
    """Ask for the protocol of a new connection; if it is chosen, ask for the identity provider and the domains."""
    # Asked for before the form is filled in.
    search.require(ctx, fresh=True)
    here = view(ctx, NEW, ui_locales, type=type_ or None)
    if not type_:
        return layout.render(ctx, here, "sso/type.html", **words(here))
    return layout.render(
        ctx,
        here,
        "sso/new.html",
        type=type_,
        has_organizations=ctx.policy[OrganizationPolicy].enabled,
        **words(here),
    )


# console.sso_connections.create
async def create(ctx: Context, body: shapes.ConsoleNewConnectionForm) -> Redirect:
    """Create a connection, and redirect to its page."""
    here = view(ctx)
    search.require(ctx, fresh=True)
    organization = body.get("organization", "").strip()
    sent = {
        "providerId": body["providerId"],
        "name": body["name"].strip(),
        "domain": ",".join(body["domains"].replace(",", " ").split()),
        "state": ConnectionState.DRAFT.value,
        **provider_form.sent_fields(body, body["type"]),
    }
    if organization:
        sent["organizationId"] = await ctx.in_new_transaction(partial(_organization, name=organization))
    with provider_form.named_fields():
        connection = await connections.register(ctx, sent)
    return layout.done(ctx, here, page_of(connection.row.provider_id), "connection-created")


async def _organization(ctx: Context, name: str) -> str:
    """Return the id of an organization by its id or slug. Raises ValidationError if there is none."""
    try:
        return (await organizations.find(ctx, name)).id
    except OrganizationNotFound:
        problem = "is not an organization"
        raise ValidationError(
            f"[body.organization] {problem}", Field("body", "organization", problem)
        ) from None


async def _find(ctx: Context, here: ConsoleView, text: str) -> Sequence[Hit]:
    found = await search.list_connections(ctx, ConnectionSearch(text), limit=_HITS)
    return [
        Hit(
            row.name,
            ", ".join(one.domain for one in own) or row.provider_id,
            here.url(page_of(row.provider_id)),
        )
        for row, own in found.connections
    ]


async def _figures(ctx: Context, here: ConsoleView) -> Sequence[Figure]:
    counts = await search.count_connections(ctx)
    total, paused, missing = counts or (None, None, None)
    gettext = here.localization.gettext
    details = [
        Figure(gettext("Paused"), paused, here.url(LIST, state=ConnectionState.PAUSED.value)),
        Figure(gettext("DNS record missing"), missing, here.url(LIST, state=MISSING), is_bad=True),
    ]
    return [Figure(gettext("Single sign-on connections"), total, here.url(LIST), details=details)]


def _exists(policy: Policy) -> bool:
    return policy[SsoPolicy].enabled


NAVIGATION = (
    NavigationItem(
        path=LIST, label=N_("Single sign-on"), permission=_PERMISSION, position=42, exists=_exists
    ),
)
SEARCHES = (
    Search(
        label=N_("Single sign-on"),
        permission=_PERMISSION,
        position=42,
        find=_find,
        list_path=LIST,
        exists=_exists,
    ),
)
TILES = (Tile(permission=_PERMISSION, position=24, load=_figures, exists=_exists),)
