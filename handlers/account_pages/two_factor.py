"""The page of the second factor: authenticator app, codes by email, backup codes, trusted devices."""

from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from markupsafe import Markup

from domain.context import Context
from domain.localization import N_
from domain.sessions import expiry
from domain.trusted_devices import trusted_devices
from domain.two_factor import setup, verification
from domain.two_factor.policy import TwoFactorPolicy
from handlers import shapes
from handlers.account_pages import layout, shown_once
from handlers.account_pages.registry import NavigationItem
from handlers.pages import sign_in_methods
from handlers.pages import view as views
from handlers.pages.view import View
from handlers.responses.reply import Page, Redirect
from handlers.responses.sessions import trusted_device_cleared

ERROR_TEXTS: Mapping[str, str] = {
    "TOTP_NOT_ENABLED": N_("No authenticator app is being set up. Begin again."),
    "TWO_FACTOR_NOT_ENABLED": N_("Two-factor authentication is turned off already."),
}

ACCOUNT_NAVIGATION = (
    NavigationItem(path="/second-factor", label=N_("Two-factor authentication"), position=50),
)

_NOTICES = {
    "enabled": N_("Your authenticator app is set up. From now on, signing in requires a code."),
    "disabled": N_("Two-factor authentication is turned off."),
    "forgotten": N_("The next sign-in on that device requires a code."),
    "all-forgotten": N_("The next sign-in on each of these devices requires a code."),
}
_SETUP, _BACKUP_CODES = "/second-factor/set-up", "/second-factor/codes"
"""The paths of the pages that show new secrets once."""
_QUIET_ZONE = 4
"""The width of the margin of a QR code, in modules (ISO/IEC 18004)."""
_GROUP = 4
"""The number of characters in a group of a key."""


# account_pages.show_two_factor
async def show_two_factor(
    ctx: Context,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    step: str | None = None,
    reason: str | None = None,
) -> Page:
    """Show the second-factor settings; `step` names the change whose form, which asks for the password, is open."""
    return await _show(
        ctx, views.view(ctx, "/second-factor", callback_url, ui_locales, step=step), reason, step
    )


async def _show(ctx: Context, view: View, reason: str | None = None, step: str | None = None) -> Page:
    return layout.render(
        ctx,
        view,
        "two_factor.html",
        headers=shown_once.forget(ctx),
        notices=_NOTICES,
        reason=reason,
        step=step,
        factor=await setup.get_state(ctx),
        has_password=await sign_in_methods.has_password(ctx),
        with_mailed_codes=ctx.policy[TwoFactorPolicy].otp_available,
        devices=[
            (device, trusted_devices.is_presented(ctx, device))
            for device in await trusted_devices.of_caller(ctx)
        ],
    )


# account_pages.enable_two_factor
async def enable_two_factor(ctx: Context, body: shapes.SecondFactorSetupForm) -> Redirect:
    """Begin to set up an authenticator app, or enable codes by email; redirect to the page with new backup codes."""
    view = views.view(ctx)
    if body.get("step") == "otp":
        enabled = await setup.enable_otp(ctx, body["password"])
        return shown_once.redirect(ctx, view, _BACKUP_CODES, codes=enabled.backup_codes, is_new=True)
    enrolled = await setup.enable_totp(ctx, body["password"], None)
    return shown_once.redirect(ctx, view, _SETUP, uri=enrolled.totp_uri or "", codes=enrolled.backup_codes)


# account_pages.show_two_factor_setup
async def show_two_factor_setup(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Show the QR code, the key and the backup codes of a new authenticator app.

    If they are no longer available, show the second-factor settings instead.
    """
    view = views.view(ctx, _SETUP, callback_url, ui_locales)
    content = shown_once.content_of(ctx, view, _SETUP)
    if content is None:
        return await _show(ctx, view) if expiry.is_fresh(ctx) else view.redirect("/second-factor")
    return layout.render(
        ctx,
        view,
        "two_factor_setup.html",
        qr_code=qr_code(content["uri"]),
        key=_grouped(parse_qs(urlsplit(content["uri"]).query)["secret"][0]),
        codes=content["codes"],
    )


# account_pages.show_backup_codes
async def show_backup_codes(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Show new backup codes; redirect to the second-factor settings if they are no longer available."""
    view = views.view(ctx, _BACKUP_CODES, callback_url, ui_locales)
    content = shown_once.content_of(ctx, view, _BACKUP_CODES)
    if content is None:
        return view.redirect("/second-factor")
    return layout.render(ctx, view, "backup_codes.html", **content)


# account_pages.confirm_two_factor
async def confirm_two_factor(ctx: Context, body: shapes.AccountCodeForm) -> Redirect:
    """Check the first code of a new authenticator app; from then on, sign-ins require a code."""
    view = views.view(ctx)
    # Authenticators show codes in groups, and users type or paste the space as well.
    await verification.verify_totp(ctx, "".join(body["code"].split()), trust_device=False)
    return view.redirect("/second-factor", reason="enabled")


# account_pages.replace_backup_codes
async def replace_backup_codes(ctx: Context, body: shapes.AccountPasswordForm) -> Redirect:
    """Replace the backup codes, and redirect to the page that shows the new ones.

    Raises InvalidPassword, Limited, TwoFactorNotEnabled, Overloaded.
    """
    view = views.view(ctx)
    codes = await setup.regenerate_backup_codes(ctx, body["password"])
    return shown_once.redirect(ctx, view, _BACKUP_CODES, codes=codes, is_new=False)


# account_pages.disable_two_factor
async def disable_two_factor(ctx: Context, body: shapes.AccountPasswordForm) -> Redirect:
    """Disable the second factor, so that no device is trusted any longer."""
    view = views.view(ctx)
    await setup.disable(ctx, body["password"])
    return view.redirect("/second-factor", trusted_device_cleared(ctx), reason="disabled")


# account_pages.forget_trusted_device
async def forget_trusted_device(ctx: Context, body: shapes.TrustedDeviceForm) -> Redirect:
    """Stop trusting a device; nothing happens if it is no longer trusted."""
    view = views.view(ctx)
    # Read before the device is forgotten; afterwards its row could not be compared with the cookie.
    presented = {
        one.id for one in await trusted_devices.of_caller(ctx) if trusted_devices.is_presented(ctx, one)
    }
    await trusted_devices.forget(ctx, body["device"])
    headers = trusted_device_cleared(ctx) if body["device"] in presented else ()
    return view.redirect("/second-factor", headers, reason="forgotten")


# account_pages.forget_trusted_devices
async def forget_trusted_devices(ctx: Context, body: shapes.AccountForm) -> Redirect:
    """Stop trusting all devices."""
    view = views.view(ctx)
    await trusted_devices.forget_all_of_caller(ctx)
    return view.redirect("/second-factor", trusted_device_cleared(ctx), reason="all-forgotten")


def qr_code(text: str) -> Markup:
    """Return a text as a QR code: an inline SVG without style attributes, which the Content-Security-Policy forbids."""
    import segno  # noqa: PLC0415 - loaded where it is used

    drawn = segno.make(text, micro=False, error="m")
    # Safe as markup: the SVG contains only coordinates, not the encoded text.
    return Markup(  # noqa: S704 - see above
        drawn.svg_inline(border=_QUIET_ZONE, omitsize=True, svgclass="qr", lineclass=None)
    )


def _grouped(key: str) -> str:
    """Return a key in groups, for reading and typing."""
    return " ".join(key[start : start + _GROUP] for start in range(0, len(key), _GROUP))
