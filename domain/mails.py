"""One function per message, adding an outbox row: to whom, which template, which values (behaviour 8.2)."""

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Protocol

from domain import links, outbox
from domain.context import Context
from models import MailState, Outbox


class Addressee(Protocol):
    """The user a mail is for: a `User` or a `UserRow`."""

    @property
    def id(self) -> str:
        """The user's id; queued mail goes when the user goes (behaviour 5.4)."""

    @property
    def name(self) -> str:
        """What to call the user."""

    @property
    def email(self) -> str:
        """The stored address."""


def reset_password(ctx: Context, user: Addressee, token: str, redirect_to: str | None) -> None:
    """Mail the link that lets the user choose a new password."""
    link = links.public(ctx.policy, f"/reset-password/{token}", callbackURL=redirect_to)
    lives = ctx.policy.reset_token_expires_in
    _file(ctx, "reset-password", user, sender=ctx.policy.reset_sender, link=link, lives=lives)


def verify_email(ctx: Context, user: Addressee, token: str, callback_url: str | None) -> None:
    """Mail the link that proves the stored address."""
    link = links.public(ctx.policy, "/verify-email", token=token, callbackURL=callback_url)
    _file(ctx, "verify-email", user, link=link, lives=ctx.policy.verification_token_expires_in)


def change_email(ctx: Context, user: Addressee, new_email: str, token: str, callback_url: str | None) -> None:
    """Mail the link that makes `new_email` the user's address; it goes there, so it was validated before."""
    link = links.public(ctx.policy, "/verify-email", token=token, callbackURL=callback_url)
    lives = ctx.policy.verification_token_expires_in
    _file(ctx, "change-email", user, to=new_email, link=link, lives=lives)


def delete_account(ctx: Context, user: Addressee, token: str, callback_url: str | None) -> None:
    """Mail the link that deletes the user."""
    link = links.public(ctx.policy, "/delete-user/callback", token=token, callbackURL=callback_url)
    _file(ctx, "delete-account", user, link=link, lives=ctx.policy.delete_user_token_expires_in)


def existing_account(ctx: Context, user: Addressee) -> None:
    """Tell the owner of an address that somebody tried to sign up with it."""
    _file(ctx, "existing-account", user)


def password_changed(ctx: Context, user: Addressee) -> None:
    """Notice: the password was changed or reset."""
    if ctx.policy.send_email_notifications:
        _file(ctx, "password-changed", user)


def email_changed(ctx: Context, user: Addressee, old_email: str) -> None:
    """Notice to the old address: it is the user's no more."""
    if ctx.policy.send_email_notifications:
        _file(ctx, "email-changed", user, to=old_email)


def otp(ctx: Context, user: Addressee, code: str) -> None:
    """Mail a code of the second factor, without a link (behaviour 8.2)."""
    _file(ctx, "otp", user, code=code, lives=ctx.policy.two_factor.otp_expires_in)


def two_factor_changed(ctx: Context, user: Addressee, *, enabled: bool) -> None:
    """Notice: the second factor was switched on or off."""
    if ctx.policy.send_email_notifications:
        _file(ctx, "two-factor-changed", user, switched="on" if enabled else "off")


def second_factor_locked(ctx: Context, user: Addressee, until: datetime) -> None:
    """Notice: wrong codes have locked the second factor until that moment; it is worth reading later, too."""
    if ctx.policy.send_email_notifications:
        _file(ctx, "second-factor-locked", user, until=until.isoformat())


def file_reset_request(ctx: Context, email: str, redirect_to: str | None) -> None:
    """File that somebody asked for a reset of `email`; the worker looks for the user (behaviour 8.1)."""
    _file_request(ctx, "reset-password", ctx.policy.reset_sender, email, redirect_to)


def file_verification_request(ctx: Context, email: str, callback_url: str | None) -> None:
    """File that somebody without a session asked for the verification of `email` (behaviour 8.1)."""
    _file_request(ctx, "verify-email", ctx.policy.mail_sender, email, callback_url)


def _file(
    ctx: Context,
    template: str,
    user: Addressee,
    *,
    to: str | None = None,
    sender: str | None = None,
    lives: timedelta | None = None,
    **values: str,
) -> None:
    """Add a mail for the user, by `mail.sender` and to the stored address unless said otherwise.

    `lives` says how long its link or code works; `values` are what the template shows: link, code, until, switched.
    """
    expires_at = None if lives is None else ctx.now + lives
    payload: outbox.Payload = {
        "to": user.email if to is None else to,
        "name": user.name,
        "link": None,
        "code": None,
        "expires": None if expires_at is None else expires_at.isoformat(),
        **values,
    }
    row = outbox.row(ctx, template, sender or ctx.policy.mail_sender, payload, expires_at)
    row.user_id = user.id
    _add(ctx, row)


def _file_request(ctx: Context, template: str, sender: str, email: str, target: str | None) -> None:
    row = outbox.row(ctx, template, sender, {"email": email, "target": target, **asdict(ctx.client)})
    row.state = MailState.UNRESOLVED
    _add(ctx, row)


def _add(ctx: Context, row: Outbox) -> None:
    if row.sender != "none":
        ctx.outbox.append(row)
