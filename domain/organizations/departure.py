"""Handle the organizations of a user who is deleted.

An organization without other members is deleted. One with other members must keep an owner.
"""

from collections.abc import Sequence
from operator import attrgetter

from sqlalchemy import bindparam, select, update
from sqlmodel import col

from domain.context import Context
from domain.organizations import access, events, memberships, organizations, roles
from domain.organizations.errors import YouCannotLeaveTheOrganizationAsTheOnlyOwner
from domain.users.roles import MOST_ROLES, split
from models.member import MEMBER_COLUMNS, Member, MemberRow
from models.organization import Organization
from models.statements import is_, table_of

_OWNED = (
    select(*MEMBER_COLUMNS)
    .where(is_(Member.user_id, "user_id"), col(Member.is_owner))
    .execution_options(row=MemberRow)
)
_ORGANIZATIONS = select(col(Member.organization_id)).where(is_(Member.user_id, "user_id"))
_SUCCESSOR = (
    select(*MEMBER_COLUMNS)
    .where(is_(Member.organization_id, "organization_id"), col(Member.id) != bindparam("member_id"))
    .order_by((col(Member.role) == roles.ADMIN).desc(), col(Member.created_at), col(Member.id))
    .limit(1)
    .execution_options(row=MemberRow)
)
_PROMOTE = (
    update(table_of(Member))
    .where(col(Member.id) == bindparam("member_id"))
    .values(is_owner=True)
    .returning(col(Member.id))
)


async def blocking(ctx: Context, user_id: str) -> Sequence[str]:
    """Return the slugs of the organizations that have other members, but no other owner than this user."""
    slugs: list[str] = []
    for member in await _owned(ctx, user_id):
        if await memberships.is_only_owner(ctx, member) and await _has_others(ctx, member):
            slugs.append(await _slug(ctx, member.organization_id))
    return slugs


async def check(ctx: Context, user_id: str) -> None:
    """Check that no organization would lose its only owner if this user were deleted.

    Raises YouCannotLeaveTheOrganizationAsTheOnlyOwner. Organizations without other members do not count.
    """
    if await blocking(ctx, user_id):  # defence: ORG10 before-mail
        raise YouCannotLeaveTheOrganizationAsTheOnlyOwner


async def leave_all(ctx: Context, user_id: str, *, hands_over: bool = False) -> None:
    """Prepare the deletion of a user, whose row is locked: delete the organizations of which they are the only member.

    If an organization has other members but no other owner, `hands_over` makes a member the owner: an administrator,
    else the oldest member. This is for accounts that the owner of the email address deletes because another person
    created them. Without `hands_over`, YouCannotLeaveTheOrganizationAsTheOnlyOwner is raised.
    """
    # Also those of others: a user who is disowned at this moment may hand one over to this user.
    for organization_id in sorted((await ctx.db.execute(_ORGANIZATIONS, user_id=user_id)).scalars()):
        await access.lock(ctx, organization_id)  # defence: ORG10 lock-all
    for member in await _owned(ctx, user_id):
        if not await memberships.is_only_owner(ctx, member):
            continue
        successor: MemberRow | None = (
            await ctx.db.execute(_SUCCESSOR, organization_id=member.organization_id, member_id=member.id)
        ).first()
        if successor is None:
            await organizations.delete_row(ctx, member.organization_id)
        elif not hands_over:  # defence: ORG10 deletion
            raise YouCannotLeaveTheOrganizationAsTheOnlyOwner
        else:
            role = roles.text_of([roles.OWNER, *split(successor.role)][:MOST_ROLES])
            await ctx.db.execute(_PROMOTE, member_id=successor.id, role=role, updated_at=ctx.now)
            events.publish_role_changed(ctx, successor, role)


async def _owned(ctx: Context, user_id: str) -> Sequence[MemberRow]:
    rows: Sequence[MemberRow] = await ctx.db.execute(_OWNED, user_id=user_id)
    return sorted(rows, key=attrgetter("organization_id"))


async def _has_others(ctx: Context, member: MemberRow) -> bool:
    return await access.count_members(ctx, member.organization_id) > 1


async def _slug(ctx: Context, organization_id: str) -> str:
    slug = select(col(Organization.slug)).where(is_(Organization.id, "organization_id"))
    return str((await ctx.db.execute(slug, organization_id=organization_id)).scalar())
