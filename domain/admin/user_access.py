"""Read and change how other users can sign in, for administrators: linked accounts, passkeys, password links.

Also exports the data of a user.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select
from sqlmodel import col

from domain import errors, one_time_tokens
from domain.accounts import accounts
from domain.admin import changes, events, permissions, targets
from domain.admin.errors import (
    YouAreNotAllowedToGetUser,
    YouAreNotAllowedToRemoveUsersAccess,
    YouAreNotAllowedToUpdateUsers,
)
from domain.admin.policy import AdminPolicy
from domain.context import Context
from domain.data_export import export
from domain.passkeys import passkeys
from domain.passwords import passwords
from domain.ports import SearchTimedOut
from models import Account, Audit, Purpose, User
from models.account import AccountRow
from models.passkey import Passkey, PasskeyRow
from models.statements import is_any
from models.user import UserRow

_SIGNED_IN = "sign_in.succeeded"

_LAST_SIGN_IN = (
    select(col(Audit.time))
    .where(
        col(Audit.user_id) == col(User.id),
        # An expression, so that no index of events is used: that of users has few rows to look at.
        col(Audit.event).concat("") == _SIGNED_IN,
        col(Audit.outcome) == "success",
    )
    .order_by(col(Audit.time).desc())
    .limit(1)
    .scalar_subquery()
)
_PROVIDERS = (
    select(func.aggregate_strings(col(Account.provider_id), "\n"))
    .where(col(Account.user_id) == col(User.id))
    .scalar_subquery()
)
_PASSKEYS = select(func.count()).where(col(Passkey.user_id) == col(User.id)).scalar_subquery()
_SIGN_IN_METHODS = select(col(User.id), _PROVIDERS, _PASSKEYS, _LAST_SIGN_IN).where(
    is_any(User.id, "user_ids")
)
"""The ids of the providers, a line each, the number of passkeys, and the last sign-in of the users `user_ids`."""


class SignInMethods(NamedTuple):
    """How a user can sign in, and when they last did."""

    providers: Sequence[str] = ()
    """Provider ids in alphabetical order; `credential` for a password."""
    passkeys: int = 0
    last_sign_in: datetime | None = None


async def list_accounts(ctx: Context, user_id: str) -> list[AccountRow]:
    """Return the accounts with which a user can sign in, oldest first.

    Raises YouAreNotAllowedToGetUser, TwoFactorRequired, UserNotFound.
    """
    permissions.require(ctx, "user", "get", YouAreNotAllowedToGetUser)
    return await accounts.of_user(ctx, (await targets.existing(ctx, user_id)).id)


async def list_passkeys(ctx: Context, user_id: str) -> list[PasskeyRow]:
    """Return the passkeys of a user, oldest first.

    Raises YouAreNotAllowedToGetUser, TwoFactorRequired, UserNotFound.
    """
    permissions.require(ctx, "user", "get", YouAreNotAllowedToGetUser)
    return await passkeys.of_user(ctx, (await targets.existing(ctx, user_id)).id)


async def unlink_account(ctx: Context, user_id: str, account_id: str) -> None:
    """Remove a linked account of another user, or the password, and revoke their sessions.

    Raises YouAreNotAllowedToRemoveUsersAccess, TwoFactorRequired, SessionNotFresh, UserNotFound, AccountNotFound,
    FailedToUnlinkLastAccount.
    """
    user = await _lock(ctx, user_id)
    await accounts.unlink_of(ctx, user, account_id)
    await _end_access(ctx, user)


async def remove_passkey(ctx: Context, user_id: str, passkey_id: str) -> None:
    """Remove a passkey of another user, and revoke their sessions.

    Raises YouAreNotAllowedToRemoveUsersAccess, TwoFactorRequired, SessionNotFresh, UserNotFound, PasskeyNotFound,
    FailedToDeleteLastPasskey.
    """
    user = await _lock(ctx, user_id)
    await passkeys.remove_from(ctx, user, passkey_id)
    await _end_access(ctx, user)


async def _lock(ctx: Context, user_id: str) -> UserRow:
    error = YouAreNotAllowedToRemoveUsersAccess
    permissions.require(ctx, "user", "set-password", error, fresh=True)
    targets.refuse_own(ctx, user_id, error)
    return await targets.locked(ctx, user_id, error)


async def _end_access(ctx: Context, user: UserRow) -> None:
    """Revoke the sessions, and the sign-ins that wait for a second factor, because the removed way may have begun
    them."""
    await one_time_tokens.revoke(ctx, user.id, Purpose.CHALLENGE, Purpose.MAIL_CODE)
    await changes.revoke_sessions(ctx, user)


async def send_password_reset(ctx: Context, user_id: str, redirect_to: str | None) -> None:
    """Send a user a link that sets a password; the link leads to `redirect_to`, by default to the hosted page.

    Raises YouAreNotAllowedToUpdateUsers, TwoFactorRequired, UserNotFound, ResetPasswordDisabled, Limited.
    """
    error = YouAreNotAllowedToUpdateUsers
    permissions.require(ctx, "user", "update", error)
    await passwords.send_reset(ctx, await targets.locked(ctx, user_id, error), redirect_to)


async def export_user(ctx: Context, user_id: str) -> export.Held:
    """Return all stored data about a user, as the user may read it; record that the caller has read it.

    Raises YouAreNotAllowedToGetUser, TwoFactorRequired, SessionNotFresh, UserNotFound.
    """
    error = YouAreNotAllowedToGetUser
    permissions.require(ctx, "user", "get", error, fresh=True)
    # The sessions of the user are a part of the data.
    permissions.require(ctx, "session", "list", error)
    user = await targets.existing(ctx, user_id)
    permissions.check_rank(ctx, user, error)
    events.user_exported(ctx, user.id)
    return await export.export_for(ctx, user.id)


async def methods_of(ctx: Context, users: Sequence[UserRow]) -> Mapping[str, SignInMethods]:
    """Return how each of these users can sign in, and when they last did, by user id. Raises Unavailable."""
    ids = [user.id for user in users]
    if not ids:
        return {}
    try:
        [found] = await ctx.resources.database.search(
            [_SIGN_IN_METHODS], ctx.policy[AdminPolicy].scan_timeout, is_scan=False, user_ids=ids
        )
    except SearchTimedOut:
        raise errors.Unavailable from None
    by_user = {
        user_id: SignInMethods(sorted(providers.split("\n")) if providers else (), passkeys, last_sign_in)
        for user_id, providers, passkeys, last_sign_in in found
    }
    return {user_id: by_user.get(user_id, SignInMethods()) for user_id in ids}
