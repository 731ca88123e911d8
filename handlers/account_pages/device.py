"""The page where a user enters the code that a device shows, and approves or denies the device's request."""

from collections.abc import Mapping
from dataclasses import replace

from domain.context import Context
from domain.device import requests, user_codes
from domain.device.errors import DeviceCodeAlreadyProcessed, ExpiredUserCode, InvalidUserCode
from domain.localization import N_
from handlers import shapes
from handlers.account_pages import user_agents
from handlers.pages import authorization, texts
from handlers.pages import view as views
from handlers.pages.view import Form, View
from handlers.responses.reply import Page, Redirect
from models.device_request import DeviceStatus

ERROR_TEXTS: Mapping[str, str] = {
    "INVALID_USER_CODE": N_("No device has this code. Check it, and enter it again."),
    "EXPIRED_USER_CODE": N_("This code has expired. Start again on your device."),
    "DEVICE_CODE_ALREADY_PROCESSED": N_(
        "A decision about this code was made already. Start again on your device."
    ),
}
ERROR_FIELDS: Mapping[str, tuple[str, ...]] = {
    "INVALID_USER_CODE": ("user_code",),
    "EXPIRED_USER_CODE": ("user_code",),
    "DEVICE_CODE_ALREADY_PROCESSED": ("user_code",),
}
FIELD_TEXTS: Mapping[str, str] = {"user_code": N_("Enter the code.")}

_PATH = "/device"


# account_pages.show_device
async def show_device(
    ctx: Context,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    user_code: str | None = None,
    reason: str | None = None,
) -> Page:
    """Ask for the code of a device; for a valid `user_code`, ask whether to approve what the device requests."""
    view = views.view(ctx, _PATH, callback_url, ui_locales, user_code=user_code)
    if view.form.is_refused or not user_code:
        return _entry(view, user_code, reason)
    try:
        known = await requests.read(ctx, user_code)
        if known.row.status != DeviceStatus.PENDING:
            raise DeviceCodeAlreadyProcessed
    except (InvalidUserCode, ExpiredUserCode, DeviceCodeAlreadyProcessed) as refusal:
        wrong = {"user_code": texts.sentence(view.localization, refusal)}
        return _entry(
            replace(view, form=Form({"user_code": user_code}, wrong, code=refusal.code)), user_code, None
        )
    return view.render(
        "device.html",
        state="ask",
        user_code=user_codes.display(user_code),
        client=known.client,
        network=known.row.network,
        device=user_agents.describe(view.localization, known.row.user_agent),
        age=view.localization.format_ago(known.row.created_at, ctx.now),
        is_session=known.gets_session,
        abilities=authorization.abilities(
            ctx, view.localization, known.row.scopes.split(), known.row.resources.split()
        ),
    )


# account_pages.approve_device
async def approve_device(ctx: Context, body: shapes.DeviceForm) -> Redirect:
    """Approve the request of a device."""
    view = views.view(ctx)
    await requests.approve(ctx, body["user_code"])
    return view.redirect(_PATH, reason="approved")


# account_pages.deny_device
async def deny_device(ctx: Context, body: shapes.DeviceForm) -> Redirect:
    """Deny the request of a device."""
    view = views.view(ctx)
    await requests.deny(ctx, body["user_code"])
    return view.redirect(_PATH, reason="denied")


def _entry(view: View, user_code: str | None, reason: str | None) -> Page:
    """Return the form for the code, or the result if `reason` is the decision `approved` or `denied`."""
    is_result = reason in ("approved", "denied") and not view.form.is_refused
    return view.render(
        "device.html",
        status=422 if view.form.is_refused else 200,
        state=reason if is_result else "entry",
        user_code=user_code or "",
    )
