"""The operations of openapi/paths/admin_organizations.yaml.

For administrators: list, read, change and delete any organization, its members and its invitations.
"""

from collections.abc import AsyncGenerator, Sequence

from domain.admin_organizations import changes
from domain.admin_organizations import search as organization_search
from domain.admin_organizations.operator import ListedOrganization
from domain.admin_organizations.search import OrganizationSearch
from domain.context import Context
from domain.keyset import Position
from domain.organizations.policy import TeamPolicy
from handlers import shapes, teams, wire
from handlers.audit import event_shape
from handlers.organizations import invitation_shape, member_shape, organization_shape, with_user_shape
from handlers.positions import positions, time_position
from handlers.responses import spreadsheets
from handlers.responses.reply import Stream

_LIMIT = 100
"""The number of rows of a page if the request does not name one."""


# admin_organizations.list_all
async def list_all(
    ctx: Context,
    search: str | None = None,
    member: str | None = None,
    without_owner: bool | None = None,
    limit: int | None = None,
    after: str | None = None,
    before: str | None = None,
) -> shapes.ListedOrganizations:
    """Return a page of organizations. `member` is the id, email address or username of a user who must be a member."""
    newer, older = positions(after, before, time_position)
    found = await organization_search.list_organizations(
        ctx, _wanted(search, member, without_owner), after=newer, before=older, limit=limit or _LIMIT
    )
    return {
        "organizations": [listed_shape(one) for one in found.page.rows],
        "total": found.total,
        "totalCapped": found.is_capped,
        "previous": position_text(found.page.previous),
        "next": position_text(found.page.next),
    }


# admin_organizations.export
async def export(
    ctx: Context, search: str | None = None, member: str | None = None, without_owner: bool | None = None
) -> Stream:
    """Return all organizations that match the filters, as a CSV file."""
    wanted = _wanted(search, member, without_owner)
    return organizations_file(ctx, await organization_search.export_organizations(ctx, wanted))


# admin_organizations.get
async def get(ctx: Context, organization_id: str) -> shapes.WholeOrganization:
    """Return an organization."""
    whole = await organization_search.get_organization(ctx, organization_id)
    listed = listed_shape(whole.listed)
    shape: shapes.WholeOrganization = {
        "id": listed["id"],
        "name": listed["name"],
        "slug": listed["slug"],
        "logo": listed["logo"],
        "createdAt": listed["createdAt"],
        "metadata": listed["metadata"],
        "memberCount": listed["memberCount"],
        "invitations": [invitation_shape(ctx, each) for each in whole.invitations],
    }
    if ctx.policy[TeamPolicy].enabled:
        shape["teams"] = [teams.team_shape(row) for row in whole.teams]
    return shape


# admin_organizations.list_members
async def list_members(
    ctx: Context,
    organization_id: str,
    search: str | None = None,
    limit: int | None = None,
    after: str | None = None,
    before: str | None = None,
) -> shapes.OrganizationMemberPage:
    """Return a page of the members of an organization, the oldest first."""
    older, newer = positions(after, before, time_position)
    page = await organization_search.list_members(
        ctx, organization_id, (search or "").strip(), after=older, before=newer, limit=limit or _LIMIT
    )
    return {
        "members": [with_user_shape(row) for row in page.rows],
        "previous": position_text(page.previous),
        "next": position_text(page.next),
    }


# admin_organizations.list_events
async def list_events(
    ctx: Context,
    organization_id: str,
    cursor: str | None = None,
    limit: int | None = None,
) -> shapes.AuditEventPage:
    """Return a page of audit events about an organization. `cursor` is `nextCursor` of the previous page."""
    after = None if cursor is None else wire.position(cursor)
    page = await organization_search.list_events(ctx, organization_id, after=after, limit=limit or _LIMIT)
    return {
        "events": [event_shape(event) for event in page.rows],
        "nextCursor": None if page.next is None else wire.cursor(page.next),
    }


# admin_organizations.update
async def update(ctx: Context, body: shapes.UpdateOrganizationAsAdminRequest) -> shapes.Organization:
    """Change an organization."""
    return organization_shape(await changes.update(ctx, body["organizationId"], body["data"]))


# admin_organizations.delete
async def delete(ctx: Context, body: shapes.DeleteOrganizationAsAdminRequest) -> shapes.Organization:
    """Delete an organization."""
    return organization_shape(await changes.delete(ctx, body["organizationId"]))


# admin_organizations.set_member_role
async def set_member_role(ctx: Context, body: shapes.SetMemberRoleAsAdminRequest) -> shapes.Member:
    """Replace the roles of a member."""
    changed = await changes.set_role(ctx, body["organizationId"], body["memberId"], body["role"])
    return member_shape(changed)


# admin_organizations.remove_member
async def remove_member(ctx: Context, body: shapes.RemoveMemberAsAdminRequest) -> shapes.RemovedMember:
    """Remove a member."""
    removed = await changes.remove_member(ctx, body["organizationId"], body["memberId"])
    return {"member": with_user_shape(removed)}


# admin_organizations.cancel_invitation
async def cancel_invitation(ctx: Context, body: shapes.CancelInvitationAsAdminRequest) -> shapes.Invitation:
    """Cancel an invitation."""
    canceled = await changes.cancel_invitation(ctx, body["organizationId"], body["invitationId"])
    return invitation_shape(ctx, canceled)


def listed_shape(one: ListedOrganization) -> shapes.ListedOrganization:
    """Return an organization in the form of API responses, with the number of its members."""
    return {**organization_shape(one.organization), "memberCount": one.members}


def organizations_file(ctx: Context, pages: AsyncGenerator[Sequence[ListedOrganization], None]) -> Stream:
    """Return a CSV file of the organizations in `pages`, with the fields of `ListedOrganization` as columns."""
    columns = shapes.ListedOrganization.__annotations__
    return spreadsheets.stream("organizations", ctx.now, pages, listed_shape, columns)


def position_text(position: Position | None) -> str | None:
    """Encode a position in a list as text for a URL; return None for None."""
    return None if position is None else wire.cursor(position)


def _wanted(search: str | None, member: str | None, without_owner: bool | None) -> OrganizationSearch:
    return OrganizationSearch((search or "").strip(), member, bool(without_owner))
