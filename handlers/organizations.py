"""The operations of openapi/paths/organizations.yaml: organizations, their members and their invitations."""

from typing import Literal, cast

import orjson

from domain.context import Context
from domain.errors import Field, ValidationError
from domain.organizations import invitation_answers, invitations, member_lists, members, organizations
from domain.organizations.invitations import InvitationRequest
from domain.organizations.member_lists import MemberFilter, MemberQuery
from domain.organizations.pending import InvitationWithTeams
from domain.organizations.policy import TeamPolicy
from handlers import shapes, teams, wire
from models.member import MemberRow, MemberWithUser
from models.organization import OrganizationRow

_MEMBER_COLUMNS = {"id": "id", "userId": "user_id", "role": "role", "createdAt": "created_at"}
"""The fields by which members may be sorted and filtered, and their columns."""

Status = Literal["pending", "accepted", "rejected", "canceled"]

_FULL_MEMBERS = 1000
"""The number of members that `get_full` returns if the request does not name one."""


# organizations.create
async def create(ctx: Context, body: shapes.CreateOrganizationRequest) -> shapes.CreatedOrganization:
    """Create an organization."""
    keep_active = wire.flag(body.get("keepCurrentActiveOrganization"))
    organization, owner = await organizations.create(ctx, body, keep_active=keep_active)
    return {**organization_shape(organization), "members": [member_shape(owner)]}


# organizations.check_slug
async def check_slug(
    ctx: Context, body: shapes.CheckOrganizationSlugRequest
) -> shapes.OrganizationSlugStatus:
    """Check that a slug is free."""
    await organizations.check_slug(ctx, body["slug"])
    return {"status": True}


# organizations.list_own
async def list_own(ctx: Context) -> shapes.OrganizationList:
    """Return the organizations of the caller."""
    return [organization_shape(row) for _, row in await organizations.list_own(ctx)]


# organizations.get
async def get(
    ctx: Context, organization_id: str | None = None, organization_slug: str | None = None
) -> shapes.Organization | None:
    """Return an organization of the caller, by default the active one; None if none is named and none is active."""
    found = await organizations.get(ctx, organization_id, organization_slug)
    return None if found is None else organization_shape(found[0])


# organizations.get_full
async def get_full(
    ctx: Context,
    organization_id: str | None = None,
    organization_slug: str | None = None,
    members_limit: int | None = None,
) -> shapes.FullOrganization | None:
    """Return an organization with its members, invitations and teams."""
    limit = _FULL_MEMBERS if members_limit is None else members_limit
    full = await organizations.get_full(ctx, organization_id, organization_slug, members_limit=limit)
    if full is None:
        return None
    whole = full.organization
    shape: shapes.FullOrganization = {
        "id": whole.id,
        "name": whole.name,
        "slug": whole.slug,
        "logo": whole.logo,
        "createdAt": wire.instant(whole.created_at),
        "metadata": _metadata(whole),
        "members": [with_user_shape(each) for each in full.members],
        "invitations": [invitation_shape(ctx, each) for each in full.invitations],
    }
    if ctx.policy[TeamPolicy].enabled:
        shape["teams"] = [teams.team_shape(row) for row in full.teams]
    return shape


# organizations.set_active
async def set_active(ctx: Context, body: shapes.SetActiveOrganizationRequest) -> shapes.Organization | None:
    """Set the active organization of the session."""
    organization = await organizations.set_active(
        ctx, body.get("organizationId"), body.get("organizationSlug"), is_named="organizationId" in body
    )
    return None if organization is None else organization_shape(organization)


# organizations.update
async def update(ctx: Context, body: shapes.UpdateOrganizationRequest) -> shapes.Organization:
    """Change an organization."""
    changed = await organizations.change(ctx, body.get("organizationId"), body["data"])
    return organization_shape(changed)


# organizations.delete
async def delete(ctx: Context, body: shapes.DeleteOrganizationRequest) -> shapes.Organization:
    """Delete an organization."""
    return organization_shape(await organizations.remove(ctx, body["organizationId"]))


