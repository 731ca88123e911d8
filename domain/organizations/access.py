"""The organization of a request, the caller's membership and permissions there, and locks.

Whoever is not a member of an organization gets the same answer for it as for one that does not exist.

Locks are taken in this order: users by id, organizations by id, everything else. Under the lock of an organization its
members, owners and invitations are counted, so limits are exact.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from sqlalchemy.exc import IntegrityError

from domain.context import Context, StaleRead
from domain.errors import BadRequest, Forbidden
from domain.organizations import events, roles
from models.member import (
    COUNT_MEMBERS,
    COUNT_MEMBERSHIPS,
    FIND_MEMBER,
    FIND_MEMBER_BY_ID,
    FIND_MEMBERSHIP,
    FIND_MEMBERSHIP_BY_SLUG,
    MemberRow,
    with_organization,
)
from models.organization import FIND_BY_SLUG, LOCK_ORGANIZATION, OrganizationRow

Error = type[BadRequest] | type[Forbidden]


@contextmanager
def retried() -> Iterator[None]:
    """Run the request again if a statement violates a constraint. Raises StaleRead.

    A concurrent request has taken the slug, or deleted the organization or team to which the row refers.
    """
    try:
        yield
    except IntegrityError as collision:
        raise StaleRead from collision


async def named(ctx: Context, organization_id: str | None, slug: str | None = None) -> str | None:
    """Return the id of the organization that a request names, by default the active one of the session.

    A slug decides; an unknown one gives an id of no organization. None if none is named and none is active.
    """
    if slug is not None:
        row: OrganizationRow | None = (await ctx.db.execute(FIND_BY_SLUG, slug=slug.lower())).first()
        return "" if row is None else row.id
    return organization_id or ctx.signed_in.session.active_organization_id


async def find_membership(
    ctx: Context, organization_id: str | None, slug: str | None
) -> tuple[MemberRow, OrganizationRow] | None:
    """Return the caller's membership in an organization that is named by slug or id, and the organization."""
    user_id = ctx.signed_in.user.id
    if slug is not None:
        rows = await ctx.db.execute(FIND_MEMBERSHIP_BY_SLUG, user_id=user_id, slug=slug.lower())
    else:
        rows = await ctx.db.execute(FIND_MEMBERSHIP, user_id=user_id, organization_id=organization_id)
    row = rows.first()
    return None if row is None else with_organization(row)


async def find_member(ctx: Context, organization_id: str, user_id: str) -> MemberRow | None:
    """Return the membership of a user in an organization."""
    row: MemberRow | None = (
        await ctx.db.execute(FIND_MEMBER, organization_id=organization_id, user_id=user_id)
    ).first()
    return row


async def find_member_by_id(ctx: Context, organization_id: str, member_id: str) -> MemberRow | None:
    """Return a member of an organization; one of another organization counts as missing."""
    row: MemberRow | None = (
        await ctx.db.execute(FIND_MEMBER_BY_ID, organization_id=organization_id, member_id=member_id)
    ).first()
    return row


async def require_member(ctx: Context, organization_id: str, error: Error) -> MemberRow:
    """Return the caller's membership in an organization, as it is now. Raises the error."""
    member = await find_member(ctx, organization_id, ctx.signed_in.user.id)
    if member is None:  # defence: ORG9 ORG12 ORG23 membership
        raise error
    return member


def require(ctx: Context, member: MemberRow, resource: str, action: str, error: type[Forbidden]) -> None:
    """Check that a role of the caller grants an action. Raises the error, which is recorded."""
    if not roles.permits(ctx.policy, member.role, resource, action):  # defence: ORG7 permission
        refuse(ctx, member.organization_id, error)


def require_rank(ctx: Context, member: MemberRow, others: Collection[str], error: type[Forbidden]) -> None:
    """Check that the caller may grant and take away roles, each text as it is stored. Raises the error."""
    if not all(roles.outranks(ctx.policy, member.role, other) for other in others):
        refuse(ctx, member.organization_id, error)


def refuse(ctx: Context, organization_id: str, error: type[Forbidden]) -> None:
    """Record a refusal and raise it."""
    events.refused(ctx, organization_id, error)
    raise error


async def lock(ctx: Context, organization_id: str) -> OrganizationRow | None:
    """Return an organization, locked until the transaction ends; None if there is none."""
    row: OrganizationRow | None = (
        await ctx.db.execute(LOCK_ORGANIZATION, organization_id=organization_id)
    ).first()
    return row


async def count_members(ctx: Context, organization_id: str) -> int:
    """Return the number of members of an organization."""
    return int((await ctx.db.execute(COUNT_MEMBERS, organization_id=organization_id)).scalar())


async def count_organizations(ctx: Context, user_id: str) -> int:
    """Return the number of organizations of which a user is a member."""
    return int((await ctx.db.execute(COUNT_MEMBERSHIPS, user_id=user_id)).scalar())
