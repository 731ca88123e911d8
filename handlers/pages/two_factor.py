"""The page that asks for the second factor of a pending sign-in."""

from collections.abc import Mapping

from domain.context import Context
from domain.localization import N_
from domain.passkeys.policy import PasskeyPolicy
from domain.trusted_devices.policy import TrustedDevicePolicy
from domain.two_factor import challenges, verification
from domain.two_factor.verification import Verified
from handlers import shapes
from handlers.pages import authorization, passkeys, sign_in_methods
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect

ERROR_TEXTS: Mapping[str, str] = {
    "INVALID_BACKUP_CODE": N_("This backup code is not right, or it has been used."),
    "OTP_NOT_CONFIGURED": N_("Codes by email are not available here. Choose another way."),
    "BACKUP_CODES_NOT_ENABLED": N_("Your account has no backup codes. Choose another way."),
}

ERROR_FIELDS: Mapping[str, tuple[str, ...]] = {
    "INVALID_BACKUP_CODE": ("code",),
}


# pages.show_two_factor
async def show_two_factor(
    ctx: Context,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    method: str | None = None,
    reason: str | None = None,
) -> Page | Redirect:
    """Ask for a code of the second factor; redirect to the next page if no sign-in is pending."""
    view = views.view(ctx, "/two-factor", callback_url, ui_locales, method=method)
    if ctx.challenge is None:
        return view.finish()
    view = await authorization.named(ctx, view)
    methods = await challenges.methods_of(ctx, ctx.challenge.user, mailbox=ctx.challenge.mailbox)
    requested = view.form.get("method", method or "")
    shown = requested if requested in (*methods, "backup") else next(iter(methods), "backup")
    days = ctx.policy[TrustedDevicePolicy].trust_expires_in.days
    return view.render(
        "two_factor.html",
        method=shown,
        methods=methods,
        with_passkey=ctx.policy[PasskeyPolicy].counts_as_two_factors
        and await passkeys.can_use(ctx, ctx.challenge.user.id),
        can_disown=ctx.challenge.mailbox and not ctx.challenge.user.email_verified,
        sent=reason == "sent" or view.form.is_refused,
        notice=view.localization.gettext("We have sent you an email with a code.")
        if reason == "sent"
        else None,
        trust_label=view.localization.ngettext(
            "Trust this device for %(number)s day", "Trust this device for %(number)s days", days
        )
        % {"number": days},
    )


# pages.send_two_factor_code
async def send_two_factor_code(ctx: Context, body: shapes.PageForm) -> Redirect:
    """Send a code for the pending sign-in by email."""
    view = views.view(ctx)
    await verification.send_otp(ctx)
    return view.redirect("/two-factor", method="otp", reason="sent")


# pages.verify_two_factor
async def verify_two_factor(ctx: Context, body: shapes.SecondFactorForm) -> Redirect:
    """Check a code, and complete the sign-in."""
    view = views.view(ctx)
    if ctx.challenge is None:
        return view.finish()
    # Only with a challenge; otherwise the code would be checked for the signed-in user instead.
    verified = await _verify(ctx, body)
    if verified.opened is None:
        return view.finish()
    return await sign_in_methods.complete_sign_in(ctx, view, verified.opened)


async def _verify(ctx: Context, body: shapes.SecondFactorForm) -> Verified:
    trust_device = body.get("trustDevice") == "true"
    match body.get("method"):
        case "backup":
            return await verification.verify_backup_code(ctx, body["code"].strip(), trust_device=trust_device)
        case "otp":
            return await verification.verify_otp(
                ctx, "".join(body["code"].split()), trust_device=trust_device
            )
        case _:
            return await verification.verify_totp(
                ctx, "".join(body["code"].split()), trust_device=trust_device
            )
