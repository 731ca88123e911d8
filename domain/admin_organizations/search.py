"""List and read all organizations, their members and their audit events, page by page."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import func, literal, or_, select
from sqlmodel import col

from domain.admin import exports, permissions
from domain.admin.errors import YouAreNotAllowedToManageService
from domain.admin.exports import Export
from domain.admin.policy import AdminPolicy
from domain.admin_organizations import operator, paging
from domain.admin_organizations.errors import NoSuchOrganization, YouAreNotAllowedToManageOrganizations
from domain.admin_organizations.operator import ListedOrganization, OrganizationFilter
from domain.admin_organizations.paging import Listing, Page, page_of
from domain.audit.record import EVENTS
from domain.audit.search import AuditEvent
from domain.context import Context
from domain.keyset import Position
from domain.organizations import pending, teams
from domain.organizations.pending import InvitationWithTeams
from domain.organizations.policy import TeamPolicy
from domain.ports import SearchTimedOut
from models import Audit, User
from models.member import MEMBERS_WITH_USERS, MEMBERSHIPS_OF_USER, Member, MemberRow, MemberWithUser
from models.organization import Organization, OrganizationRow
from models.statements import table_of
from models.team import TeamRow
from models.user import FIND_USER

_GROUPS = ("organization", "member", "invitation", "team", "team_member")
"""The first parts of the names of events about organizations."""
_COUNTED_WITHIN = timedelta(milliseconds=150)
_NUMBER = select(func.count()).select_from(table_of(Organization))
_EVENT_COLUMNS = tuple(col(getattr(Audit, name)) for name in AuditEvent._fields)


@dataclass(frozen=True, slots=True)
class OrganizationSearch:
    """The organizations to find; every condition has to match."""

    text: str = ""
    """A part of the name or slug, or an id."""
    member: str | None = None
    """A member, by id, email address or username."""
    without_owner: bool = False

    @property
    def filters(self) -> dict[str, str]:
        """The conditions, for the audit record of an export."""
        given = {"search": self.text, "member": self.member, "withoutOwner": "true" * self.without_owner}
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True, slots=True)
class FoundOrganizations:
    """A page of organizations, and how many match, at most `admin.count_limit`; `is_capped`: there are more."""

    page: Page[ListedOrganization]
    total: int
    is_capped: bool


class WholeOrganization(NamedTuple):
    """An organization with its pending invitations and its teams."""

    listed: ListedOrganization
    invitations: Sequence[InvitationWithTeams]
    teams: Sequence[TeamRow]


def require(ctx: Context, *, fresh: bool = False) -> None:
    """Check that the caller may manage organizations.

    Raises YouAreNotAllowedToManageOrganizations, TwoFactorRequired, SessionNotFresh.
    """
    # defence: ADM24 organizations
    permissions.require(ctx, "organization", "manage", YouAreNotAllowedToManageOrganizations, fresh=fresh)


async def list_organizations(
    ctx: Context,
    wanted: OrganizationSearch,
    *,
    after: Position | None = None,
    before: Position | None = None,
    limit: int,
) -> FoundOrganizations:
    """Return a page of organizations, newest first: that which follows `after`, or that which precedes `before`.

    Raises YouAreNotAllowedToManageOrganizations, TwoFactorRequired, SearchTooBroad.
    """
    require(ctx)
    conditions = operator.conditions(await _filter(ctx, wanted))
    page = await page_of(
        ctx,
        Listing(operator.LISTED.where(*conditions), Organization, _position, descending=True),
        after=after,
        before=before,
        limit=limit,
        is_scan=_is_scan(wanted),
    )
    most = ctx.policy[AdminPolicy].count_limit
    some = select(literal(1).label("one")).select_from(Organization).where(*conditions).limit(most + 1)
    [counted] = await paging.search(
        ctx, select(func.count()).select_from(some.subquery()), is_scan=_is_scan(wanted)
    )
    total = int(counted.scalar())
    return FoundOrganizations(page, min(total, most), is_capped=total > most)


async def export_organizations(
    ctx: Context, wanted: OrganizationSearch
) -> AsyncGenerator[Sequence[ListedOrganization], None]:
    """Return an iterator over the pages of all organizations that match, newest first.

    Raises YouAreNotAllowedToManageOrganizations, TwoFactorRequired, SearchTooBroad, ExportInProgress.
    """
    require(ctx)
    statement = operator.LISTED.where(*operator.conditions(await _filter(ctx, wanted)))
    listing = Listing(statement, Organization, _position, descending=True)

    async def read(after: Position | None) -> exports.Page[ListedOrganization]:
        page = await page_of(
            ctx, listing, after=after, before=None, limit=exports.PAGE, is_scan=_is_scan(wanted)
        )
        return page.rows, page.next

    permission = ("organization", "manage")
    return await Export(ctx, "organizations", wanted.filters, permission, read).begin()


async def count_organizations(ctx: Context) -> int | None:
    """Return the number of organizations, or None if counting takes too long.

    Raises YouAreNotAllowedToManageOrganizations, TwoFactorRequired.
    """
    require(ctx)
    try:
        [counted] = await ctx.resources.database.search([_NUMBER], _COUNTED_WITHIN, is_scan=False)
    except SearchTimedOut:
        return None
    return int(counted.scalar())


async def get_organization(ctx: Context, organization_id: str) -> WholeOrganization:
    """Return an organization with its pending invitations and its teams.

    Raises YouAreNotAllowedToManageOrganizations, TwoFactorRequired, NoSuchOrganization.
    """
    listed = await get_listed(ctx, organization_id)
    with_teams = ctx.policy[TeamPolicy].enabled
    return WholeOrganization(
        listed,
        await pending.of_organization(ctx, organization_id, pending_only=True),
        await teams.of_organization(ctx, organization_id) if with_teams else (),
    )


async def get_listed(ctx: Context, organization_id: str) -> ListedOrganization:
    """Return an organization and the number of its members.

    Raises YouAreNotAllowedToManageOrganizations, TwoFactorRequired, NoSuchOrganization.
    """
    require(ctx)
    found: ListedOrganization | None = (
        await ctx.db.execute(operator.LISTED.where(col(Organization.id) == organization_id))
    ).first()
    if found is None:
        raise NoSuchOrganization
    return found


async def list_members(
    ctx: Context,
    organization_id: str,
    text: str = "",
    *,
    after: Position | None = None,
    before: Position | None = None,
    limit: int,
) -> Page[MemberWithUser]:
    """Return a page of the members of an organization, the oldest first.

    It is the page that follows `after`, or that precedes `before`. `text` is a part of a name or address, or a user id;
    members that do not match are left out.

    Raises YouAreNotAllowedToManageOrganizations, TwoFactorRequired, NoSuchOrganization, SearchTooBroad.
    """
    await get_listed(ctx, organization_id)
    statement = MEMBERS_WITH_USERS.where(col(Member.organization_id) == organization_id)
    if text:
        parts = (
            func.lower(column).contains(text.lower(), autoescape=True) for column in (User.name, User.email)
        )
        statement = statement.where(or_(*parts, col(Member.user_id) == text))
    listing: Listing[MemberWithUser] = Listing(
        statement, Member, lambda row: Position(row.created_at, row.id), descending=False
    )
    return await page_of(ctx, listing, after=after, before=before, limit=limit, is_scan=False)


async def list_memberships(ctx: Context, user_id: str) -> Sequence[tuple[MemberRow, OrganizationRow]]:
    """Return the memberships of a user with their organizations, the oldest first.

    Raises YouAreNotAllowedToManageOrganizations, TwoFactorRequired.
    """
    require(ctx)
    return await ctx.reads.all(MEMBERSHIPS_OF_USER, user_id)


async def get_member(ctx: Context, organization_id: str, member_id: str) -> MemberWithUser | None:
    """Return a member of an organization, or None.

    Raises YouAreNotAllowedToManageOrganizations, TwoFactorRequired, NoSuchOrganization.
    """
    await get_listed(ctx, organization_id)
    statement = MEMBERS_WITH_USERS.where(
        col(Member.organization_id) == organization_id, col(Member.id) == member_id
    )
    row: MemberWithUser | None = (await ctx.db.execute(statement)).first()
    return row


async def list_events(
    ctx: Context, organization_id: str, *, after: Position | None = None, limit: int
) -> Page[AuditEvent]:
    """Return a page of the audit events about an organization, newest first; the organization may be deleted.

    Raises YouAreNotAllowedToManageOrganizations, YouAreNotAllowedToManageService, TwoFactorRequired, SearchTooBroad.
    """
    require(ctx)
    permissions.require(ctx, "service", "manage", YouAreNotAllowedToManageService)
    names = [name for name in EVENTS if name.partition(".")[0] in _GROUPS]
    details: Any = col(Audit.details)
    statement = (
        select(*_EVENT_COLUMNS)
        .where(col(Audit.event).in_(names), details["organizationId"].as_string() == organization_id)
        .execution_options(row=AuditEvent)
    )
    listing: Listing[AuditEvent] = Listing(
        statement, Audit, lambda row: Position(row.time, row.id), descending=True, time="time"
    )
    return await page_of(ctx, listing, after=after, before=None, limit=limit, is_scan=True)


async def _filter(ctx: Context, wanted: OrganizationSearch) -> OrganizationFilter:
    user_id = wanted.member
    if user_id is not None:
        named = FIND_USER.params(id=user_id, lowered=user_id.lower())
        [found] = await paging.search(ctx, named, is_scan=False)
        user = found.first()
        # A name that no user has must match no organization: None would leave the condition out.
        user_id = user_id if user is None else user.id
    return OrganizationFilter(wanted.text, user_id, wanted.without_owner)


def _is_scan(wanted: OrganizationSearch) -> bool:
    return wanted.member is None and bool(wanted.text or wanted.without_owner)


def _position(row: ListedOrganization) -> Position:
    return Position(row.organization.created_at, row.organization.id)
