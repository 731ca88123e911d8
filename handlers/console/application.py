"""The page of one application (OAuth client), and the forms that change it."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from domain.admin import targets
from domain.admin_oauth_clients import clients, operator
from domain.admin_oauth_clients import search as client_search
from domain.context import Context
from domain.errors import Field, ValidationError
from domain.localization import N_
from domain.oauth_clients.errors import ClientNotFound, InvalidClientMetadata, InvalidRedirectUri
from domain.oauth_clients.metadata import DEVICE_CODE
from handlers import shapes
from handlers.console import application_fields, layout
from handlers.console.applications import READ_ONLY, client_id_of, page_of, show_once, words
from handlers.console.view import view
from handlers.responses.reply import Page, Redirect
from models.oauth_client import ClientRow, ClientSource

NOTICES = {
    "application-saved": N_("The application is saved."),
    "application-disabled": N_("The application is disabled, and its access has ended."),
    "application-enabled": N_("The application is enabled. Its users sign in again."),
    "application-deleted": N_("The application is deleted, with everything that users had granted it."),
    "application-gone": N_("This application no longer exists."),
    "grants-ended": N_("The access of the application has ended. Its users sign in again."),
    "no-grants": N_("The application held no grants, so there was nothing to end."),
}

FIELD_TEXTS = {"typedApplication": N_("This is not the name of the application.")}
FIELD_LABELS = {"typedApplication": N_("Name of the application")}

GRANT_TYPES = {
    "authorization_code": N_("Users sign in to it"),
    "refresh_token": N_("It renews its access"),
    "client_credentials": N_("It acts in its own name"),
    DEVICE_CODE: N_("Users confirm a code on another device"),
}
METHODS = {
    "client_secret_basic": N_("With a secret"),
    "client_secret_post": N_("With a secret"),
    "none": N_("Not at all: it has no secret"),
    "private_key_jwt": N_("With tokens that it signs"),
}
_SHOWN = 10
"""The most grants that the page of an application shows."""


# console.application.show
async def show(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Show an application and its newest grants."""
    row = await clients.read(ctx, client_id_of(id_))
    page = page_of(row.client_id)
    here = view(ctx, page, ui_locales)
    grants, _ = await client_search.list_grants(
        ctx, client_id=row.client_id, user_id=None, after=None, limit=_SHOWN
    )
    members, gettext = row.metadata, here.localization.gettext
    method = METHODS[members["token_endpoint_auth_method"]]
    return layout.render(
        ctx,
        here,
        "application/show.html",
        client=row,
        members=members,
        page=page,
        is_read_only=row.source in READ_ONLY,
        count=await _count(ctx, row),
        grants=grants,
        users=await targets.names_of(ctx, {grant.user_id for grant in grants}),
        owner=(await targets.names_of(ctx, {row.owner_id})).get(row.owner_id or ""),
        grant_types=[gettext(GRANT_TYPES[name]) for name in members["grant_types"]],
        method=gettext(method),
        previous_until=_previous_until(ctx, row),
        **words(here),
    )


async def _count(ctx: Context, row: ClientRow) -> int | None:
    """Return how many grants an application has; None if counting takes too long."""
    numbers = await client_search.count_grants(ctx, [row.client_id])
    return None if numbers is None else numbers.get(row.client_id, 0)


def _previous_until(ctx: Context, row: ClientRow) -> datetime | None:
    """Return the time until which the previous secret is accepted as well; None if it is not accepted."""
    is_accepted = row.previous_until is not None and row.previous_until > ctx.now
    return row.previous_until if row.previous_secret is not None and is_accepted else None


async def _show_form(
    ctx: Context,
    text: str,
    act: str,
    template: str,
    ui_locales: str | None,
    *,
    read_only: Collection[str] = READ_ONLY,
) -> Page | Redirect:
    """Return the page with a form that changes an application; `act` is the last part of the page's path.

    An application whose source is in `read_only` is shown as read-only. If it does not exist, redirect to the list.
    """
    try:
        row = await clients.read(ctx, client_id_of(text), fresh=True)
    except ClientNotFound:
        return layout.done(ctx, view(ctx, None, ui_locales), "/applications", "application-gone")
    page = page_of(row.client_id)
    here = view(ctx, f"{page}/{act}", ui_locales)
    values: dict[str, Any] = {}
    if act == "edit":
        members = row.metadata
        values = {
            **application_fields.form_values(ctx, here.localization, members, members["grant_types"]),
            "is_native": members["application_type"] == "native",
        }
    return layout.render(
        ctx,
        here,
        f"application/{template}",
        client=row,
        is_read_only=row.source in read_only,
        version=operator.version(row),
        overlap=operator.OVERLAP,
        count=await _count(ctx, row),
        client_url=here.url(page),
        action=here.action(f"{page}/{act}"),
        **words(here),
        **values,
    )


