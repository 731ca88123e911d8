"""The common parts of the pages of single sign-on: paths, the check of who may open a page, and texts."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from domain.context import Context
from domain.localization import N_
from domain.sso_connections import access, connections
from domain.sso_connections.domains import Connection
from domain.sso_connections.errors import SsoProviderNotFound
from handlers.account_pages import layout as account
from handlers.organization_pages import layout as organization_layout
from handlers.pages import view as views
from handlers.pages.view import View
from handlers.responses.reply import Page, Redirect
from models.organization import OrganizationRow
from models.sso_connection import ConnectionSource, ConnectionType

ERROR_TEXTS: Mapping[str, str] = {
    "DISCOVERY_FAILED": N_(
        "The identity provider does not respond at this URL, or not as expected. Check the URL, and try again."
    ),
    "DOMAIN_TAKEN": N_("Another connection has verified one of these domains."),
    "DOMAIN_VERIFIED": N_("All domains of the connection are verified already."),
    "INVALID_PROVIDER_URL": N_(
        "This service cannot use a URL of the identity provider. URLs must begin with https:// and have a public "
        "address."
    ),
    "INVALID_SSO_DOMAIN": N_(
        "One of these domains cannot be used. Enter domains of your organization, such as example.com; any "
        "person can get an address of a mail service such as gmail.com."
    ),
    "SSO_PROVIDER_EXISTS": N_(
        "Another connection has this identifier. Go back to the first step, and begin again."
    ),
    "SSO_PROVIDER_READ_ONLY": N_(
        "This connection comes from the configuration of the service, and is changed there."
    ),
    "STALE_SSO_PROVIDER": N_(
        "The connection was changed after you opened the form, so nothing was saved. Check the fields and save again."
    ),
    "TOO_MANY_SSO_PROVIDERS": N_(
        "The organization has as many connections as are allowed. Delete one first."
    ),
}

_OTHER_DOCUMENT = N_("What is at this URL is not the document of an identity provider. Check the URL.")
REASON_TEXTS: Mapping[str, str] = {
    "DISCOVERY_FAILED.dns": N_("There is no server with the name in this URL. Check the URL."),
    "DISCOVERY_FAILED.refused_address": N_("The URL leads to an address that this service may not use."),
    "DISCOVERY_FAILED.tls": N_("The certificate of the server at this URL is not valid."),
    "DISCOVERY_FAILED.redirect": N_("This URL leads to another one. Enter that one."),
    "DISCOVERY_FAILED.size": _OTHER_DOCUMENT,
    "DISCOVERY_FAILED.invalid_json": _OTHER_DOCUMENT,
    "DISCOVERY_FAILED.incomplete": _OTHER_DOCUMENT,
    "DISCOVERY_FAILED.issuer_mismatch": N_(
        "The identity provider at this URL has another issuer. Enter the issuer exactly as it is shown there."
    ),
    "DISCOVERY_FAILED.token_auth": N_(
        "This service can authenticate to the identity provider neither by client_secret_basic nor by "
        "client_secret_post. Switch one of them on there."
    ),
}

ERROR_FIELDS: Mapping[str, tuple[str, ...]] = {
    "DISCOVERY_FAILED": ("metadataUrl", "issuer"),
    "DOMAIN_TAKEN": ("domains",),
    "INVALID_PROVIDER_URL": ("metadataUrl", "issuer"),
    "INVALID_SSO_DOMAIN": ("domains",),
}

NOTICES = {
    "active": N_("The connection is on. Users with addresses in its verified domains can sign in with it."),
    "paused": N_("The connection is paused. Users cannot sign in with it until you switch it on again."),
    "saved": N_("Your changes are saved."),
    "deleted": N_("The connection is deleted."),
    "gone": N_("There is no such connection, or you may not manage it."),
    "added": N_("The domains are added. Create the record of each, and then check it."),
    "verified": N_("The domains are verified."),
    "not-verified": N_(
        "A record was not found. It can take some hours until a new record is visible everywhere. Try again later."
    ),
    "domain-removed": N_("The domain is removed."),
    "required": N_("Users with addresses in this domain must sign in with this connection now."),
    "token-revoked": N_("The token is revoked. Requests with it are refused."),
    "token-gone": N_("This token no longer exists."),
    "directory-confirmed": N_("The directory may continue."),
    "directory-not-stopped": N_("The directory is not stopped, so there was nothing to confirm."),
    "not-required": N_("Users with addresses in this domain can also sign in another way now."),
}
"""The English texts that the page after a form shows, by the value of the query parameter `reason`."""

STATES = {"draft": N_("Draft"), "active": N_("Active"), "paused": N_("Paused")}
PROTOCOLS = {"saml": "SAML 2.0", "oidc": "OpenID Connect"}


def path_of(organization_id: str, rest: str = "") -> str:
    """Return the path of a page of single sign-on below `pages.path`; `rest` is its end, such as `/new`."""
    return organization_layout.path_of(organization_id, f"/sso{rest}")


def to(
    view: View, organization_id: str, rest: str, provider_id: str, *, reason: str | None = None
) -> Redirect:
    """Return the redirect to a page of a connection; `rest` is the end of its path, such as `/domains`."""
    return view.redirect(
        path_of(organization_id, f"/connection{rest}"), connection=provider_id, reason=reason
    )


class Opened(NamedTuple):
    """A page that the caller may see: its view, and the organization that it is about."""

    view: View
    organization: OrganizationRow


class OpenedConnection(NamedTuple):
    """A page that the caller may see: its view, and the organization and connection that it is about."""

    view: View
    organization: OrganizationRow
    connection: Connection


async def open_page(
    ctx: Context,
    organization_id: str,
    rest: str,
    callback_url: str | None,
    ui_locales: str | None,
    **query: str | None,
) -> Opened | Redirect:
    """Return the view of a page and the organization, if the caller may manage its connections; else a redirect.

    `rest` is the end of the path of the page, such as `/new`; `query` has the page's own query parameters.
    """
    view = views.view(ctx, path_of(organization_id, rest), callback_url, ui_locales, **query)
    found = await organization_layout.find(ctx, organization_id)
    if found is None:
        return organization_layout.gone(view)
    if not await access.can_manage(ctx, organization_id):
        return organization_layout.not_allowed(view, organization_id)
    return Opened(view, found.organization)


async def open_connection(
    ctx: Context,
    organization_id: str,
    rest: str,
    callback_url: str | None,
    ui_locales: str | None,
    connection: str | None,
    **query: str | None,
) -> OpenedConnection | Redirect:
    """Do the same as `open_page` for a page of a connection; redirect to the list if there is no such connection.

    `connection` is the identifier of the connection; `rest` is the end of the path of the page, such as `/domains`.
    """
    opened = await open_page(
        ctx,
        organization_id,
        f"/connection{rest}",
        callback_url,
        ui_locales,
        connection=connection,
        **query,
    )
    if isinstance(opened, Redirect):
        return opened
    found = await _find(ctx, organization_id, connection or "")
    if found is None:
        return gone(opened.view, organization_id)
    return OpenedConnection(*opened, found)


async def find(ctx: Context, organization_id: str, provider_id: str) -> Connection | None:
    """Return a connection of an organization that the caller may manage, or None.

    The connection is read in a transaction of its own, because an operation may call the identity provider before its
    transaction begins.
    """
    return await ctx.in_new_transaction(
        partial(_find, organization_id=organization_id, provider_id=provider_id)
    )


async def _find(ctx: Context, organization_id: str, provider_id: str) -> Connection | None:
    try:
        found = await connections.get(ctx, provider_id)
    except SsoProviderNotFound:
        return None
    return found if found.row.organization_id == organization_id else None


def gone(view: View, organization_id: str) -> Redirect:
    """Return the redirect to the list of connections, which shows that there is no such connection."""
    return view.redirect(path_of(organization_id), reason="gone")


def render(ctx: Context, opened: Opened | OpenedConnection, template: str, /, **values: Any) -> Page:
    """Return a page of single sign-on, rendered from the template `account/sso_<template>` with `values`."""
    view, organization = opened.view, opened.organization
    if isinstance(opened, OpenedConnection):
        row = opened.connection.row
        values = {
            "connection": row,
            "domains": opened.connection.domains,
            "is_read_only": row.source == ConnectionSource.CONFIG,
            "is_saml": row.type == ConnectionType.SAML,
            **values,
        }
    return account.render(
        ctx,
        view,
        f"sso_{template}",
        notices=NOTICES,
        organization=organization,
        path_of=path_of,
        organization_path=organization_layout.path_of(organization.id),
        states={name: view.localization.gettext(text) for name, text in STATES.items()},
        protocols=PROTOCOLS,
        **values,
    )
