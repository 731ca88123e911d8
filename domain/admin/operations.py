"""The operations of administrators: the permission is checked first, then the rank over the user, then the rest.

Every change locks the user's row. What may leave nobody to administer the service locks the lease of administrators
before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from domain import identifiers, tokens
from domain.accounts import accounts
from domain.admin import changes, events, permissions
from domain.admin.errors import (
    EmailTaken,
    NoDataToUpdate,
    UserNotFound,
    YouAreNotAllowedToBanUsers,
    YouAreNotAllowedToChangeUsersRole,
    YouAreNotAllowedToCreateUsers,
    YouAreNotAllowedToDeleteUsers,
    YouAreNotAllowedToGetUser,
    YouAreNotAllowedToListUsersSessions,
    YouAreNotAllowedToResetTwoFactor,
    YouAreNotAllowedToRevokeUsersSessions,
    YouAreNotAllowedToSetUsersEmail,
    YouAreNotAllowedToSetUsersPassword,
    YouAreNotAllowedToUpdateUsers,
    YouCannotBanYourself,
    YouCannotRemoveYourself,
)
from domain.admin.policy import AdminPolicy
from domain.context import Context, StaleRead
from domain.emails import emails
from domain.errors import Forbidden
from domain.passwords import passwords, strength
from domain.passwords.policy import PasswordPolicy
from domain.sessions import events as session_events
from domain.sessions import sessions
from domain.sessions.sessions import HANDLE_PREFIX
from domain.two_factor import events as two_factor_events
from domain.two_factor import setup
from domain.user_deletion import deletion
from domain.users import events as user_events
from domain.users import locking, lookup, profile, roles
from domain.users.policy import RolePolicy
from models.queries import SessionRow, UserRow
from models.statements import FIND_SESSION


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user to create, already validated against the contract; `role` is None without one in the request."""

    email: str
    name: str
    password: str | None = field(repr=False)
    role: str | Sequence[str] | None
    image: str | None
    username: str | None
    display_username: str | None
    email_verified: bool | None
    ban: Mapping[str, Any]
    """Any of the columns `banned`, `ban_reason` and `ban_expires`."""


async def get_user(ctx: Context, user_id: str) -> UserRow:
    """Return a user. Raises YouAreNotAllowedToGetUser, UserNotFound."""
    permissions.require(ctx, "user", "get", YouAreNotAllowedToGetUser)
    return await _existing(ctx, user_id)


async def list_sessions(ctx: Context, user_id: str) -> list[tuple[SessionRow, str]]:
    """Return the active sessions of a user, newest first, each with a handle; the caller's own has its token.

    Raises YouAreNotAllowedToListUsersSessions, UserNotFound.
    """
    error = YouAreNotAllowedToListUsersSessions
    permissions.require(ctx, "session", "list", error)
    permissions.check_rank(ctx, await _existing(ctx, user_id), error)
    events.sessions_listed(ctx, user_id)
    caller = ctx.signed_in
    return [
        # defence: ADM10 handles
        (row, caller.token if row.id == caller.session.id else HANDLE_PREFIX + row.id)
        for row in await sessions.of_user(ctx, user_id)
    ]


def has_permission(ctx: Context, wanted: Mapping[str, Sequence[str]]) -> bool:
    """Return whether one role of the caller grants all of the permissions."""
    user = ctx.signed_in.user  # defence: ADM18 caller
    has_factor = user.two_factor_enabled or not ctx.policy[AdminPolicy].require_two_factor
    return has_factor and roles.grants(ctx.policy, user.role, wanted)


