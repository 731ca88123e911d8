"""Change users, for administrators and for the operator, who has no account in the service.

Each function also records the audit event and, where the change requires it, ends sessions. The calling code locks the
user's row first, except for a new user.
"""

from collections.abc import Sequence
from datetime import datetime

from domain import one_time_tokens
from domain.accounts import accounts
from domain.admin import events, impersonation, mails
from domain.admin.errors import EmailTaken
from domain.context import Context
from domain.passwords import passwords, strength
from domain.passwords.policy import PasswordPolicy
from domain.sessions import events as session_events
from domain.sessions import sessions
from domain.sessions.events import EndReason
from domain.two_factor import events as two_factor_events
from domain.two_factor import setup
from domain.user_deletion import deletion
from domain.users import events as user_events
from domain.users import lookup, profile, roles
from models import Purpose
from models.user import UserRow


async def add_user(ctx: Context, user: UserRow, password: str | None) -> UserRow:
    """Store a new user, with a password unless it is None; return the user. No session is created, and no email sent.

    Raises EmailTaken, PasswordTooLong, PasswordTooShort, PasswordTooCommon, Overloaded.
    """
    hashed = None
    if password is not None:
        strength.check_length(ctx.policy[PasswordPolicy], password)
        hashed = await passwords.hash_for(ctx, user, password)
    if await lookup.by_email(ctx, user.email) is not None:
        raise EmailTaken
    await profile.add(ctx, user)
    if hashed is not None:
        accounts.add_credential(ctx, user.id, hashed)
    method = None if hashed is None else "password"
    user_events.user_created(ctx, user.id, method, by_operator=ctx.is_operator)
    return user


async def set_roles(ctx: Context, user: UserRow, names: Sequence[str]) -> UserRow:
    """Replace the roles of a user; return the updated user.

    A user who becomes privileged is notified. Their impersonation sessions end if they may no longer impersonate.
    """
    role = ",".join(names)
    if role == user.role:
        return user
    changed = await profile.change(ctx, user, role=role)
    events.user_role_changed(ctx, user.id, user.role, role)
    if roles.is_privileged(ctx.policy, role) and not roles.is_privileged(ctx.policy, user.role):
        await mails.role_changed(ctx, changed)
    could, can = (impersonation.may_impersonate(ctx.policy, row) for row in (user, changed))
    # Sessions in the name of users must not outlive the right to them.
    if could and not can:  # defence: ADM7 lost-permission
        await impersonation.end_all_of(ctx, user)
    return changed


async def ban(
    ctx: Context, user: UserRow, *, reason: str | None, until: datetime | None
) -> tuple[UserRow, int]:
    """Ban a user permanently or until a time; revoke their sessions and sign-ins that wait for a second factor.

    Returns the updated user, and how many sessions were active.
    """
    changed = await profile.change(ctx, user, banned=True, ban_reason=reason, ban_expires=until)
    events.user_banned(ctx, user.id, reason, until)
    await one_time_tokens.revoke(ctx, user.id, Purpose.CHALLENGE, Purpose.MAIL_CODE)
    return changed, await revoke_sessions(ctx, user, EndReason.BANNED)  # defence: ADM12 end-sessions


async def unban(ctx: Context, user: UserRow) -> UserRow:
    """Lift the ban of a user, if there is one; return the updated user."""
    if not user.banned:
        return user
    events.user_unbanned(ctx, user.id)
    return await profile.change(ctx, user, banned=False, ban_reason=None, ban_expires=None)


async def set_password(ctx: Context, user: UserRow, hashed: str) -> int:
    """Replace the password hash of a user, and revoke their sessions; return how many were active."""
    ended = await passwords.set_for(ctx, user, hashed)
    events.password_set_by_admin(ctx, user.id, ended)
    return len(ended)


async def reset_two_factor(ctx: Context, user: UserRow) -> tuple[UserRow, int | None]:
    """Disable two-factor authentication for a user who lost access, notify them, and revoke their sessions.

    Returns the updated user and the number of sessions that were active. If two-factor authentication was off, returns
    None and revokes no session.
    """
    if not await setup.remove(ctx, user):
        return user, None
    two_factor_events.two_factor_disabled(ctx, user.id, by_operator=ctx.is_operator)
    changed = user._replace(two_factor_enabled=False, updated_at=ctx.now)
    return changed, await revoke_sessions(ctx, user)


async def revoke_sessions(ctx: Context, user: UserRow, reason: EndReason = EndReason.ADMIN) -> int:
    """Revoke every session of a user; return how many were active. `reason` is published to webhooks."""
    ended = await sessions.end_all(ctx, user)
    session_events.sessions_revoked_all(ctx, user.id, ended, reason, by_operator=ctx.is_operator)
    return len(ended)


async def delete(ctx: Context, user: UserRow) -> None:
    """Delete a user and all their data. Raises YouCannotLeaveTheOrganizationAsTheOnlyOwner."""
    await deletion.remove(ctx, user)
    user_events.user_deleted(ctx, user.id, by_operator=ctx.is_operator)
