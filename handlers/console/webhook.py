"""The page of one webhook endpoint with its deliveries, and the forms that change the endpoint."""

from typing import Any

from domain import tokens
from domain.admin_webhooks import deliveries, endpoints, operator
from domain.admin_webhooks.errors import EndpointNotFound
from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.errors import Field, ValidationError
from domain.localization import N_
from domain.webhooks.policy import WebhookPolicy
from handlers import shapes, wire
from handlers.console import layout
from handlers.console.view import view
from handlers.console.webhook_deliveries import delivery_words
from handlers.console.webhooks import form_values, sent_fields, show_once, words
from handlers.positions import positions, time_position
from handlers.responses.reply import Page, Redirect
from models.webhook_endpoint import EndpointRow, EndpointSource, EndpointState

NOTICES = {
    "endpoint-saved": N_("The endpoint is saved."),
    "endpoint-paused": N_("The endpoint is paused. Its deliveries wait until it is resumed."),
    "endpoint-resumed": N_("The endpoint is active. What waits for it is sent now."),
    "endpoint-deleted": N_("The endpoint is deleted. What waited for it is canceled."),
    "endpoint-gone": N_("This endpoint no longer exists."),
}


# console.webhook.show
async def show(
    ctx: Context,
    id_: str,
    ui_locales: str | None = None,
    state: str | None = None,
    after: str | None = None,
    before: str | None = None,
) -> Page:
    """Show a webhook endpoint with a page of its deliveries."""
    older_than, newer_than = positions(after, before, time_position)
    row = await endpoints.get(ctx, id_)
    found, ends = await deliveries.get_page(
        ctx,
        row.id,
        state=state or None,
        before=older_than,
        after=newer_than,
        limit=ctx.policy[ConsolePolicy].page_size,
    )
    page = page_of(row)
    here = view(ctx, page, ui_locales, state=state or None)
    pending = await endpoints.count_pending(ctx, [row])
    return layout.render(
        ctx,
        here,
        "webhook/show.html",
        endpoint=row,
        page=page,
        is_configured=row.source == EndpointSource.CONFIG,
        pending=pending.get(row.id, 0),
        both_sign_until=_both_sign_until(ctx, row),
        deliveries=found,
        newer=ends.first and here.url(page, **here.query, before=wire.cursor(ends.first)),
        older=ends.last and here.url(page, **here.query, after=wire.cursor(ends.last)),
        filters={"state": state or None},
        once=tokens.token(),
        history=ctx.policy[WebhookPolicy].history_retention,
        **words(here),
        **delivery_words(here),
    )


def _both_sign_until(ctx: Context, row: EndpointRow) -> object:
    """Return the time until which the previous secret signs as well; None if it does not sign."""
    return row.previous_until if row.previous_until is not None and row.previous_until > ctx.now else None


def page_of(row: EndpointRow) -> str:
    """Return the path of the page of an endpoint, below the path of the console."""
    return f"/webhooks/{row.id}"


async def _show_form(
    ctx: Context, endpoint_id: str, act: str, template: str, ui_locales: str | None, **values: Any
) -> Page | Redirect:
    """Return the page with a form that changes an endpoint; `act` is the last part of the page's path.

    If the endpoint does not exist, redirect to the list.
    """
    try:
        row = await endpoints.get(ctx, endpoint_id, fresh=True)
    except EndpointNotFound:
        return layout.done(ctx, view(ctx, None, ui_locales), "/webhooks", "endpoint-gone")
    here = view(ctx, f"{page_of(row)}/{act}", ui_locales)
    return layout.render(
        ctx,
        here,
        f"webhook/{template}",
        endpoint=row,
        is_configured=row.source == EndpointSource.CONFIG,
        version=operator.version(row),
        pending=(await endpoints.count_pending(ctx, [row])).get(row.id, 0),
        endpoint_url=here.url(page_of(row)),
        action=here.action(f"{page_of(row)}/{act}"),
        **(form_values(ctx, row) if act == "edit" else {}),
        **words(here),
        **values,
    )