async def create_user(ctx: Context, wanted: NewUser) -> UserRow:
    """Create a user by the rules of sign-up, even if sign-up is disabled; no session, no email.

    Raises the refusals of permissions, roles, email addresses, usernames and new passwords, and EmailTaken.
    """
    permissions.require(ctx, "user", "create", YouAreNotAllowedToCreateUsers)
    names = _roles_to_give(ctx, wanted.role)
    if wanted.ban:
        permissions.require(ctx, "user", "ban", YouAreNotAllowedToBanUsers)
    if wanted.email_verified is not None:
        permissions.require(ctx, "user", "set-email", YouAreNotAllowedToSetUsersEmail)
    email = identifiers.email(wanted.email)
    usernames = await profile.new_names(ctx, wanted.username, wanted.display_username)
    user = UserRow(
        id=tokens.token(),
        name=wanted.name,
        email=email,
        email_verified=bool(wanted.email_verified),
        image=wanted.image or None,
        two_factor_enabled=False,
        role=",".join(names),
        banned=False,
        ban_reason=None,
        ban_expires=None,
        username=usernames.username,
        display_username=usernames.display_username,
        created_at=ctx.now,
        updated_at=ctx.now,
    )._replace(**_ban_columns(ctx, wanted.ban))
    hashed = None
    if wanted.password is not None:
        strength.check_length(ctx.policy[PasswordPolicy], wanted.password)
        hashed = await passwords.hash_for(ctx, user, wanted.password)
    if await lookup.by_email(ctx, email) is not None:
        raise EmailTaken
    await profile.add(ctx, user)
    if hashed is not None:
        accounts.add_credential(ctx, user.id, hashed)
    user_events.user_created(ctx, user.id, "admin", actor_id=ctx.signed_in.user.id)
    return user


async def update_user(ctx: Context, user_id: str, data: Mapping[str, Any]) -> UserRow:
    """Change columns of a user, all or none; `data` has only columns that may be changed.

    Raises the refusals of permissions, rank, roles, email addresses and usernames, NoDataToUpdate, UserNotFound,
    YouCannotBanYourself, LastAdmin and EmailTaken.
    """
    fresh = bool(data.keys() & {"role", "email", "email_verified", *_BAN})
    permissions.require(ctx, "user", "update", YouAreNotAllowedToUpdateUsers, fresh=fresh)
    if not data:
        raise NoDataToUpdate
    names = permissions.role_names(ctx, data["role"]) if "role" in data else None
    ban = {name: data[name] for name in _BAN if name in data}
    if names is not None:  # defence: ADM2 set-role
        permissions.require(ctx, "user", "set-role", YouAreNotAllowedToChangeUsersRole)
    if ban:
        permissions.require(ctx, "user", "ban", YouAreNotAllowedToBanUsers)
    if "email" in data or "email_verified" in data:
        permissions.require(ctx, "user", "set-email", YouAreNotAllowedToSetUsersEmail)
    takes = names is not None or ban.get("banned") is True
    user = await _locked(ctx, user_id, YouAreNotAllowedToUpdateUsers, takes_role=takes)
    if names is not None:
        await _check_new_roles(ctx, user, names)
    is_own = user.id == ctx.signed_in.user.id
    if is_own and ban.get("banned") is True:  # defence: ADM14 own-update
        raise YouCannotBanYourself
    if is_own and ("email" in data or "email_verified" in data):  # defence: ADM14 own-email
        permissions.refuse(ctx, YouAreNotAllowedToSetUsersEmail)
    if ban.get("banned") is True and permissions.may_set_roles(ctx, user.role):
        await permissions.require_other_admin(ctx, user)
    user = await _change_profile(ctx, user, data)
    if names is not None:
        user = await changes.set_roles(ctx, user, names)
    return await _change_ban(ctx, user, ban) if ban else user


async def set_role(ctx: Context, user_id: str, wanted: str | Sequence[str]) -> UserRow:
    """Replace the roles of a user.

    Raises the refusals of permissions, rank and roles, UserNotFound, LastAdmin.
    """
    error = YouAreNotAllowedToChangeUsersRole
    permissions.require(ctx, "user", "set-role", error, fresh=True)
    names = permissions.role_names(ctx, wanted)
    user = await _locked(ctx, user_id, error, takes_role=True)
    await _check_new_roles(ctx, user, names)
    return await changes.set_roles(ctx, user, names)


async def set_password(ctx: Context, user_id: str, new: str) -> None:
    """Set the password of another user, with the effects of a reset, and revoke their sessions.

    Raises the refusals of permissions, rank and new passwords, UserNotFound, Overloaded.
    """
    error = YouAreNotAllowedToSetUsersPassword
    permissions.require(ctx, "user", "set-password", error, fresh=True)
    _refuse_own(ctx, user_id, error)
    strength.check_length(ctx.policy[PasswordPolicy], new)
    target = await _existing(ctx, user_id)
    permissions.check_rank(ctx, target, error)
    hashed = await passwords.hash_for(ctx, target, new)
    await changes.set_password(ctx, await _locked(ctx, user_id, error), hashed)


