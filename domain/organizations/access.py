"""Find the organization or team of a request, check memberships and permissions there, and lock organizations.

To a user who is not its member, an organization looks as if it did not exist.

Locks are taken in this order: users by id, organizations by id, everything else. Under the lock of an organization its
members, owners and invitations are counted, so limits are exact.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from sqlalchemy.exc import IntegrityError

from domain.context import Context, StaleRead
from domain.errors import BadRequest, Forbidden
from domain.organizations import events, roles
from domain.organizations.errors import NoActiveOrganization, TeamIsManagedByADirectory, TeamNotFound
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
from models.scim_link import LINK_OF_TEAM
from models.team import FIND_TEAM, TeamRow

MOST_IN_TEAM_LISTS = 1000
"""How many teams, or members of a team, are listed at most."""

Error = type[BadRequest] | type[Forbidden]


@contextmanager
def retried() -> Iterator[None]:
    """Return a context manager that turns an IntegrityError into StaleRead, so that the whole request runs again.

    Such an error means that a concurrent request has taken the slug, or has deleted the organization or team to which
    the row refers.
    """
    try:
        yield
    except IntegrityError as collision:
        raise StaleRead from collision


async def named(ctx: Context, organization_id: str | None, slug: str | None = None) -> str | None:
    """Return the id of the organization that a request names by slug or id, by default the session's active one.

    The slug counts if both are given; for an unknown slug the result is the empty text. An id is not checked. None if
    none is named and none is active.
    """
    if slug is not None:
        row: OrganizationRow | None = (await ctx.db.execute(FIND_BY_SLUG, slug=slug.lower())).first()
        return "" if row is None else row.id
    return organization_id or ctx.signed_in.session.active_organization_id


async def find_membership(
    ctx: Context, organization_id: str | None, slug: str | None
) -> tuple[MemberRow, OrganizationRow] | None:
    """Return the caller's membership in an organization, and the organization; None if the caller is not a member.

    The slug counts if both slug and id are given.
    """
    user_id = ctx.signed_in.user.id
    if slug is not None:
        rows = await ctx.db.execute(FIND_MEMBERSHIP_BY_SLUG, user_id=user_id, slug=slug.lower())
    else:
        rows = await ctx.db.execute(FIND_MEMBERSHIP, user_id=user_id, organization_id=organization_id)
    row = rows.first()
    return None if row is None else with_organization(row)


async def find_member(ctx: Context, organization_id: str, user_id: str) -> MemberRow | None:
    """Return the membership of a user in an organization; None if the user is not a member."""
    row: MemberRow | None = (
        await ctx.db.execute(FIND_MEMBER, organization_id=organization_id, user_id=user_id)
    ).first()
    return row


async def find_member_by_id(ctx: Context, organization_id: str, member_id: str) -> MemberRow | None:
    """Return the member of an organization with this id; None if there is none, or it is in another organization."""
    row: MemberRow | None = (
        await ctx.db.execute(FIND_MEMBER_BY_ID, organization_id=organization_id, member_id=member_id)
    ).first()
    return row


async def require_member(ctx: Context, organization_id: str, error: Error) -> MemberRow:
    """Return the caller's present membership in an organization. Raises `error` if the caller is not a member."""
    member = await find_member(ctx, organization_id, ctx.signed_in.user.id)
    if member is None:  # defence: ORG9 ORG12 ORG23 membership
        raise error
    return member


def require(ctx: Context, member: MemberRow, resource: str, action: str, error: type[Forbidden]) -> None:
    """Check that the roles of `member`, the caller, permit an action. Records and raises `error` if they do not."""
    if not roles.permits(ctx.policy, member.role, resource, action):  # defence: ORG7 permission
        refuse(ctx, member.organization_id, error)


def require_rank(ctx: Context, member: MemberRow, others: Collection[str], error: type[Forbidden]) -> None:
    """Check that the caller `member` may grant and remove the roles in `others`. Records and raises `error` if not.

    Each text in `others` is one role, or several separated by commas, as they are stored.
    """
    if not all(roles.outranks(ctx.policy, member.role, other) for other in others):
        refuse(ctx, member.organization_id, error)


def refuse(ctx: Context, organization_id: str, error: type[Forbidden]) -> None:
    """Record that the caller was refused with `error`, and raise it."""
    events.refused(ctx, organization_id, error)
    raise error


async def lock(ctx: Context, organization_id: str) -> OrganizationRow | None:
    """Lock an organization until the transaction ends, and return it; None if there is none with this id."""
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


async def organization_of(ctx: Context, organization_id: str | None) -> str:
    """Return the organization with this id, or the active one for None. Raises NoActiveOrganization."""
    chosen = await named(ctx, organization_id)
    if chosen is None:
        raise NoActiveOrganization
    return chosen


async def require_manager(
    ctx: Context, organization_id: str | None, resource: str, action: str, error: type[Forbidden]
) -> MemberRow:
    """Lock an organization, by default the active one, and return the membership of the caller.

    Raises NoActiveOrganization; `error` if the caller is no member or lacks the permission.
    """
    chosen = await organization_of(ctx, organization_id)
    await lock(ctx, chosen)  # defence: ORG13 team-lock
    member = await require_member(ctx, chosen, error)
    require(ctx, member, resource, action, error)
    return member


async def find_team(ctx: Context, organization_id: str, team_id: str) -> TeamRow:
    """Return a team of an organization. Raises TeamNotFound."""
    row: TeamRow | None = (
        await ctx.db.execute(FIND_TEAM, team_id=team_id, organization_id=organization_id)
    ).first()
    if row is None:
        raise TeamNotFound
    return row


async def find_own_team(ctx: Context, organization_id: str, team_id: str) -> TeamRow:
    """Return a team that the organization itself manages. Raises TeamNotFound, TeamIsManagedByADirectory."""
    row = await find_team(ctx, organization_id, team_id)
    if await ctx.db.execute(LINK_OF_TEAM, team_id=row.id):  # defence: SSO12 managed-teams
        raise TeamIsManagedByADirectory
    return row
