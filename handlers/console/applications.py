"""Applications (OAuth clients): the list, the form of a new one, and the page that shows a new secret once."""

import base64
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from domain import tokens
from domain.admin_oauth_clients import clients
from domain.admin_oauth_clients import search as client_search
from domain.admin_oauth_clients.search import ClientSearch
from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.localization import N_
from domain.oauth.policy import DevicePolicy, OAuthPolicy
from domain.oauth_clients.errors import InvalidClientMetadata, InvalidRedirectUri
from domain.oauth_clients.policy import ClientPolicy
from domain.policy import Policy
from handlers import shapes, wire
from handlers.account_pages import shown_once
from handlers.console import application_fields, layout
from handlers.console.application_fields import KINDS
from handlers.console.registry import Figure, Hit, NavigationItem, Search, Tile
from handlers.console.view import ConsoleView, view
from handlers.positions import positions, time_position
from handlers.responses.reply import Page, Redirect
from models.oauth_client import ClientRow, ClientSource

ERROR_TEXTS: Mapping[str, str] = {
    "CLIENT_NOT_FOUND": N_("There is no such application."),
    "CLIENT_READ_ONLY": N_(
        "This application comes from the configuration or from a document of its own, and is changed there."
    ),
    "INVALID_CLIENT_METADATA": N_("This combination is not possible for this application."),
    "STALE_CLIENT": N_(
        "The application was changed after you opened this form, or the form was sent twice, so nothing was done. "
        "Check the application, and try again."
    ),
}

NOTICES = {"application-created": N_("The application is created. It has no secret.")}

SECRET = "/applications/secret"  # noqa: S105 - the path of a page
SOURCES = {
    ClientSource.ADMIN.value: N_("Console or API"),
    ClientSource.CLI.value: N_("Command line"),
    ClientSource.CONFIG.value: N_("Configuration"),
    ClientSource.USER.value: N_("A user"),
    ClientSource.DYNAMIC.value: N_("Registered itself"),
    ClientSource.DOCUMENT.value: N_("A document of its own"),
}
READ_ONLY = (ClientSource.CONFIG.value, ClientSource.DOCUMENT.value)
"""The sources of applications that cannot be changed here: the configuration and metadata documents."""
_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
_RESERVED = ("new", "secret")
_ENCODED = "~"
_PERMISSION = ("service", "manage")
_HITS = 5


# console.applications.show_list
async def show_list(
    ctx: Context,
    ui_locales: str | None = None,
    search: str | None = None,
    source: str | None = None,
    state: str | None = None,
    after: str | None = None,
    before: str | None = None,
) -> Page:
    """Show a page of applications."""
    older_than, newer_than = positions(after, before, time_position)
    filters = {"search": (search or "").strip() or None, "source": source or None, "state": state or None}
    found = await client_search.list_clients(
        ctx,
        ClientSearch(
            filters["search"] or "",
            filters["source"],
            None if filters["state"] is None else filters["state"] == "disabled",
        ),
        before=older_than,
        after=newer_than,
        limit=ctx.policy[ConsolePolicy].page_size,
    )
    here, ends = view(ctx, "/applications", ui_locales, **filters), found.ends
    return layout.render(
        ctx,
        here,
        "applications/list.html",
        headers=shown_once.forget(ctx),
        found=found,
        newer=ends.first and here.url("/applications", **here.query, before=wire.cursor(ends.first)),
        older=ends.last and here.url("/applications", **here.query, after=wire.cursor(ends.last)),
        filters=filters,
        is_filtered=any(filters.values()),
        **words(here),
    )


def words(here: ConsoleView) -> Mapping[str, Any]:
    """Return the functions and translated labels with which templates describe applications."""
    gettext = here.localization.gettext
    return {
        "sources": {name: gettext(text) for name, text in SOURCES.items()},
        "kind_of": lambda row: gettext(KINDS[kind_of(row)].label),
        "hosts_of": hosts_of,
        "page_of": page_of,
    }


def kind_of(row: ClientRow) -> str:
    """Return the kind of an application, a key of `KINDS`, by its metadata."""
    members = row.metadata
    grants = members["grant_types"]
    if "authorization_code" not in grants:
        return "device" if any(one.endswith("device_code") for one in grants) else "machine"
    if members["application_type"] == "native":
        return "native"
    return "browser" if members["token_endpoint_auth_method"] == "none" else "web"  # noqa: S105 - a method


def hosts_of(row: ClientRow) -> Sequence[str]:
    """Return the hosts of the redirect URIs; of a URI without a host its scheme, such as `com.example.app:`."""
    found = (urlsplit(uri) for uri in row.metadata["redirect_uris"])
    return list(dict.fromkeys(parts.netloc or f"{parts.scheme}:" for parts in found))