async def reset_two_factor(ctx: Context, user_id: str) -> UserRow:
    """Disable the second factor of another user, and revoke their sessions; return the updated user.

    Raises the refusals of permissions and rank, UserNotFound.
    """
    error = YouAreNotAllowedToResetTwoFactor
    permissions.require(ctx, "user", "reset-two-factor", error, fresh=True)
    _refuse_own(ctx, user_id, error)
    user = await _locked(ctx, user_id, error)
    if not await setup.remove(ctx, user):
        return user
    two_factor_events.two_factor_disabled(ctx, user.id)
    await sessions.end_all(ctx, user)
    return user._replace(two_factor_enabled=False, updated_at=ctx.now)


async def ban_user(ctx: Context, user_id: str, reason: str | None, lasts: timedelta | None) -> UserRow:
    """Ban a user for a time or permanently, and revoke their sessions; return the updated user.

    Raises the refusals of permissions and rank, UserNotFound, YouCannotBanYourself, LastAdmin.
    """
    error = YouAreNotAllowedToBanUsers
    permissions.require(ctx, "user", "ban", error)
    user = await _locked(ctx, user_id, error, takes_role=True)
    if user.id == ctx.signed_in.user.id:  # defence: ADM14 own-ban
        raise YouCannotBanYourself
    if permissions.may_set_roles(ctx, user.role):
        await permissions.require_other_admin(ctx, user)
    policy = ctx.policy[AdminPolicy]
    lasts = lasts or policy.default_ban_expires_in
    until = ctx.now + lasts if lasts else None
    changed, _ = await changes.ban(ctx, user, reason=reason or policy.default_ban_reason, until=until)
    return changed


async def unban_user(ctx: Context, user_id: str) -> UserRow:
    """Lift the ban of a user; return the updated user. Raises the refusals of permissions and rank, UserNotFound."""
    permissions.require(ctx, "user", "ban", YouAreNotAllowedToBanUsers)
    return await changes.unban(ctx, await _locked(ctx, user_id, YouAreNotAllowedToBanUsers))


async def revoke_session(ctx: Context, value: str) -> bool:
    """Revoke the session with this handle or token, whoever's it is; return whether it was the caller's current one.

    Unknown values have no effect. Raises the refusals of permissions and rank.
    """
    error = YouAreNotAllowedToRevokeUsersSessions
    permissions.require(ctx, "session", "revoke", error)
    session_id = value.removeprefix(HANDLE_PREFIX)
    if value == session_id:
        found = await sessions.find(ctx.reads, value)
        session_id = "" if found is None else found[0].id
    owner = (await ctx.db.execute(FIND_SESSION, id=session_id)).scalar()
    if owner is None:
        return False
    user = await _locked(ctx, owner, error)
    if await sessions.end(ctx, user, session_id):
        session_events.session_revoked(ctx, session_id, user_id=user.id)
    return session_id == ctx.signed_in.session.id


async def revoke_sessions(ctx: Context, user_id: str) -> int:
    """Revoke every session of a user; return how many were active, 0 for an unknown user.

    Raises the refusals of permissions and rank.
    """
    error = YouAreNotAllowedToRevokeUsersSessions
    permissions.require(ctx, "session", "revoke", error)
    user = await locking.lock(ctx, user_id)
    if user is None:
        return 0
    permissions.check_rank(ctx, user, error)
    ended = await sessions.end_all(ctx, user)
    session_events.sessions_revoked_all(ctx, user.id, ended)
    return ended


async def remove_user(ctx: Context, user_id: str) -> None:
    """Delete a user and all their data.

    Raises the refusals of permissions and rank, UserNotFound, YouCannotRemoveYourself, LastAdmin.
    """
    error = YouAreNotAllowedToDeleteUsers
    permissions.require(ctx, "user", "delete", error, fresh=True)
    if user_id == ctx.signed_in.user.id:  # defence: ADM14 own-removal
        raise YouCannotRemoveYourself
    user = await _locked(ctx, user_id, error, takes_role=True)
    if permissions.may_set_roles(ctx, user.role):
        await permissions.require_other_admin(ctx, user)
    await deletion.remove(ctx, user)
    user_events.user_deleted(ctx, user.id)


