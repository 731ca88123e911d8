"""Members of an organization: list, add and remove them, change their roles, leave."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import bindparam, delete, update
from sqlmodel import col

from domain.context import Context
from domain.organizations import access, active, events, mails, memberships, pending, roles, team_members
from domain.organizations.errors import (
    MemberNotFound,
    NoActiveOrganization,
    OrganizationNotFound,
    YouAreNotAllowedToDeleteThisMember,
    YouAreNotAllowedToInviteUsersToThisOrganization,
    YouAreNotAllowedToUpdateThisMember,
    YouAreNotAMemberOfThisOrganization,
    YouCannotLeaveTheOrganizationAsTheOnlyOwner,
    YouCannotLeaveTheOrganizationWithoutAnOwner,
)
from domain.users import locking
from domain.users import roles as user_roles
from domain.users.errors import UserNotFound
from models.member import (
    MEMBER_COLUMNS,
    Member,
    MemberRow,
    MemberWithUser,
)
from models.organization import FIND_ORGANIZATION, OrganizationRow
from models.statements import table_of
from models.user import UserRow

_CHANGE = (
    update(table_of(Member))
    .where(col(Member.id) == bindparam("member_id"))
    .returning(*MEMBER_COLUMNS)
    .execution_options(row=MemberRow)
)
_DELETE = delete(table_of(Member)).where(col(Member.id) == bindparam("member_id")).returning(col(Member.id))


class LockedMember(NamedTuple):
    """A member whose user and organization are locked until the transaction ends."""

    organization: OrganizationRow
    member: MemberRow
    user: UserRow


async def get_active(ctx: Context) -> MemberWithUser:
    """Return the caller's membership in the active organization, with their user.

    Raises NoActiveOrganization if none is active, or the caller is no longer its member.
    """
    chosen = await access.named(ctx, None)
    if chosen is None:
        raise NoActiveOrganization
    return await memberships.with_user(ctx, await access.require_member(ctx, chosen, NoActiveOrganization))


async def role_of(ctx: Context, organization_id: str | None, slug: str | None, user_id: str | None) -> str:
    """Return the roles of a member, separated by commas; those of the caller if `user_id` is None.

    `organization_id` and `slug` are as for `access.named`. Raises NoActiveOrganization if no organization is named or
    active; YouAreNotAMemberOfThisOrganization also if the caller may not see other members.
    """
    chosen = await access.named(ctx, organization_id, slug)
    if chosen is None:
        raise NoActiveOrganization
    own = await access.require_member(ctx, chosen, YouAreNotAMemberOfThisOrganization)
    if user_id is None or user_id == own.user_id:
        return own.role
    other = await access.find_member(ctx, chosen, user_id) if memberships.sees_directory(ctx, own) else None
    if other is None:
        raise YouAreNotAMemberOfThisOrganization
    return other.role


async def add_by_administrator(
    ctx: Context,
    user_id: str,
    role: str | Sequence[str],
    organization_id: str | None,
    team_id: str | None = None,
) -> MemberRow:
    """Make a user a member without an invitation, for callers with the global permission `organization: manage`.

    Raises OrganizationNotFound, YouAreNotAllowedToInviteUsersToThisOrganization, RoleNotFound, UserNotFound,
    UserIsAlreadyAMemberOfThisOrganization, UserIsDisabledByTheDirectory, OrganizationMembershipLimitReached,
    YouHaveReachedTheMaximumNumberOfOrganizations, TeamNotFound, TeamIsManagedByADirectory, TeamMemberLimitReached.
    """
    error = YouAreNotAllowedToInviteUsersToThisOrganization
    if not user_roles.permits(ctx.policy, ctx.signed_in.user, "organization", "manage"):
        access.refuse(ctx, organization_id or "", error)
    chosen = await access.named(ctx, organization_id)
    if chosen is None or not await ctx.db.execute(FIND_ORGANIZATION, organization_id=chosen):
        raise OrganizationNotFound
    names = roles.names_of(ctx.policy, role)
    return await add_directly(ctx, chosen, user_id, names, team_id=team_id)


async def add_directly(
    ctx: Context, organization_id: str, user_id: str, names: Sequence[str], *, team_id: str | None = None
) -> MemberRow:
    """Make a user a member with the roles `names`, without a check of permissions; return the member.

    A pending invitation of the user's address becomes accepted. Raises UserNotFound, OrganizationNotFound,
    UserIsAlreadyAMemberOfThisOrganization, UserIsDisabledByTheDirectory, OrganizationMembershipLimitReached,
    YouHaveReachedTheMaximumNumberOfOrganizations, TeamNotFound, TeamIsManagedByADirectory, TeamMemberLimitReached.
    """
    user = await locking.lock(ctx, user_id)
    organization = await access.lock(ctx, organization_id)
    if organization is None:
        raise OrganizationNotFound
    if user is None:
        raise UserNotFound
    await memberships.check_limits(ctx, organization_id, user_id)
    team = await team_members.requested(ctx, organization_id, [team_id] if team_id else [])
    member = await memberships.add(ctx, organization_id, user_id, roles.text_of(names))
    for each in team:
        await team_members.join(ctx, each, member)
    await pending.settle(ctx, organization_id, user)
    events.member_added(ctx, member)
    return member


async def change_role(
    ctx: Context, member_id: str, role: str | Sequence[str], organization_id: str | None
) -> MemberRow:
    """Replace the roles of a member of an organization, by default of the active one; return the member.

    Raises NoActiveOrganization, MemberNotFound, YouAreNotAllowedToUpdateThisMember, RoleNotFound,
    YouCannotLeaveTheOrganizationWithoutAnOwner.
    """
    chosen = await access.named(ctx, organization_id)
    if chosen is None:
        raise NoActiveOrganization
    target = await locked(ctx, chosen, member_id)
    own = await access.require_member(ctx, chosen, MemberNotFound)
    error = YouAreNotAllowedToUpdateThisMember
    access.require(ctx, own, "member", "update", error)
    if target is None:
        raise MemberNotFound
    access.require_rank(ctx, own, (target.member.role,), error)  # defence: ORG7 old-rank
    names = roles.names_of(ctx.policy, role)
    access.require_rank(ctx, own, (roles.text_of(names),), error)  # defence: ORG7 new-rank
    return await set_role(ctx, target, names)


async def set_role(ctx: Context, target: LockedMember, names: Sequence[str]) -> MemberRow:
    """Replace the roles of a member without a check of permissions; return the member.

    Pending invitations that the member could no longer send are canceled, and the member is notified of becoming or no
    longer being an owner. Raises YouCannotLeaveTheOrganizationWithoutAnOwner.
    """
    member, role = target.member, roles.text_of(names)
    if role == member.role:
        return member
    # defence: ORG10 demotion
    if not roles.is_owner(role) and await memberships.is_only_owner(ctx, member):
        raise YouCannotLeaveTheOrganizationWithoutAnOwner
    changed: MemberRow = (
        await ctx.db.execute(
            _CHANGE, member_id=member.id, role=role, is_owner=roles.is_owner(role), updated_at=ctx.now
        )
    ).first()
    events.role_changed(ctx, member, changed)
    await pending.cancel_of_inviter(ctx, changed)  # defence: ORG11 demoted
    if member.is_owner != changed.is_owner:
        await mails.role_changed(ctx, target.user, target.organization, is_owner=changed.is_owner)
    return changed


async def remove(ctx: Context, member_id_or_email: str, organization_id: str | None) -> MemberWithUser:
    """Remove a member from an organization, by default from the active one; return the removed member.

    Raises NoActiveOrganization, MemberNotFound, YouAreNotAllowedToDeleteThisMember,
    YouCannotLeaveTheOrganizationAsTheOnlyOwner.
    """
    chosen = await access.named(ctx, organization_id)
    if chosen is None:
        raise NoActiveOrganization
    target = await locked(ctx, chosen, member_id_or_email)
    own = await access.require_member(ctx, chosen, MemberNotFound)
    error = YouAreNotAllowedToDeleteThisMember
    access.require(ctx, own, "member", "delete", error)
    if target is None:
        raise MemberNotFound
    access.require_rank(ctx, own, (target.member.role,), error)  # defence: ORG7 removed-rank
    found = await memberships.with_user(ctx, target.member)
    await remove_from(ctx, target)
    return found


async def remove_from(ctx: Context, target: LockedMember) -> None:
    """Remove a member without a check of permissions, and notify the user by email.

    Raises YouCannotLeaveTheOrganizationAsTheOnlyOwner.
    """
    await end(ctx, target.member)
    await mails.member_removed(ctx, target.user, target.organization)


async def end(ctx: Context, member: MemberRow) -> None:
    """Remove a member without a check of permissions and without an email.

    The caller has locked the user and the organization. Raises YouCannotLeaveTheOrganizationAsTheOnlyOwner.
    """
    await _end(ctx, member)
    events.member_removed(ctx, member)


async def leave(ctx: Context, organization_id: str) -> MemberRow:
    """End the caller's membership in an organization; return the former membership.

    Raises MemberNotFound, YouCannotLeaveTheOrganizationAsTheOnlyOwner.
    """
    await locking.lock_caller(ctx)
    await access.lock(ctx, organization_id)  # defence: ORG10 leave-lock
    member = await access.require_member(ctx, organization_id, MemberNotFound)
    await _end(ctx, member)
    events.member_left(ctx, member)
    return member


async def _end(ctx: Context, member: MemberRow) -> None:
    """Delete a membership: its places in teams, pending invitations sent, and active marks in sessions go with it."""
    if await memberships.is_only_owner(ctx, member):  # defence: ORG10 departure
        raise YouCannotLeaveTheOrganizationAsTheOnlyOwner
    await ctx.db.execute(_DELETE, member_id=member.id)
    await pending.cancel_all_of_inviter(ctx, member)  # defence: ORG11 removed
    await active.lose_organization(ctx, member.organization_id, member.user_id)


async def locked(ctx: Context, organization_id: str, member_id_or_email: str) -> LockedMember | None:
    """Lock a member's user and organization, and return them with the member; None if there is no such member."""
    before = await _find(ctx, organization_id, member_id_or_email)
    user = None if before is None else await locking.lock(ctx, before.user_id)
    organization = await access.lock(ctx, organization_id)  # defence: ORG10 member-lock
    if before is None or user is None or organization is None:
        return None
    # Read again: the roles may have changed until the lock was held.
    member = await access.find_member_by_id(ctx, organization_id, before.id)
    return None if member is None else LockedMember(organization, member, user)


async def _find(ctx: Context, organization_id: str, member_id_or_email: str) -> MemberRow | None:
    if "@" not in member_id_or_email:
        return await access.find_member_by_id(ctx, organization_id, member_id_or_email)
    found = await memberships.find_by_email(ctx, organization_id, member_id_or_email.lower())
    return None if found is None else found.member
