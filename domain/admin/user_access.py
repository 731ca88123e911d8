"""How another user signs in: read it, remove a way to sign in, send a link that sets a password; export their data."""

from domain import one_time_tokens
from domain.accounts import accounts
from domain.admin import changes, events, permissions, targets
from domain.admin.errors import (
    YouAreNotAllowedToGetUser,
    YouAreNotAllowedToRemoveUsersAccess,
    YouAreNotAllowedToUpdateUsers,
)
from domain.context import Context
from domain.data_export import export
from domain.passkeys import passkeys
from domain.passwords import passwords
from models import Purpose
from models.account import AccountRow
from models.passkey import PasskeyRow
from models.user import UserRow


async def list_accounts(ctx: Context, user_id: str) -> list[AccountRow]:
    """Return the accounts with which a user can sign in, oldest first.

    Raises YouAreNotAllowedToGetUser, UserNotFound.
    """
    permissions.require(ctx, "user", "get", YouAreNotAllowedToGetUser)
    return await accounts.of_user(ctx, (await targets.existing(ctx, user_id)).id)


async def list_passkeys(ctx: Context, user_id: str) -> list[PasskeyRow]:
    """Return the passkeys of a user, oldest first. Raises YouAreNotAllowedToGetUser, UserNotFound."""
    permissions.require(ctx, "user", "get", YouAreNotAllowedToGetUser)
    return await passkeys.of_user(ctx, (await targets.existing(ctx, user_id)).id)


async def unlink_account(ctx: Context, user_id: str, account_id: str) -> None:
    """Remove an account from another user, and revoke their sessions.

    Raises the refusals of permissions and rank, UserNotFound, AccountNotFound, FailedToUnlinkLastAccount.
    """
    user = await _lock(ctx, user_id)
    await accounts.unlink_of(ctx, user, account_id)
    await _end_access(ctx, user)


async def remove_passkey(ctx: Context, user_id: str, passkey_id: str) -> None:
    """Remove a passkey of another user, and revoke their sessions.

    Raises the refusals of permissions and rank, UserNotFound, PasskeyNotFound, FailedToDeleteLastPasskey.
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
    """Send a user a link that sets a password.

    Raises the refusals of permissions and rank, UserNotFound, ResetPasswordDisabled, Limited.
    """
    error = YouAreNotAllowedToUpdateUsers
    permissions.require(ctx, "user", "update", error)
    await passwords.send_reset(ctx, await targets.locked(ctx, user_id, error), redirect_to)


async def export_user(ctx: Context, user_id: str) -> export.Held:
    """Return all stored data about a user, as the user may read it.

    Raises the refusals of permissions and rank, UserNotFound.
    """
    error = YouAreNotAllowedToGetUser
    permissions.require(ctx, "user", "get", error, fresh=True)
    permissions.require(ctx, "session", "list", error)
    user = await targets.existing(ctx, user_id)
    permissions.check_rank(ctx, user, error)
    events.user_exported(ctx, user.id)
    return await export.export_for(ctx, user.id)
