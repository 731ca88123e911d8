"""Deleting one's own account (interface 4.4; behaviour 5.4)."""

from sqlalchemy import delete
from sqlmodel import col

from domain import audit, errors, grants, limits, mails, passwords, users
from domain.context import Context
from models import Purpose, User


async def delete_user(
    ctx: Context, *, password: str | None, token: str | None, callback_url: str | None
) -> bool:
    """Delete the caller, or mail them a link that does; say whether they are deleted.

    Raises InvalidPassword, Limited, InvalidDeletionToken, SessionExpired (no password, and the session is not fresh).
    """
    checked = await passwords.check(ctx, password) if password is not None else None
    user = await passwords.lock_caller(ctx, checked)
    if token is not None:
        await _consume(ctx, user, token)
    elif ctx.policy.delete_user_confirm_by_mail:
        await _mail_confirmation(ctx, user, callback_url)
        return False
    elif checked is None and not _is_fresh(ctx):
        raise errors.SessionExpired
    await remove(ctx, user)
    audit.user_deleted(ctx, user.id)
    return True


async def confirm(ctx: Context, token: str | None) -> None:
    """Delete the caller by the mailed token. Raises InvalidDeletionToken; another user's token is not burned."""
    user = await users.lock_caller(ctx)
    await _consume(ctx, user, token)
    await remove(ctx, user)
    audit.user_deleted(ctx, user.id)


async def _consume(ctx: Context, user: User, token: str | None) -> None:
    if not token or not await grants.consume(ctx, Purpose.DELETE, user.id, token):
        raise errors.InvalidDeletionToken


async def _mail_confirmation(ctx: Context, user: User, callback_url: str | None) -> None:
    if await limits.may_mail(ctx, "delete-account", user.email):
        expires_in = ctx.policy.delete_user_token_expires_in
        token = await grants.issue(ctx, Purpose.DELETE, user.id, expires_in=expires_in)
        mails.delete_account(ctx, user, token, callback_url)
    audit.user_deletion_requested(ctx)


def _is_fresh(ctx: Context) -> bool:
    age = ctx.policy.session.fresh_age
    return not age or ctx.now - ctx.signed_in.session.created_at <= age


async def remove(ctx: Context, user: User) -> None:
    """Remove the row; the foreign keys take accounts, sessions, tokens and queued mail along.

    What is on record keeps the id, and loses where the user was.
    """
    await audit.anonymise(ctx, user.id)
    await ctx.db.execute(delete(User).where(col(User.id) == user.id))