# organizations.has_permission
async def has_permission(
    ctx: Context, body: shapes.HasOrganizationPermissionRequest
) -> shapes.OrganizationPermissionCheck:
    """Return whether the caller's roles in an organization grant all of the given permissions."""
    granted = await organizations.has_permission(ctx, body.get("organizationId"), body["permissions"])
    return {"error": None, "success": granted}


# organizations.list_members
async def list_members(  # noqa: PLR0913 - one per parameter of the query
    ctx: Context,
    organization_id: str | None = None,
    organization_slug: str | None = None,
    limit: int | None = None,
    offset: int | None = None,
    sort_by: str | None = None,
    sort_direction: str | None = None,
    filter_field: str | None = None,
    filter_operator: str | None = None,
    filter_value: list[str] | None = None,
) -> shapes.MemberPage:
    """Return a page of the members of an organization, by default the active one."""
    query = MemberQuery(
        organization_id=organization_id,
        slug=organization_slug,
        condition=_condition(filter_field, filter_operator, filter_value),
        sort_by=_MEMBER_COLUMNS[sort_by or "createdAt"],
        descending=sort_direction == "desc",
        limit=100 if limit is None else limit,
        offset=offset or 0,
    )
    rows, total = await member_lists.list_members(ctx, query)
    return {"members": [with_user_shape(row) for row in rows], "total": total}


def _condition(name: str | None, operator: str | None, values: list[str] | None) -> MemberFilter | None:
    if name is None and operator is None and values is None:
        return None
    if name is None or values is None:
        missing = "filterField" if name is None else "filterValue"
        problem = "is required for a filter"
        raise ValidationError(f"[query.{missing}] {problem}", Field("query", missing, problem))
    return MemberFilter(_MEMBER_COLUMNS[name], operator or "eq", values)


# organizations.get_active_member
async def get_active_member(ctx: Context) -> shapes.MemberWithUser:
    """Return the membership of the caller in the active organization."""
    return with_user_shape(await members.get_active(ctx))


# organizations.get_active_member_role
async def get_active_member_role(
    ctx: Context,
    organization_id: str | None = None,
    organization_slug: str | None = None,
    user_id: str | None = None,
) -> shapes.MemberRole:
    """Return the roles of a member, by default of the caller in the active organization."""
    return {"role": await members.role_of(ctx, organization_id, organization_slug, user_id)}


# organizations.update_member_role
async def update_member_role(ctx: Context, body: shapes.UpdateMemberRoleRequest) -> shapes.Member:
    """Replace the roles of a member."""
    changed = await members.change_role(ctx, body["memberId"], body["role"], body.get("organizationId"))
    return member_shape(changed)


# organizations.remove_member
async def remove_member(ctx: Context, body: shapes.RemoveMemberRequest) -> shapes.RemovedMember:
    """Remove a member."""
    removed = await members.remove(ctx, body["memberIdOrEmail"], body.get("organizationId"))
    return {"member": with_user_shape(removed)}


# organizations.leave
async def leave(ctx: Context, body: shapes.LeaveOrganizationRequest) -> shapes.Member:
    """End the membership of the caller."""
    return member_shape(await members.leave(ctx, body["organizationId"]))


# organizations.add_member
async def add_member(ctx: Context, body: shapes.AddMemberRequest) -> shapes.Member:
    """Add a user to an organization without an invitation."""
    added = await members.add_by_administrator(
        ctx, body["userId"], body["role"], body.get("organizationId"), body.get("teamId")
    )
    return member_shape(added)


# organizations.invite_member
async def invite_member(ctx: Context, body: shapes.InviteMemberRequest) -> shapes.Invitation:
    """Invite the owner of an email address to an organization."""
    team_ids = body.get("teamId", [])
    request = InvitationRequest(
        email=body["email"],
        role=body["role"],
        organization_id=body.get("organizationId"),
        resend=wire.flag(body.get("resend")),
        team_ids=[team_ids] if isinstance(team_ids, str) else team_ids,
    )
    return invitation_shape(ctx, await invitations.invite(ctx, request))