def page_of(client_id: str) -> str:
    """Return the path of the page of an application, below the path of the console.

    A client id that cannot be a part of a path is encoded; `client_id_of` decodes it.
    """
    if _PLAIN.fullmatch(client_id) and client_id not in _RESERVED:
        return f"/applications/{client_id}"
    encoded = base64.urlsafe_b64encode(client_id.encode()).decode().rstrip("=")
    return f"/applications/{_ENCODED}{encoded}"


def client_id_of(text: str) -> str:
    """Return the client id from the last part of the path of a page; empty if it cannot be decoded."""
    if not text.startswith(_ENCODED):
        return text
    encoded = text.removeprefix(_ENCODED)
    try:
        return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except ValueError:
        return ""


# console.applications.show_creation
async def show_creation(ctx: Context, kind: str | None = None, ui_locales: str | None = None) -> Page:
    """Ask for the kind of a new application; for a known `kind`, show the form for the application."""
    # Asked for before the form is filled in.
    client_search.require(ctx, fresh=True)
    here = view(ctx, "/applications/new", ui_locales, kind=kind or None)
    gettext = here.localization.gettext
    kinds = [
        (name, gettext(one.label), gettext(one.hint))
        for name, one in KINDS.items()
        if name != "device" or ctx.policy[DevicePolicy].enabled
    ]
    chosen = KINDS.get(kind or "")
    if chosen is None:
        return layout.render(ctx, here, "applications/kind.html", kinds=kinds)
    return layout.render(
        ctx,
        here,
        "applications/new.html",
        kind=kind,
        label=gettext(chosen.label),
        has_secret=chosen.has_secret,
        is_native=chosen.application_type == "native",
        once=tokens.token(),
        **application_fields.form_values(ctx, here.localization, None, [chosen.grant_type]),
    )


# console.applications.create
async def create(ctx: Context, body: shapes.ConsoleNewApplicationForm) -> Redirect:
    """Create an application, and redirect to the page that shows its secret, or to its own page if it has none."""
    here = view(ctx)
    try:
        row, secret = await clients.create(ctx, application_fields.new_metadata({**body}), body["once"])
    except (InvalidClientMetadata, InvalidRedirectUri) as error:
        application_fields.refuse(error)
    if secret is None:
        return layout.done(ctx, here, page_of(row.client_id), "application-created")
    return show_once(ctx, here, row, secret)


def show_once(
    ctx: Context, here: ConsoleView, row: ClientRow, secret: str, previous_until: datetime | None = None
) -> Redirect:
    """Return the redirect to the page that shows the new secret of an application once.

    `previous_until` is the time until which the previous secret is accepted as well; None for a new application.
    """
    until = None if previous_until is None else wire.instant(previous_until)
    return shown_once.redirect(
        ctx, here, SECRET, name=row.client_name, client_id=row.client_id, text=secret, until=until
    )


# console.applications.show_secret
async def show_secret(ctx: Context, ui_locales: str | None = None) -> Page | Redirect:
    """Show the new secret of an application; redirect to the list if the secret is no longer available."""
    client_search.require(ctx)
    here = view(ctx, SECRET, ui_locales)
    content = shown_once.content_of(ctx, here, SECRET)
    if content is None:
        return here.redirect("/applications")
    until = content["until"] and datetime.fromisoformat(content["until"])
    return layout.render(
        ctx,
        here,
        "applications/secret.html",
        issuer=ctx.policy[OAuthPolicy].issuer,
        **{**content, "until": until},
    )


async def _find(ctx: Context, here: ConsoleView, text: str) -> Sequence[Hit]:
    found = await client_search.list_clients(ctx, ClientSearch(text), limit=_HITS)
    return [
        Hit(row.client_name, ", ".join(hosts_of(row)) or row.client_id, here.url(page_of(row.client_id)))
        for row in found.rows
    ]


async def _figures(ctx: Context, here: ConsoleView) -> Sequence[Figure]:
    numbers = await client_search.count_clients(ctx)
    total, disabled = numbers or (None, None)
    gettext = here.localization.gettext
    details = [Figure(gettext("Disabled"), disabled, here.url("/applications", state="disabled"))]
    return [Figure(gettext("Applications"), total, here.url("/applications"), details=details)]


def is_managed(policy: Policy) -> bool:
    """Return whether OAuth is enabled and administrators may manage the applications."""
    return policy[OAuthPolicy].enabled and policy[ClientPolicy].client_management == "admin"


NAVIGATION = (
    NavigationItem(
        path="/applications",
        label=N_("Applications"),
        permission=_PERMISSION,
        position=43,
        exists=is_managed,
    ),
)
SEARCHES = (
    Search(
        label=N_("Applications"),
        permission=_PERMISSION,
        position=43,
        find=_find,
        list_path="/applications",
        exists=is_managed,
    ),
)
TILES = (Tile(permission=_PERMISSION, position=25, load=_figures, exists=is_managed),)
