"""Changes of a user whose row is locked, with all their effects: for administrators and for the command line."""

from collections.abc import Sequence
from datetime import datetime

from domain import one_time_tokens
from domain.admin import events, mails
from domain.context import Context
from domain.passwords import passwords
from domain.sessions import events as session_events
from domain.sessions import sessions
from domain.users import profile, roles
from models import Purpose
from models.queries import UserRow


async def set_roles(ctx: Context, user: UserRow, names: Sequence[str]) -> UserRow:
    """Replace the roles of a user, who is notified when they become privileged; return the updated user."""
    role = ",".join(names)
    if role == user.role:
        return user
    changed = await profile.change(ctx, user, role=role)
    events.user_role_changed(ctx, user.id, user.role, role)
    if roles.is_privileged(ctx.policy, role) and not roles.is_privileged(ctx.policy, user.role):
        await mails.role_changed(ctx, changed)
    return changed


async def ban(
    ctx: Context, user: UserRow, *, reason: str | None, until: datetime | None
) -> tuple[UserRow, int]:
    """Ban a user permanently or until a moment, and revoke their sessions and sign-ins that wait for a second factor.

    Returns the updated user, and how many sessions were active.
    """
    changed = await profile.change(ctx, user, banned=True, ban_reason=reason, ban_expires=until)
    events.user_banned(ctx, user.id, reason, until)
    await one_time_tokens.revoke(ctx, user.id, Purpose.CHALLENGE, Purpose.MAIL_CODE)
    ended = await sessions.end_all(ctx, user)  # defence: ADM12 end-sessions
    session_events.sessions_revoked_all(ctx, user.id, ended, by_operator=ctx.caller is None)
    return changed, ended


async def unban(ctx: Context, user: UserRow) -> UserRow:
    """Lift the ban of a user, if there is one; return the updated user."""
    if not user.banned:
        return user
    events.user_unbanned(ctx, user.id)
    return await profile.change(ctx, user, banned=False, ban_reason=None, ban_expires=None)


async def set_password(ctx: Context, user: UserRow, hashed: str) -> int:
    """Set the password of a user, and revoke their sessions; return how many were active."""
    ended = await passwords.set_for(ctx, user, hashed)
    events.password_set_by_admin(ctx, user.id, ended)
    return ended