_BAN = ("banned", "ban_reason", "ban_expires")


async def _existing(ctx: Context, user_id: str) -> UserRow:
    user = await lookup.by_id(ctx, user_id)
    if user is None:
        raise UserNotFound
    return user


async def _locked(ctx: Context, user_id: str, error: type[Forbidden], *, takes_role: bool = False) -> UserRow:
    """Return a user the caller may act on, locked; `takes_role` says that they may lose `user: set-role`.

    Raises UserNotFound, and `error` if the user has powers that the caller lacks.
    """
    may_set_roles = False
    if takes_role:
        may_set_roles = permissions.may_set_roles(ctx, (await _existing(ctx, user_id)).role)
        if may_set_roles:
            await permissions.lock_admins(ctx)  # defence: ADM13 lock
    user = await locking.lock(ctx, user_id)
    if user is None:
        raise UserNotFound
    if takes_role and permissions.may_set_roles(ctx, user.role) and not may_set_roles:
        raise StaleRead  # The user became an administrator a moment ago.
    permissions.check_rank(ctx, user, error)
    return user


def _refuse_own(ctx: Context, user_id: str, error: type[Forbidden]) -> None:
    if user_id == ctx.signed_in.user.id:  # defence: ADM14 own-account
        permissions.refuse(ctx, error)


def _roles_to_give(ctx: Context, wanted: str | Sequence[str] | None) -> list[str]:
    if wanted is None:
        return [ctx.policy[RolePolicy].default_role]
    error = YouAreNotAllowedToChangeUsersRole
    permissions.require(ctx, "user", "set-role", error, fresh=True)  # defence: ADM2 new-user-role
    names = permissions.role_names(ctx, wanted)
    permissions.check_roles(ctx, names)
    return names


async def _check_new_roles(ctx: Context, user: UserRow, names: Sequence[str]) -> None:
    """Check that the caller may give and take the roles, and that somebody is left who may set roles."""
    permissions.check_roles(ctx, set(names) ^ set(roles.split(user.role)))
    if permissions.may_set_roles(ctx, user.role) and not permissions.may_set_roles(ctx, ",".join(names)):
        await permissions.require_other_admin(ctx, user)


async def _change_profile(ctx: Context, user: UserRow, data: Mapping[str, Any]) -> UserRow:
    plain = {name: data[name] for name in ("name", "image") if name in data}
    plain |= await profile.wanted_names(ctx, user, data)
    email = identifiers.email(data["email"]) if "email" in data else user.email
    is_verified = bool(data.get("email_verified", email == user.email and user.email_verified))
    if email != user.email:
        if await lookup.by_email(ctx, email) is not None:
            raise EmailTaken
        user = await emails.set_address(ctx, user, email, verified=is_verified)
    elif is_verified != user.email_verified:
        plain["email_verified"] = is_verified
    if plain:
        user = await profile.change(ctx, user, **plain)
        user_events.user_updated(ctx, user.id, plain)
    return user


def _ban_columns(ctx: Context, ban: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a ban as they are stored; without `banned` the other two have no effect."""
    if not ban.get("banned"):
        return {}
    reason = ban.get("ban_reason") or ctx.policy[AdminPolicy].default_ban_reason
    until: datetime | None = ban.get("ban_expires")
    if "ban_expires" not in ban and (lasts := ctx.policy[AdminPolicy].default_ban_expires_in):
        until = ctx.now + lasts
    return {"banned": True, "ban_reason": reason, "ban_expires": until}


async def _change_ban(ctx: Context, user: UserRow, ban: Mapping[str, Any]) -> UserRow:
    """Ban or unban a user, or change reason and end of a ban; they have no effect on a user who is not banned."""
    if ban.get("banned") is False:
        return await changes.unban(ctx, user)
    if not ban.get("banned"):
        if not user.banned:
            return user
        ban = {"banned": True, "ban_reason": user.ban_reason, "ban_expires": user.ban_expires, **ban}
    columns = _ban_columns(ctx, ban)
    changed, _ = await changes.ban(ctx, user, reason=columns["ban_reason"], until=columns["ban_expires"])
    return changed