# console.webhook.show_edit
async def show_edit(ctx: Context, id_: str, ui_locales: str | None = None) -> Page | Redirect:
    """Show an endpoint as a form."""
    return await _show_form(ctx, id_, "edit", "edit.html", ui_locales)


# console.webhook.update
async def update(ctx: Context, id_: str, body: shapes.ConsoleWebhookForm) -> Redirect:
    """Change the fields of an endpoint that the form changes, unless the endpoint was changed in the meantime."""
    here = view(ctx)
    row = await endpoints.get(ctx, id_, fresh=True)
    sent = dict(sent_fields({**body}))
    if set(sent["events"]) == set(row.subscriptions):
        del sent["events"]
    if sent["url"] == row.url:  # The same URL needs no look-up of its host, which may be down.
        del sent["url"]
    await endpoints.update(ctx, row.id, sent, seen=body.get("version", ""))
    return layout.done(ctx, here, page_of(row), "endpoint-saved")


# console.webhook.show_pausing
async def show_pausing(ctx: Context, id_: str, ui_locales: str | None = None) -> Page | Redirect:
    """Ask for confirmation before an endpoint is paused."""
    return await _show_form(ctx, id_, "pause", "pause.html", ui_locales)


# console.webhook.pause
async def pause(ctx: Context, id_: str, body: shapes.ConsoleWebhookButtonForm) -> Redirect:
    """Pause an endpoint."""
    return await _set_state(ctx, id_, EndpointState.PAUSED, "endpoint-paused")


# console.webhook.resume
async def resume(ctx: Context, id_: str, body: shapes.ConsoleWebhookButtonForm) -> Redirect:
    """Make an endpoint active again."""
    return await _set_state(ctx, id_, EndpointState.ACTIVE, "endpoint-resumed")


async def _set_state(ctx: Context, endpoint_id: str, state: EndpointState, notice: str) -> Redirect:
    here = view(ctx)
    row = await endpoints.update(ctx, endpoint_id, {"state": state.value})
    return layout.done(ctx, here, page_of(row), notice)


# console.webhook.show_rotation
async def show_rotation(ctx: Context, id_: str, ui_locales: str | None = None) -> Page | Redirect:
    """Ask for confirmation before the secret of an endpoint is replaced."""
    overlap = ctx.policy[WebhookPolicy].secret_overlap
    return await _show_form(ctx, id_, "rotate-secret", "rotate_secret.html", ui_locales, overlap=overlap)


# console.webhook.rotate_secret
async def rotate_secret(ctx: Context, id_: str, body: shapes.ConsoleWebhookRotationForm) -> Redirect:
    """Replace the secret of an endpoint, and redirect to the page that shows the new secret once."""
    here = view(ctx)
    row = await endpoints.get(ctx, id_)
    secret, until = await endpoints.rotate_secret(ctx, row.id, None, seen=body.get("version", ""))
    return show_once(ctx, here, row, secret, until)


# console.webhook.show_deletion
async def show_deletion(ctx: Context, id_: str, ui_locales: str | None = None) -> Page | Redirect:
    """Ask for confirmation before an endpoint is deleted."""
    return await _show_form(ctx, id_, "delete", "delete.html", ui_locales)


# console.webhook.delete
async def delete(ctx: Context, id_: str, body: shapes.ConsoleWebhookDeletionForm) -> Redirect:
    """Delete an endpoint if its name was typed as confirmation."""
    here = view(ctx)
    try:
        row = await endpoints.get(ctx, id_, fresh=True)
        if body["typedName"].strip() != row.name.strip():
            problem = "must be the name of the endpoint"
            raise ValidationError(f"[body.typedName] {problem}", Field("body", "typedName", problem))
        await endpoints.remove(ctx, row.id)
    except EndpointNotFound:  # A form that is sent twice.
        return layout.done(ctx, here, "/webhooks", "endpoint-gone")
    return layout.done(ctx, here, "/webhooks", "endpoint-deleted")
