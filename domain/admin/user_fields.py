"""Create users and change their fields, for administrators."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from domain import identifiers
from domain.admin import changes, permissions, targets
from domain.admin.errors import (
    EmailTaken,
    InvalidRoleType,
    NoDataToUpdate,
    YouAreNotAllowedToBanUsers,
    YouAreNotAllowedToChangeUsersRole,
    YouAreNotAllowedToCreateUsers,
    YouAreNotAllowedToSetUsersEmail,
    YouAreNotAllowedToUpdateUsers,
    YouCannotBanYourself,
)
from domain.admin.policy import AdminPolicy
from domain.context import Context
from domain.emails import emails
from domain.emails import events as email_events
from domain.users import admins, lookup, profile
from domain.users import events as user_events
from models.user import UserRow

_BAN = ("banned", "ban_reason", "ban_expires")


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user to create; every field except `role` is already validated against the contract."""

    email: str
    name: str
    password: str | None = field(repr=False)
    gives_role: bool
    role: object
    """The unvalidated value of the field; ignored unless `gives_role`."""
    image: str | None
    username: str | None
    display_username: str | None
    locale: str | None
    email_verified: bool | None
    ban: Mapping[str, Any]
    """Any of the columns `banned`, `ban_reason` and `ban_expires`."""


async def create_user(ctx: Context, new: NewUser) -> UserRow:
    """Create a user, even if sign-up is disabled; return the user. No session is created, and no email sent.

    Raises YouAreNotAllowedToCreateUsers and TwoFactorRequired; for a role YouAreNotAllowedToChangeUsersRole,
    SessionNotFresh, InvalidRoleType, ValidationError and YouAreNotAllowedToSetNonExistentValue; for a ban
    YouAreNotAllowedToBanUsers; for `email_verified` YouAreNotAllowedToSetUsersEmail.

    Also raises InvalidEmail, EmailTaken, UsernameTooShort, UsernameTooLong, InvalidUsername, InvalidDisplayUsername,
    UsernameIsAlreadyTaken, ValidationError (an unknown locale), PasswordTooLong, PasswordTooShort, PasswordTooCommon,
    Overloaded.
    """
    permissions.require(ctx, "user", "create", YouAreNotAllowedToCreateUsers)
    names = _roles_to_give(ctx, new.role) if new.gives_role else None
    if new.ban:
        permissions.require(ctx, "user", "ban", YouAreNotAllowedToBanUsers)
    if new.email_verified is not None:
        permissions.require(ctx, "user", "set-email", YouAreNotAllowedToSetUsersEmail)
    user = profile.new_user(
        ctx,
        name=new.name,
        email=identifiers.email(new.email),
        email_verified=bool(new.email_verified),
        image=new.image,
        names=await profile.new_names(ctx, new.username, new.display_username),
        locale=profile.supported_locale(new.locale, "data.locale"),
    )
    if names is not None:
        user = user._replace(role=",".join(names))
    user = user._replace(**_ban_columns(ctx, new.ban))
    return await changes.add_user(ctx, user, new.password)


