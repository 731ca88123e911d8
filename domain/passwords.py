"""Passwords: check, replace a forgotten one, change a known one (interface 4.3; behaviour 5.3)."""

from typing import NoReturn

from domain import (
    accounts,
    audit,
    errors,
    grants,
    limits,
    mails,
    new_password,
    sessions,
    trusted_devices,
    users,
)
from domain.context import Context, Outdated
from models import Purpose, User
from models.queries import PASSWORD_BY_USER, UserRow

DIES_WITH_PASSWORD = (
    Purpose.RESET,
    Purpose.CHANGE_EMAIL,
    Purpose.DELETE,
    Purpose.CHALLENGE,
    Purpose.MAIL_CODE,
)
"""What an intruder may have got with the old password."""


async def check(ctx: Context, password: str) -> str:
    """Check the caller's current password; give its stored hash. The one check of a signed-in user's password.

    Raises InvalidPassword, for a user without a password too, after the same work; Limited, Overloaded.
    """
    return await _verify(ctx, password, await _stored(ctx))


async def _stored(ctx: Context) -> str | None:
    found = await ctx.reads.one(PASSWORD_BY_USER, ctx.signed_in.user.id)
    return found.hash if found is not None else None


async def _verify(ctx: Context, password: str, stored: str | None) -> str:
    whose = limits.Whose(ctx.signed_in.user.id)
    await limits.check(ctx, whose)
    if not await ctx.hasher.verify(password, stored) or stored is None:
        await limits.count_failure(ctx, whose)
        audit.password_check_failed(ctx, errors.InvalidPassword)
        raise errors.InvalidPassword
    await limits.check(ctx, whose)
    return stored


async def lock_caller(ctx: Context, checked: str | None) -> User:
    """Give the caller's row, locked, with the password hash that was `checked` before still in place.

    Raises Outdated when another change was faster, so that the request is run again against the new password.
    """
    user = await users.lock_caller(ctx)
    if checked is not None and await accounts.password_of(ctx, user.id) != checked:
        raise Outdated
    return user


def request_reset(ctx: Context, email: str, redirect_to: str | None) -> None:
    """File the wish for a reset link; who it is for is looked up in the background.

    Raises ResetPasswordDisabled, for every address, when no sender for reset mails is configured.
    """
    if ctx.policy.reset_sender == "none":
        raise errors.ResetPasswordDisabled
    mails.file_reset_request(ctx, email.lower(), redirect_to)


async def resolve_reset(ctx: Context, email: str, redirect_to: str | None) -> None:
    """In the background: send the reset link if there is such a user, with or without a password."""
    user = await users.lock_by_email(ctx, email)
    audit.password_reset_requested(ctx, user, email)
    if user is None or not await limits.may_mail(ctx, "links", user.email):
        return
    expires_in = ctx.policy.reset_token_expires_in
    token = await grants.issue(ctx, Purpose.RESET, user.id, expires_in=expires_in)
    mails.reset_password(ctx, user, token, redirect_to)


async def is_reset_token(ctx: Context, token: str) -> bool:
    """Whether the token would reset a password now; it is not used up."""
    return await grants.find_live(ctx, Purpose.RESET, token) is not None


async def reset(ctx: Context, token: str | None, new: str) -> User:
    """Replace a forgotten password; the mailed token works once, and only in time.

    Raises InvalidResetToken, PasswordTooLong, PasswordTooShort, PasswordTooCommon; none of them burns the token.
    """
    if not token:
        _refuse_token(ctx, None)
    new_password.check_length(ctx.policy.password, new)
    found = await grants.find_live(ctx, Purpose.RESET, token)
    if found is None:
        _refuse_token(ctx, None)
    _check_common(ctx, new, found[1])
    hashed = await ctx.hasher.hash(new)
    user = await users.lock(ctx, found[1].id)
    if user is None or not await grants.consume(ctx, Purpose.RESET, user.id, token):
        _refuse_token(ctx, found[1].id)
    await _set(ctx, user, hashed)
    if not user.email_verified:
        # Who opened the mailed link owns the mailbox. Who joined these identities may not: they could be a stranger's.
        await accounts.drop_identities(ctx, user.id)
    await limits.forgive(ctx, user.id)
    ended = await sessions.end_all(ctx, user) if ctx.policy.reset_revokes_sessions else 0
    audit.password_reset_completed(ctx, user.id, ended)
    return user


def _refuse_token(ctx: Context, user_id: str | None) -> NoReturn:
    audit.password_reset_failed(ctx, user_id, errors.InvalidResetToken)
    raise errors.InvalidResetToken


async def change(
    ctx: Context, current: str | None, new: str, *, revoke_others: bool
) -> sessions.OpenedSession | None:
    """Replace the caller's known password. With `revoke_others` every session ends and the one made now is given.

    Raises PasswordTooLong, PasswordTooShort, CredentialAccountNotFound, InvalidPassword, PasswordTooCommon, Limited.
    """
    caller = ctx.signed_in
    new_password.check_length(ctx.policy.password, new)
    stored = await _check_current(ctx, current)
    _check_common(ctx, new, caller.user)
    hashed = await ctx.hasher.hash(new)
    user = await lock_caller(ctx, stored)
    await _set(ctx, user, hashed)
    audit.password_changed(ctx, user.id)
    if not revoke_others:
        return None
    audit.sessions_revoked_all(ctx, user.id, await sessions.end_all(ctx, user))
    opened = await sessions.create(ctx, user, remembered=caller.session.remembered, method="password")
    audit.session_created(ctx, opened.session.id, "password")
    return opened


def _check_common(ctx: Context, new: str, user: UserRow) -> None:
    new_password.check_common(ctx.policy, new, email=user.email, username=user.username, name=user.name)


async def _check_current(ctx: Context, current: str | None) -> str:
    stored = await _stored(ctx)
    if stored is None:
        await limits.check(ctx, limits.Whose(ctx.signed_in.user.id))
        await ctx.hasher.verify(current or "", None)
        raise errors.CredentialAccountNotFound
    if current is None and not ctx.policy.require_current_password:
        return stored
    return await _verify(ctx, current or "", stored)


async def _set(ctx: Context, user: User, hashed: str) -> None:
    await accounts.set_password(ctx, user.id, hashed)
    await grants.revoke(ctx, user.id, *DIES_WITH_PASSWORD)
    await trusted_devices.forget_all(ctx, user.id)
    if await limits.may_notify(ctx, user.email, is_verified=user.email_verified):
        mails.password_changed(ctx, user)
