"""Delete the caller's account."""

from sqlalchemy import delete
from sqlmodel import col

from domain import one_time_tokens
from domain.audit import record
from domain.backchannel_logout import filing
from domain.context import Context
from domain.organizations import departure
from domain.passwords import passwords
from domain.rate_limits import limits
from domain.sessions import expiry
from domain.sessions.errors import SessionExpired
from domain.user_deletion import events, mails
from domain.user_deletion.errors import InvalidDeletionToken
from domain.user_deletion.policy import DeletionPolicy
from domain.users import admins, locking
from domain.users import events as user_events
from domain.webhooks import publication
from models import Purpose, User
from models.user import UserRow

_MAILS = limits.MailFamily("delete-account")


async def delete_user(
    ctx: Context, *, password: str | None, token: str | None, callback_url: str | None
) -> bool:
    """Delete the caller, or email them a deletion link if the settings require it and `token` is None.

    Return whether the caller was deleted. `callback_url` is the redirect URL of the link. Raises InvalidPassword,
    Limited, Overloaded, LastAdmin, YouCannotLeaveTheOrganizationAsTheOnlyOwner, InvalidDeletionToken, and
    SessionExpired if there is no password and the session is not fresh.
    """
    checked = await passwords.check(ctx, password) if password is not None else None
    is_admin = await admins.lock(ctx, ctx.signed_in.user.id)
    user = await passwords.lock_caller(ctx, checked)
    await admins.refuse_last(ctx, user, locked=is_admin)  # defence: ADM13 own-deletion
    await departure.check(ctx, user.id)
    if token is not None:
        await _consume(ctx, user, token)
    elif ctx.policy[DeletionPolicy].confirm_by_mail:
        await _mail_confirmation(ctx, user, callback_url)
        return False
    elif checked is None and not expiry.is_fresh(ctx):
        raise SessionExpired
    await remove(ctx, user)
    user_events.user_deleted(ctx, user.id)
    return True


async def confirm(ctx: Context, token: str | None) -> None:
    """Delete the caller with an emailed token.

    Raises LastAdmin, YouCannotLeaveTheOrganizationAsTheOnlyOwner, and InvalidDeletionToken. The token of another user
    stays valid.
    """
    is_admin = await admins.lock(ctx, ctx.signed_in.user.id)
    user = await locking.lock_caller(ctx)  # defence: V85 lock-caller
    await admins.refuse_last(ctx, user, locked=is_admin)  # defence: ADM13 mailed-deletion
    await _consume(ctx, user, token)  # defence: V85 consume-token
    await remove(ctx, user)
    user_events.user_deleted(ctx, user.id)


async def is_deletion_token(ctx: Context, token: str) -> bool:
    """Return whether an emailed token would delete the caller now, without consuming it."""
    row = await one_time_tokens.find_live(ctx, Purpose.DELETE, token)
    return row is not None and row[1].id == ctx.signed_in.user.id


async def _consume(ctx: Context, user: UserRow, token: str | None) -> None:
    if not token or not await one_time_tokens.consume(ctx, Purpose.DELETE, user.id, token):
        raise InvalidDeletionToken


async def _mail_confirmation(ctx: Context, user: UserRow, callback_url: str | None) -> None:
    if await limits.may_mail(ctx, _MAILS, user.email):  # defence: V74 deletion-mails
        expires_in = ctx.policy[DeletionPolicy].token_expires_in
        token = await one_time_tokens.issue(ctx, Purpose.DELETE, user.id, expires_in=expires_in)
        mails.delete_account(ctx, user, token, callback_url)
    events.user_deletion_requested(ctx)


async def remove(ctx: Context, user: UserRow, *, hands_over: bool = False) -> None:
    """Delete a locked user with their accounts, sessions, tokens, memberships and queued emails.

    Audit records keep the user's id, but lose the network address and User-Agent. If the user is the only owner of an
    organization with other members, raises YouCannotLeaveTheOrganizationAsTheOnlyOwner; with `hands_over` another
    member becomes its owner instead.
    """
    await departure.leave_all(ctx, user.id, hands_over=hands_over)
    await record.anonymise(ctx, user.id)
    await publication.erase(ctx, user.id)
    await filing.file_all(ctx, user.id)
    await ctx.db.execute(delete(User).where(col(User.id) == user.id))  # defence: V35 V36 delete-user