async def update_user(
    ctx: Context, user_id: str, data: Mapping[str, Any], *, seen: str | None = None
) -> UserRow:
    """Change columns of a user, all or none; `data` has only columns that may be changed.

    `seen` is the `targets.version` that a form was shown with; values that are already stored are then no change, so a
    form that is sent twice succeeds.

    Raises YouAreNotAllowedToUpdateUsers, TwoFactorRequired, SessionNotFresh, NoDataToUpdate, UserNotFound,
    StaleProfile; for roles YouAreNotAllowedToChangeUsersRole, YouAreNotAllowedToSetNonExistentValue, LastAdmin; for a
    ban YouAreNotAllowedToBanUsers, YouCannotBanYourself, LastAdmin; for the address YouAreNotAllowedToSetUsersEmail,
    InvalidEmail, EmailTaken; for usernames UsernameTooShort, UsernameTooLong, InvalidUsername, InvalidDisplayUsername,
    UsernameIsAlreadyTaken; ValidationError for invalid roles and locales.
    """
    fresh = bool(data.keys() & {"role", "email", "email_verified", *_BAN})
    permissions.require(ctx, "user", "update", YouAreNotAllowedToUpdateUsers, fresh=fresh)
    if not data:
        raise NoDataToUpdate
    names = permissions.role_names(ctx, data["role"], field="data.role") if "role" in data else None
    ban = {name: data[name] for name in _BAN if name in data}
    # The field `data` would otherwise set roles without the permission that the operation for roles requires.
    if names is not None:  # defence: ADM2 set-role
        permissions.require(ctx, "user", "set-role", YouAreNotAllowedToChangeUsersRole)
    if ban:
        permissions.require(ctx, "user", "ban", YouAreNotAllowedToBanUsers)
    if "email" in data or "email_verified" in data:
        permissions.require(ctx, "user", "set-email", YouAreNotAllowedToSetUsersEmail)
    takes = names is not None or ban.get("banned") is True
    user = await targets.locked(ctx, user_id, YouAreNotAllowedToUpdateUsers, may_lose_roles=takes)
    if seen is not None:
        data = {name: value for name, value in data.items() if value != getattr(user, name)}
        targets.check_version(user, seen, changes=bool(data))
    if names is not None:
        await targets.check_new_roles(ctx, user, names)
    is_own, is_ban = targets.is_own(ctx, user_id), ban.get("banned") is True
    if is_own and is_ban:  # defence: ADM14 own-update
        raise YouCannotBanYourself
    # An administrator's own address has to be proven like that of every user.
    if is_own and ("email" in data or "email_verified" in data):  # defence: ADM14 own-email
        permissions.refuse(ctx, YouAreNotAllowedToSetUsersEmail)
    if is_ban:
        await admins.refuse_last(ctx, user)
    user = await _change_profile(ctx, user, data)
    if names is not None:
        user = await changes.set_roles(ctx, user, names)
    return await _change_ban(ctx, user, ban) if ban else user


def _roles_to_give(ctx: Context, role: object) -> list[str]:
    error = YouAreNotAllowedToChangeUsersRole
    permissions.require(ctx, "user", "set-role", error, fresh=True)  # defence: ADM2 new-user-role
    texts = [role] if isinstance(role, str) else role
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InvalidRoleType
    names = permissions.role_names(ctx, texts)
    permissions.check_roles(ctx, names)
    return names


async def _change_profile(ctx: Context, user: UserRow, data: Mapping[str, Any]) -> UserRow:
    plain = {name: data[name] for name in ("name", "image") if name in data}
    if "locale" in data:
        plain["locale"] = profile.supported_locale(data["locale"], "data.locale")
    plain |= await profile.requested_names(ctx, user, data)
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
        if plain.get("email_verified"):
            email_events.publish_verified(ctx, user.id)
    return user


def _ban_columns(ctx: Context, ban: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored columns of a ban; without `banned`, the other two fields are ignored."""
    if not ban.get("banned"):
        return {}
    reason = ban.get("ban_reason") or ctx.policy[AdminPolicy].default_ban_reason
    until: datetime | None = ban.get("ban_expires")
    if "ban_expires" not in ban and (lasts := ctx.policy[AdminPolicy].default_ban_expires_in):
        until = ctx.now + lasts
    return {"banned": True, "ban_reason": reason, "ban_expires": until}


async def _change_ban(ctx: Context, user: UserRow, ban: Mapping[str, Any]) -> UserRow:
    """Ban or unban a user, or change the reason and end of a ban, which are ignored unless the user is banned."""
    if ban.get("banned") is False:
        return await changes.unban(ctx, user)
    if not ban.get("banned"):
        if not user.banned:
            return user
        ban = {"banned": True, "ban_reason": user.ban_reason, "ban_expires": user.ban_expires, **ban}
    columns = _ban_columns(ctx, ban)
    changed, _ = await changes.ban(ctx, user, reason=columns["ban_reason"], until=columns["ban_expires"])
    return changed
