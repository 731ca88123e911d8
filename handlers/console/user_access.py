"""The section and forms about how a user signs in: email address, password, second factor, providers and passkeys."""

from domain.accounts.errors import AccountNotFound
from domain.admin import user_access, user_fields, users
from domain.context import Context
from domain.localization import N_
from domain.passkeys.errors import PasskeyNotFound
from handlers import shapes, wire
from handlers.console import layout, user_acts
from handlers.console.users import provider_name
from handlers.console.view import view
from handlers.pages import sign_in_methods
from handlers.responses.reply import Page, Redirect

NOTICES = {
    "email-changed": N_("The email address is changed. A notice is sent to the old address."),
    "email-verified": N_("The email address is marked as verified."),
    "email-unverified": N_("The email address is marked as not verified."),
    "password-set": N_("The password is set, and the user is signed out everywhere."),
    "reset-sent": N_("An email with a link to set a password is sent to the user."),
    "second-factor-reset": N_("The second factor is reset, and the user is signed out everywhere."),
    "account-disconnected": N_("The account is disconnected, and the user is signed out everywhere."),
    "account-gone": N_("That account was disconnected already."),
    "passkey-removed": N_("The passkey is removed, and the user is signed out everywhere."),
    "passkey-gone": N_("That passkey was removed already."),
}


# console.user_access.show_email
async def show_email(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Show the email address as a form."""
    user = await user_acts.target(ctx, id_, "set-email")
    return user_acts.show_form(ctx, user, "email", "email.html", ui_locales)


# console.user_access.change_email
async def change_email(ctx: Context, id_: str, body: shapes.ConsoleEmailForm) -> Redirect:
    """Change the email address at once, without a confirming email."""
    here = view(ctx)
    wanted = {"email": body["newEmail"].strip(), "email_verified": wire.flag(body.get("verified"))}
    await user_fields.update_user(ctx, id_, wanted)
    return layout.done(ctx, here, user_acts.page_of(id_), "email-changed")


# console.user_access.set_verified
async def set_verified(ctx: Context, id_: str, body: shapes.ConsoleVerificationForm) -> Redirect:
    """Mark the email address as verified, or as not verified."""
    here, is_verified = view(ctx), wire.flag(body["verified"])
    await user_fields.update_user(ctx, id_, {"email_verified": is_verified})
    notice = "email-verified" if is_verified else "email-unverified"
    return layout.done(ctx, here, user_acts.page_of(id_), notice)


# console.user_access.show_password
async def show_password(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Ask for a new password."""
    user = await user_acts.target(ctx, id_, "set-password")
    rules = sign_in_methods.password_rules(ctx)
    return user_acts.show_form(ctx, user, "password", "password.html", ui_locales, **rules)


# console.user_access.set_password
async def set_password(ctx: Context, id_: str, body: shapes.ConsolePasswordForm) -> Redirect:
    """Set the password."""
    here = view(ctx)
    await users.set_password(ctx, id_, body["newPassword"])
    return layout.done(ctx, here, user_acts.page_of(id_), "password-set")


# console.user_access.send_password_reset
async def send_password_reset(ctx: Context, id_: str, body: shapes.ConsoleUserForm) -> Redirect:
    """Send the user a link that sets a password."""
    here = view(ctx)
    await user_access.send_password_reset(ctx, id_, None)
    return layout.done(ctx, here, user_acts.page_of(id_), "reset-sent")


# console.user_access.show_second_factor
async def show_second_factor(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Ask for confirmation before the second factor is reset."""
    user = await user_acts.target(ctx, id_, "reset-two-factor")
    return user_acts.show_form(ctx, user, "second-factor", "second_factor.html", ui_locales)


# console.user_access.reset_second_factor
async def reset_second_factor(ctx: Context, id_: str, body: shapes.ConsoleUserForm) -> Redirect:
    """Reset the second factor."""
    here = view(ctx)
    await users.reset_two_factor(ctx, id_)
    return layout.done(ctx, here, user_acts.page_of(id_), "second-factor-reset")


# console.user_access.show_disconnect
async def show_disconnect(
    ctx: Context, id_: str, connection: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Ask for confirmation before an account at a provider is disconnected."""
    user = await user_acts.target(ctx, id_, "remove-access")
    here = view(ctx, None, ui_locales)
    accounts = await user_access.list_accounts(ctx, id_)
    account = next((row for row in accounts if row.id == connection), None)
    if account is None:
        return layout.done(ctx, here, user_acts.page_of(id_), "account-gone")
    return user_acts.show_form(
        ctx,
        user,
        "disconnect",
        "disconnect.html",
        ui_locales,
        query={"connection": connection},
        connection=account,
        name=provider_name(here, account.provider_id),
    )


# console.user_access.disconnect
async def disconnect(ctx: Context, id_: str, body: shapes.ConsoleDisconnectForm) -> Redirect:
    """Disconnect an account at a provider."""
    here = view(ctx)
    try:
        await user_access.unlink_account(ctx, id_, body["connection"])
    except AccountNotFound:
        return layout.done(ctx, here, user_acts.page_of(id_), "account-gone")
    return layout.done(ctx, here, user_acts.page_of(id_), "account-disconnected")


# console.user_access.show_passkey
async def show_passkey(
    ctx: Context, id_: str, passkey: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Ask for confirmation before a passkey is removed."""
    user = await user_acts.target(ctx, id_, "remove-access")
    one = next((row for row in await user_access.list_passkeys(ctx, id_) if row.id == passkey), None)
    if one is None:
        return layout.done(ctx, view(ctx, None, ui_locales), user_acts.page_of(id_), "passkey-gone")
    return user_acts.show_form(
        ctx,
        user,
        "remove-passkey",
        "remove_passkey.html",
        ui_locales,
        query={"passkey": passkey},
        passkey=one,
    )


# console.user_access.remove_passkey
async def remove_passkey(ctx: Context, id_: str, body: shapes.ConsolePasskeyForm) -> Redirect:
    """Remove a passkey."""
    here = view(ctx)
    try:
        await user_access.remove_passkey(ctx, id_, body["passkey"])
    except PasskeyNotFound:
        return layout.done(ctx, here, user_acts.page_of(id_), "passkey-gone")
    return layout.done(ctx, here, user_acts.page_of(id_), "passkey-removed")
