"""The page where users download their stored data or delete their account."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from domain import errors
from domain.context import Context
from domain.data_export import export
from domain.localization import N_, Localization
from domain.user_deletion import deletion
from domain.user_deletion.policy import DeletionPolicy
from domain.users import admins
from handlers import shapes, wire
from handlers.account_pages import layout
from handlers.account_pages.registry import NavigationItem
from handlers.pages import sign_in_methods
from handlers.pages import view as views
from handlers.pages.view import View
from handlers.responses.reply import Download, Page, Redirect
from handlers.responses.sessions import sign_out_response

ERROR_TEXTS: Mapping[str, str] = {
    "EXPORT_IN_PROGRESS": N_("Another export of yours is still running. Try again when it has ended."),
}

FIELD_TEXTS: Mapping[str, str] = {
    "typedEmail": N_("This is not the email address of your account."),
}

ACCOUNT_NAVIGATION = (NavigationItem(path="/data", label=N_("Your data"), position=120),)

_NOTICES = {"sent": N_("We have sent you a link. Open it to delete your account.")}


# account_pages.show_data
async def show_data(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None, reason: str | None = None
) -> Page:
    """Show a link that downloads the stored data, and a form that deletes the account."""
    view = views.view(ctx, "/data", callback_url, ui_locales, reason=reason)
    return layout.render(
        ctx,
        view,
        "data.html",
        notices=_NOTICES,
        reason=reason,
        can_delete=ctx.policy[DeletionPolicy].enabled,
        by_mail=ctx.policy[DeletionPolicy].confirm_by_mail,
        **await _deleted_with_account(ctx, view),
    )


async def _deleted_with_account(ctx: Context, view: View) -> dict[str, Any]:
    return {
        "has_password": await sign_in_methods.has_password(ctx),
        "held": _held(view.localization, await export.count_own(ctx)),
        "last_admin": await admins.is_last(ctx, ctx.signed_in.user),
    }


def _held(localization: Localization, counts: Any) -> Sequence[str]:
    """Return descriptions of all data deleted with the account; sections without a text are named as in the export."""
    ngettext = localization.ngettext

    def count(name: str) -> int:
        return int(remaining.pop(name, 0))

    remaining = dict(counts)
    accounts, sessions, keys = count("accounts"), count("sessions"), count("apiKeys")
    factors, codes, devices = count("twoFactor"), count("backupCodes"), count("trustedDevices")
    passkeys, memberships = count("passkeys"), count("organizationMemberships")
    count("teamMemberships")  # They end with the memberships.
    applications, sign_ins = count("oauthClients"), count("oauthGrants")
    for name in ("oauthConsents", "oauthCodes", "deviceRequests"):
        count(name)  # They belong to sign-ins to applications.
    networks, mails, links = count("knownNetworks"), count("mails"), count("grants")
    words = [
        (accounts, ngettext("%(number)s way to sign in: a password or a connected account",
                            "%(number)s ways to sign in: your password and connected accounts", accounts)),
        (sessions, ngettext("%(number)s session", "%(number)s sessions", sessions)),
        (factors, localization.gettext("Two-factor authentication")),
        (codes, ngettext("%(number)s backup code", "%(number)s backup codes", codes)),
        (devices, ngettext("%(number)s trusted device", "%(number)s trusted devices", devices)),
        (passkeys, ngettext("%(number)s passkey", "%(number)s passkeys", passkeys)),
        (keys, ngettext("%(number)s API key; programs that use it stop working",
                        "%(number)s API keys; programs that use them stop working", keys)),
        (applications, ngettext("%(number)s application that you registered; it stops working",
                                "%(number)s applications that you registered; they stop working", applications)),
        (sign_ins, ngettext("%(number)s sign-in to an application",
                            "%(number)s sign-ins to applications", sign_ins)),
        (memberships, ngettext("%(number)s membership in an organization",
                               "%(number)s memberships in organizations", memberships)),
        (networks, ngettext("%(number)s network that you have signed in from",
                            "%(number)s networks that you have signed in from", networks)),
        (mails, ngettext("%(number)s email that was sent to you",
                         "%(number)s emails that were sent to you", mails)),
        (links, ngettext("%(number)s link or code that was sent to you",
                         "%(number)s links and codes that were sent to you", links)),
        *((number, f"{name}: %(number)s") for name, number in remaining.items()),
    ]  # fmt: skip
    return [text % {"number": number} if "%(" in text else text for number, text in words if number]


# account_pages.export_data
async def export_data(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None
) -> Download:
    """Return all stored data about the user as a file."""
    held = await export.export_own(ctx)
    return Download(wire.exported(held, orjson.OPT_INDENT_2), "account.json")


# account_pages.delete_account
async def delete_account(ctx: Context, body: shapes.AccountDeletionForm) -> Redirect:
    """Delete the account, or send a link that deletes it if the settings require confirmation by email."""
    view = views.view(ctx)
    by_mail = ctx.policy[DeletionPolicy].confirm_by_mail
    # An empty password is wrong, whereas None means that none is asked for.
    password = body.get("password", "") if not by_mail and await sign_in_methods.has_password(ctx) else None
    if not by_mail and password is None:
        _require_address(ctx, body.get("typedEmail", ""))
    if await deletion.delete_user(ctx, password=password, token=None, callback_url=None):
        return _deleted(ctx, view)
    return view.redirect("/data", reason="sent")


def _require_address(ctx: Context, typed: str) -> None:
    """Raise ValidationError unless `typed` is the caller's email address, which replaces a missing password."""
    if typed.strip().lower() != ctx.signed_in.user.email:
        message = "must be the email address of the account"
        raise errors.ValidationError(f"typedEmail {message}", errors.Field("body", "typedEmail", message))


# account_pages.show_deletion
async def show_deletion(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None, token: str | None = None
) -> Page:
    """Show the page that a mailed deletion link opens; its button deletes the account."""
    view = views.view(ctx, "/delete", callback_url, ui_locales, token=token)
    is_live = bool(token) and await deletion.is_deletion_token(ctx, token or "")
    values = await _deleted_with_account(ctx, view)
    again = view.url("/delete", token=token)
    return layout.render(ctx, view, "delete.html", token=token if is_live else None, again=again, **values)


# account_pages.confirm_deletion
async def confirm_deletion(ctx: Context, body: shapes.MailedDeletionForm) -> Redirect:
    """Delete the account with the token of a mailed link."""
    view = views.view(ctx)
    await deletion.confirm(ctx, body["token"])
    return _deleted(ctx, view)


def _deleted(ctx: Context, view: View) -> Redirect:
    return view.redirect("/sign-in", sign_out_response(ctx, None).headers, reason="deleted")
