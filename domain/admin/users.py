"""The operations of administrators on one user. The permission is checked first, then the rank, then the fields."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from domain.admin import changes, permissions, targets
from domain.admin.errors import (
    YouAreNotAllowedToBanUsers,
    YouAreNotAllowedToChangeUsersRole,
    YouAreNotAllowedToDeleteUsers,
    YouAreNotAllowedToGetUser,
    YouAreNotAllowedToResetTwoFactor,
    YouAreNotAllowedToSetUsersPassword,
    YouCannotBanYourself,
    YouCannotRemoveYourself,
)
from domain.admin.policy import AdminPolicy
from domain.context import Context
from domain.passwords import passwords, strength
from domain.passwords.policy import PasswordPolicy
from domain.users import admins, roles
from domain.users.policy import RolePolicy
from models.user import UserRow


async def get_user(ctx: Context, user_id: str) -> UserRow:
    """Return a user. Raises YouAreNotAllowedToGetUser, TwoFactorRequired, UserNotFound."""
    permissions.require(ctx, "user", "get", YouAreNotAllowedToGetUser)
    return await targets.existing(ctx, user_id)


def has_permission(ctx: Context, statements: Mapping[str, Sequence[str]]) -> bool:
    """Return whether one role of the caller grants all of these permissions, the actions by resource."""
    user = ctx.signed_in.user  # defence: ADM18 caller
    has_factor = user.two_factor_enabled or not ctx.policy[RolePolicy].require_two_factor
    return has_factor and roles.grants(ctx.policy, user.role, statements)


async def set_role(
    ctx: Context, user_id: str, role: str | Sequence[str], *, seen: str | None = None
) -> UserRow:
    """Replace the roles of a user; return the updated user. `seen` is the `targets.version` that a form was shown with.

    Raises YouAreNotAllowedToChangeUsersRole, TwoFactorRequired, SessionNotFresh, ValidationError (an empty name or too
    many roles), YouAreNotAllowedToSetNonExistentValue (an unknown role), UserNotFound, LastAdmin, StaleProfile.
    """
    error = YouAreNotAllowedToChangeUsersRole
    permissions.require(ctx, "user", "set-role", error, fresh=True)
    names = permissions.role_names(ctx, role)
    user = await targets.locked(ctx, user_id, error, may_lose_roles=True)
    if seen is not None:
        targets.check_version(user, seen, changes=set(names) != set(roles.split(user.role)))
    await targets.check_new_roles(ctx, user, names)
    return await changes.set_roles(ctx, user, names)


async def set_password(ctx: Context, user_id: str, new: str) -> None:
    """Set the password of another user, and revoke their sessions and OAuth grants.

    Raises YouAreNotAllowedToSetUsersPassword, TwoFactorRequired, SessionNotFresh, PasswordTooLong, PasswordTooShort,
    PasswordTooCommon, UserNotFound, Overloaded.
    """
    error = YouAreNotAllowedToSetUsersPassword
    permissions.require(ctx, "user", "set-password", error, fresh=True)
    targets.refuse_own(ctx, user_id, error)
    strength.check_length(ctx.policy[PasswordPolicy], new)
    target = await targets.existing(ctx, user_id)
    # Before the costly hash, and again under the lock, because roles can change meanwhile.
    permissions.check_rank(ctx, target, error)
    hashed = await passwords.hash_for(ctx, target, new)
    await changes.set_password(ctx, await targets.locked(ctx, user_id, error), hashed)


async def reset_two_factor(ctx: Context, user_id: str) -> UserRow:
    """Disable the second factor of another user, and revoke their sessions; return the updated user.

    Raises YouAreNotAllowedToResetTwoFactor, TwoFactorRequired, SessionNotFresh, UserNotFound.
    """
    error = YouAreNotAllowedToResetTwoFactor
    permissions.require(ctx, "user", "reset-two-factor", error, fresh=True)
    targets.refuse_own(ctx, user_id, error)
    user, _ = await changes.reset_two_factor(ctx, await targets.locked(ctx, user_id, error))
    return user


async def ban_user(
    ctx: Context,
    user_id: str,
    reason: str | None,
    lasts: timedelta | None,
    *,
    for_good: bool = False,
    seen: str | None = None,
) -> UserRow:
    """Ban a user for a time or permanently, and revoke their sessions; return the updated user.

    Without `lasts`, the ban is permanent if `for_good`, and otherwise lasts `admin.default_ban_expires_in`. `seen` is
    the `targets.version` that a form was shown with.

    Raises YouAreNotAllowedToBanUsers, TwoFactorRequired, UserNotFound, YouCannotBanYourself, LastAdmin, StaleProfile.
    """
    error = YouAreNotAllowedToBanUsers
    permissions.require(ctx, "user", "ban", error)
    user = await targets.locked(ctx, user_id, error, may_lose_roles=True)
    # A stolen session must not be able to shut its owner out.
    if targets.is_own(ctx, user_id):  # defence: ADM14 own-ban
        raise YouCannotBanYourself
    await admins.refuse_last(ctx, user)
    if seen is not None:
        targets.check_version(user, seen, changes=True)
    policy = ctx.policy[AdminPolicy]
    lasts = lasts or (timedelta() if for_good else policy.default_ban_expires_in)
    until = ctx.now + lasts if lasts else None
    changed, _ = await changes.ban(ctx, user, reason=reason or policy.default_ban_reason, until=until)
    return changed


async def unban_user(ctx: Context, user_id: str, *, seen: str | None = None) -> UserRow:
    """Lift the ban of a user; return the updated user. `seen` is the `targets.version` that a form was shown with.

    Raises YouAreNotAllowedToBanUsers, TwoFactorRequired, UserNotFound, StaleProfile.
    """
    permissions.require(ctx, "user", "ban", YouAreNotAllowedToBanUsers)
    user = await targets.locked(ctx, user_id, YouAreNotAllowedToBanUsers)
    if seen is not None:
        targets.check_version(user, seen, changes=True)
    return await changes.unban(ctx, user)


async def remove_user(ctx: Context, user_id: str) -> None:
    """Delete a user and all their data.

    Raises YouAreNotAllowedToDeleteUsers, TwoFactorRequired, SessionNotFresh, UserNotFound, YouCannotRemoveYourself,
    LastAdmin, YouCannotLeaveTheOrganizationAsTheOnlyOwner.
    """
    error = YouAreNotAllowedToDeleteUsers
    permissions.require(ctx, "user", "delete", error, fresh=True)
    if targets.is_own(ctx, user_id):  # defence: ADM14 own-removal
        raise YouCannotRemoveYourself
    user = await targets.locked(ctx, user_id, error, may_lose_roles=True)
    await admins.refuse_last(ctx, user)
    await changes.delete(ctx, user)
