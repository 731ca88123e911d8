"""The members of an organization: read and add them, and check the limits and whether an owner remains."""

from collections.abc import Sequence

from sqlalchemy import bindparam
from sqlmodel import col

from domain import tokens
from domain.context import Context, StaleRead
from domain.organizations import access, roles
from domain.organizations.errors import (
    OrganizationMembershipLimitReached,
    UserIsAlreadyAMemberOfThisOrganization,
    UserIsDisabledByTheDirectory,
    YouHaveReachedTheMaximumNumberOfOrganizations,
)
from domain.organizations.policy import OrganizationPolicy
from models.member import MEMBERS_WITH_USERS, OTHER_OWNER, Member, MemberRow, MemberWithUser
from models.scim_link import DISABLED_IN_ORGANIZATION
from models.statements import insert, is_
from models.user import User

_WITH_USER = MEMBERS_WITH_USERS.where(is_(Member.organization_id, "organization_id"))
_ONE_WITH_USER = _WITH_USER.where(is_(Member.user_id, "member_user"))
_BY_EMAIL = _WITH_USER.where(is_(User.email, "email"))
_OWNERS_FIRST = _WITH_USER.order_by(col(Member.is_owner).desc(), col(Member.created_at), col(Member.id))
_DIRECTORY = _OWNERS_FIRST.limit(bindparam("number"))
_MANAGING = ("create", "update", "delete")


def sees_directory(ctx: Context, member: MemberRow) -> bool:
    """Return whether a member may see the other members of the organization."""
    if ctx.policy[OrganizationPolicy].member_directory == "members":
        return True
    # defence: ORG19 managers
    return any(roles.permits(ctx.policy, member.role, "member", action) for action in _MANAGING)


async def directory(ctx: Context, member: MemberRow, limit: int) -> Sequence[MemberWithUser]:
    """Return the members of an organization that `member` may see: at most `limit`, owners first; or only `member`."""
    if not sees_directory(ctx, member):
        return [await with_user(ctx, member)]
    found: Sequence[MemberWithUser] = await ctx.db.execute(
        _DIRECTORY, organization_id=member.organization_id, number=limit
    )
    return found


async def all_of(ctx: Context, organization_id: str) -> Sequence[MemberWithUser]:
    """Return all members of an organization, owners first."""
    found: Sequence[MemberWithUser] = await ctx.db.execute(_OWNERS_FIRST, organization_id=organization_id)
    return found


async def with_user(ctx: Context, member: MemberRow) -> MemberWithUser:
    """Return a member with their user. Raises StaleRead if the member was deleted meanwhile."""
    found: MemberWithUser | None = (
        await ctx.db.execute(
            _ONE_WITH_USER, organization_id=member.organization_id, member_user=member.user_id
        )
    ).first()
    if found is None:
        raise StaleRead
    return found


async def find_by_email(ctx: Context, organization_id: str, email: str) -> MemberWithUser | None:
    """Return the member with this email address, which is lower-case; None if there is none."""
    found: MemberWithUser | None = (
        await ctx.db.execute(_BY_EMAIL, organization_id=organization_id, email=email)
    ).first()
    return found


async def add(ctx: Context, organization_id: str, user_id: str, role: str) -> MemberRow:
    """Store a new member and return it. The caller has locked the user and the organization, and checked the limits."""
    row = MemberRow(
        id=tokens.token(),
        organization_id=organization_id,
        user_id=user_id,
        role=role,
        is_owner=roles.is_owner(role),
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    await ctx.db.execute(insert(Member), **row._asdict())
    return row


async def check_limits(ctx: Context, organization_id: str, user_id: str) -> None:
    """Check that a user may become a member of an organization. The caller has locked both.

    Raises UserIsAlreadyAMemberOfThisOrganization, UserIsDisabledByTheDirectory, OrganizationMembershipLimitReached,
    YouHaveReachedTheMaximumNumberOfOrganizations.
    """
    policy = ctx.policy[OrganizationPolicy]
    if await access.find_member(ctx, organization_id, user_id) is not None:
        raise UserIsAlreadyAMemberOfThisOrganization
    if await ctx.db.execute(DISABLED_IN_ORGANIZATION, organization_id=organization_id, user_id=user_id):
        raise UserIsDisabledByTheDirectory  # defence: SSO13 no-member
    if await access.count_members(ctx, organization_id) >= policy.membership_limit:
        raise OrganizationMembershipLimitReached  # defence: ORG13 membership-limit
    if await access.count_organizations(ctx, user_id) >= policy.limit_per_user:
        raise YouHaveReachedTheMaximumNumberOfOrganizations  # defence: ORG13 user-limit


async def is_only_owner(ctx: Context, member: MemberRow) -> bool:
    """Return whether a member is the only owner of the organization. The caller has locked the organization."""
    if not member.is_owner:
        return False
    other = await ctx.db.execute(OTHER_OWNER, organization_id=member.organization_id, member_id=member.id)
    return not other