# organizations.get_invitation
async def get_invitation(ctx: Context, id_: str) -> shapes.InvitationDetails:
    """Return an invitation of the caller."""
    found = await invitation_answers.get(ctx, id_)
    return {
        **invitation_shape(ctx, found.invitation),
        "organizationName": found.organization.name,
        "organizationSlug": found.organization.slug,
        "inviterEmail": found.inviter.email,
    }


# organizations.accept_invitation
async def accept_invitation(ctx: Context, body: shapes.AnswerInvitationRequest) -> shapes.AcceptedInvitation:
    """Accept an invitation."""
    accepted = await invitation_answers.accept(ctx, body["invitationId"])
    return {
        "invitation": invitation_shape(ctx, accepted.invitation),
        "member": member_shape(accepted.member),
    }


# organizations.reject_invitation
async def reject_invitation(ctx: Context, body: shapes.AnswerInvitationRequest) -> shapes.RejectedInvitation:
    """Reject an invitation."""
    rejected = await invitation_answers.reject(ctx, body["invitationId"])
    return {"invitation": invitation_shape(ctx, rejected), "member": None}


# organizations.cancel_invitation
async def cancel_invitation(ctx: Context, body: shapes.CancelInvitationRequest) -> shapes.Invitation:
    """Cancel an invitation."""
    return invitation_shape(ctx, await invitations.cancel(ctx, body["invitationId"]))


# organizations.list_invitations
async def list_invitations(ctx: Context, organization_id: str | None = None) -> shapes.InvitationList:
    """Return the invitations of an organization."""
    found = await invitations.list_of_organization(ctx, organization_id)
    return [invitation_shape(ctx, each) for each in found]


# organizations.list_user_invitations
async def list_user_invitations(ctx: Context, email: str | None = None) -> shapes.UserInvitationList:
    """Return the invitations for the caller's email address; the contract allows no other `email`."""
    return [
        {**invitation_shape(ctx, invitation), "organizationName": name}
        for invitation, name in await invitation_answers.list_of_user(ctx)
    ]


def organization_shape(row: OrganizationRow) -> shapes.Organization:
    """Return an organization in the form of API responses."""
    return {
        "id": row.id,
        "name": row.name,
        "slug": row.slug,
        "logo": row.logo,
        "createdAt": wire.instant(row.created_at),
        "metadata": _metadata(row),
    }


def _metadata(row: OrganizationRow) -> shapes.OrganizationMetadata | None:
    return None if row.custom_data is None else orjson.loads(row.custom_data)


def member_shape(row: MemberRow) -> shapes.Member:
    """Return a member in the form of API responses."""
    return {
        "id": row.id,
        "organizationId": row.organization_id,
        "userId": row.user_id,
        "role": row.role,
        "createdAt": wire.instant(row.created_at),
    }


def with_user_shape(row: MemberWithUser) -> shapes.MemberWithUser:
    """Return a member and their user in the form of API responses."""
    user: shapes.MemberUser = {"id": row.user_id, "name": row.name, "email": row.email, "image": row.image}
    return {**member_shape(row.member), "user": user}


def invitation_shape(ctx: Context, found: InvitationWithTeams) -> shapes.Invitation:
    """Return an invitation in the form of API responses, without its secret; `teamId` is absent if teams are off."""
    row = found.invitation
    shape: shapes.Invitation = {
        "id": row.id,
        "organizationId": row.organization_id,
        "email": row.email,
        "role": row.role,
        "status": cast(Status, row.status),
        "inviterId": row.inviter_id,
        "expiresAt": wire.instant(row.expires_at),
        "createdAt": wire.instant(row.created_at),
    }
    if ctx.policy[TeamPolicy].enabled:
        shape["teamId"] = ",".join(found.team_ids) or None
    return shape