# console.application.show_edit
async def show_edit(ctx: Context, id_: str, ui_locales: str | None = None) -> Page | Redirect:
    """Show the metadata of an application as a form."""
    return await _show_form(ctx, id_, "edit", "edit.html", ui_locales)


# console.application.update
async def update(ctx: Context, id_: str, body: shapes.ConsoleApplicationForm) -> Redirect:
    """Change the metadata that the form changes, unless the application was changed after the form was shown."""
    here = view(ctx)
    row = await clients.read(ctx, client_id_of(id_), fresh=True)
    sent = application_fields.changes(row.metadata, {**body})
    try:
        await clients.update(ctx, row.client_id, sent, seen=body.get("version", ""))
    except (InvalidClientMetadata, InvalidRedirectUri) as error:
        application_fields.refuse(error)
    return layout.done(ctx, here, page_of(row.client_id), "application-saved")


# console.application.show_rotation
async def show_rotation(ctx: Context, id_: str, ui_locales: str | None = None) -> Page | Redirect:
    """Ask for confirmation before the secret of an application is replaced."""
    return await _show_form(ctx, id_, "rotate-secret", "rotate_secret.html", ui_locales)


# console.application.rotate_secret
async def rotate_secret(ctx: Context, id_: str, body: shapes.ConsoleApplicationRotationForm) -> Redirect:
    """Replace the secret of an application, and redirect to the page that shows the new secret once."""
    here = view(ctx)
    row, secret = await clients.rotate_secret(ctx, client_id_of(id_), seen=body.get("version", ""))
    return show_once(ctx, here, row, secret, row.previous_until)


# console.application.show_disabling
async def show_disabling(ctx: Context, id_: str, ui_locales: str | None = None) -> Page | Redirect:
    """Ask for confirmation before an application is disabled."""
    # One that a document describes can be disabled, because its document says nothing about that.
    configured = (ClientSource.CONFIG.value,)
    return await _show_form(ctx, id_, "disable", "disable.html", ui_locales, read_only=configured)


# console.application.disable
async def disable(ctx: Context, id_: str, body: shapes.ConsoleApplicationButtonForm) -> Redirect:
    """Disable an application."""
    return await _set_disabled(ctx, id_, is_disabled=True, notice="application-disabled")


# console.application.enable
async def enable(ctx: Context, id_: str, body: shapes.ConsoleApplicationButtonForm) -> Redirect:
    """Enable an application."""
    return await _set_disabled(ctx, id_, is_disabled=False, notice="application-enabled")


async def _set_disabled(ctx: Context, text: str, *, is_disabled: bool, notice: str) -> Redirect:
    here = view(ctx)
    row = await clients.update(ctx, client_id_of(text), {}, is_disabled=is_disabled)
    return layout.done(ctx, here, page_of(row.client_id), notice)


# console.application.show_end_grants
async def show_end_grants(ctx: Context, id_: str, ui_locales: str | None = None) -> Page | Redirect:
    """Ask for confirmation before the access of an application ends."""
    return await _show_form(ctx, id_, "end-grants", "end_grants.html", ui_locales, read_only=())


# console.application.end_grants
async def end_grants(ctx: Context, id_: str, body: shapes.ConsoleApplicationGrantsForm) -> Redirect:
    """End all grants of an application; if the form says so, also delete the users' consents."""
    here, client_id = view(ctx), client_id_of(id_)
    number = await client_search.end_grants(
        ctx, client_id=client_id, user_id=None, with_consents=bool(body.get("consents"))
    )
    return layout.done(ctx, here, page_of(client_id), "grants-ended" if number else "no-grants")


# console.application.show_deletion
async def show_deletion(ctx: Context, id_: str, ui_locales: str | None = None) -> Page | Redirect:
    """Ask for confirmation before an application is deleted."""
    return await _show_form(ctx, id_, "delete", "delete.html", ui_locales)


# console.application.delete
async def delete(ctx: Context, id_: str, body: shapes.ConsoleApplicationDeletionForm) -> Redirect:
    """Delete an application if its name was typed as confirmation."""
    here = view(ctx)
    try:
        row = await clients.read(ctx, client_id_of(id_), fresh=True)
        if body["typedApplication"].strip() != row.client_name.strip():
            problem = "must be the name of the application"
            raise ValidationError(
                f"[body.typedApplication] {problem}", Field("body", "typedApplication", problem)
            )
        await clients.remove(ctx, row.client_id)
    except ClientNotFound:  # A form that is sent twice.
        return layout.done(ctx, here, "/applications", "application-gone")
    return layout.done(ctx, here, "/applications", "application-deleted")
