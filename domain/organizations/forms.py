"""Change organizations by forms of the hosted pages. Detects forms that are sent twice, or from an outdated page."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import col

from domain import identifiers
from domain.context import Context
from domain.errors import Field, ValidationError
from domain.organizations import (
    access,
    fields,
    invitations,
    members,
    memberships,
    organizations,
    pending,
    team_members,
    teams,
)
from domain.organizations.errors import (
    InvitationNotFound,
    MemberNotFound,
    OrganizationAlreadyExists,
    StaleOrganization,
    TeamNotFound,
    UserIsNotAMemberOfTheOrganization,
    YouAreNotAllowedToCreateANewTeamMember,
    YouHaveReachedTheMaximumNumberOfOrganizations,
)
from domain.organizations.invitations import InvitationRequest
from models.member import MEMBERS_WITH_USERS, Member, MemberWithUser
from models.organization import OrganizationRow
from models.statements import is_
from models.team import TeamMember

_DOUBLE_CLICK = timedelta(seconds=10)
"""How long after an invitation the same form counts as sent twice."""

_OF_TEAM = (
    MEMBERS_WITH_USERS.join(TeamMember, col(TeamMember.member_id) == col(Member.id))
    .where(is_(TeamMember.team_id, "team_id"))
    .order_by(col(TeamMember.created_at), col(TeamMember.id))
    .limit(access.MOST_IN_TEAM_LISTS)
)


async def create(ctx: Context, sent: Mapping[str, Any]) -> OrganizationRow:
    """Create an organization with the caller as its owner, and make it the active one of the session.

    A form that is sent twice gets the organization of the first time. Raises ValidationError,
    YouAreNotAllowedToCreateANewOrganization, YouHaveReachedTheMaximumNumberOfOrganizations, OrganizationAlreadyExists.
    """
    try:
        organization, _ = await organizations.create(ctx, sent, keep_active=False)
    except (OrganizationAlreadyExists, YouHaveReachedTheMaximumNumberOfOrganizations):
        wanted = fields.columns(sent)
        for member, row in await organizations.list_own(ctx):
            is_same = (row.name, row.slug) == (wanted["name"], wanted["slug"])
            if member.is_owner and is_same:  # defence: H7 created-organization
                return row
        raise
    return organization


async def change(
    ctx: Context, organization_id: str, sent: Mapping[str, Any], *, seen: datetime | None
) -> None:
    """Change the fields of an organization that are present in `sent`.

    `seen` is the organization's `updated_at` when the form was shown. Nothing is done if all values are already stored,
    so a form that is sent twice succeeds. Raises StaleOrganization if it was changed after `seen`; ValidationError,
    UserIsNotAMemberOfTheOrganizationForbidden, YouAreNotAllowedToUpdateThisOrganization, OrganizationSlugAlreadyTaken.
    """
    await access.lock(ctx, organization_id)
    found = await organizations.get(ctx, organization_id)
    if found is None:
        return
    wanted = fields.columns(sent)
    if all(getattr(found[0], name) == value for name, value in wanted.items()):
        return
    if found[0].updated_at != seen:  # defence: H6 seen-organization
        raise StaleOrganization
    await organizations.change(ctx, organization_id, sent)


async def delete(ctx: Context, organization_id: str, typed_slug: str) -> None:
    """Delete an organization; the user confirms it by typing the organization's slug.

    Raises ValidationError if `typed_slug` is not that slug; UserIsNotAMemberOfTheOrganizationForbidden,
    OrganizationDeletionDisabled, YouAreNotAllowedToDeleteThisOrganization.
    """
    found = await organizations.get(ctx, organization_id)
    if found is not None and typed_slug.strip().lower() != found[0].slug:
        problem = "must be the slug of the organization"
        raise ValidationError(f"[body.typedSlug] {problem}", Field("body", "typedSlug", problem))
    await organizations.remove(ctx, organization_id)


async def change_role(ctx: Context, organization_id: str, member_id: str, role: str, *, former: str) -> None:
    """Replace the roles of a member by `role`. Nothing is done if the member has these roles already.

    `former` are the roles when the form was shown. Raises StaleOrganization if the member has other roles now;
    MemberNotFound, YouAreNotAllowedToUpdateThisMember, RoleNotFound, YouCannotLeaveTheOrganizationWithoutAnOwner.
    """
    await access.require_member(ctx, organization_id, MemberNotFound)
    member = await access.find_member_by_id(ctx, organization_id, member_id)
    if member is None:
        raise MemberNotFound
    if member.role == role:
        return
    if member.role != former:  # defence: H6 seen-role
        raise StaleOrganization
    await members.change_role(ctx, member_id, role, organization_id)


async def invite(ctx: Context, organization_id: str, email: str, role: str, team_id: str) -> None:
    """Invite an address as `invitations.invite` does, and raise the same errors.

    A form that is sent twice invites once. An empty `team_id` stands for no team.
    """
    email = identifiers.email(email)
    await access.lock(ctx, organization_id)
    former = await pending.of_address(ctx, organization_id, email)
    if former is not None and former.is_open(ctx.now):
        is_same = (former.inviter_id, former.role) == (ctx.signed_in.user.id, role)
        if is_same and ctx.now - former.created_at < _DOUBLE_CLICK:  # defence: H7 invited
            return
    teams_joined = [team_id] if team_id else []
    request = InvitationRequest(email, role, organization_id, resend=False, team_ids=teams_joined)
    await invitations.invite(ctx, request)


async def resend(ctx: Context, organization_id: str, invitation_id: str, *, seen: datetime | None) -> None:
    """Send a pending invitation again as `invitations.invite` does, and raise the same errors.

    `seen` is its `expires_at` when the form was shown. If it has changed, the invitation was sent again meanwhile, and
    nothing is done. Raises also YouAreNotAMemberOfThisOrganization, YouAreNotAllowedToListInvitations,
    InvitationNotFound.
    """
    await access.lock(ctx, organization_id)
    for row, _ in await invitations.list_of_organization(ctx, organization_id):
        if row.id == invitation_id and row.is_open(ctx.now):
            if row.expires_at == seen:  # defence: H7 resent
                again = InvitationRequest(row.email, row.role, organization_id, resend=True, team_ids=())
                await invitations.invite(ctx, again)
            return
    raise InvitationNotFound


async def create_team(ctx: Context, organization_id: str, name: str, *, newest: str) -> None:
    """Create a team; a form that is sent twice creates one team.

    `newest` is the id of the organization's newest team when the form was shown. Raises ValidationError,
    YouAreNotAllowedToCreateTeamsInThisOrganization, YouHaveReachedTheMaximumNumberOfTeams.
    """
    await access.lock(ctx, organization_id)
    existing = await teams.of_organization(ctx, organization_id)
    if existing and existing[-1].id != newest and existing[-1].name == name:  # defence: H7 created-team
        return
    await teams.create(ctx, name, organization_id)


async def rename_team(ctx: Context, organization_id: str, team_id: str, name: str, *, former: str) -> None:
    """Rename a team. Nothing is done if it has this name already.

    `former` is the name when the form was shown. Raises StaleOrganization if the team has another name now;
    ValidationError, YouAreNotAllowedToAccessThisOrganization, YouAreNotAllowedToUpdateThisTeam, TeamNotFound,
    TeamIsManagedByADirectory.
    """
    await access.lock(ctx, organization_id)
    team = next((one for one in await teams.list_teams(ctx, organization_id) if one.id == team_id), None)
    if team is None:
        raise TeamNotFound
    if team.name == name:
        return
    if team.name != former:  # defence: H6 seen-team
        raise StaleOrganization
    await teams.rename(ctx, team_id, name, organization_id)


async def add_team_member(ctx: Context, organization_id: str, team_id: str, email: str) -> None:
    """Add the member with this email address to a team.

    Raises InvalidEmail, YouAreNotAllowedToCreateANewTeamMember, UserIsNotAMemberOfTheOrganization, TeamNotFound,
    TeamIsManagedByADirectory, TeamMemberLimitReached.
    """
    email = identifiers.email(email)
    error = YouAreNotAllowedToCreateANewTeamMember
    own = await access.require_member(ctx, organization_id, error)
    # Before the address is looked for: others may not learn who is a member.
    access.require(ctx, own, "member", "update", error)  # defence: ORG19 team-member-address
    found = await memberships.find_by_email(ctx, organization_id, email)
    if found is None:
        raise UserIsNotAMemberOfTheOrganization
    await team_members.add_member(ctx, team_id, found.user_id, organization_id)


async def list_team_members(ctx: Context, organization_id: str, team_id: str) -> Sequence[MemberWithUser]:
    """Return the members of a team with their users; only the caller if they may not see the other members.

    Raises TeamNotFound, UserIsNotAMemberOfTheTeamForbidden.
    """
    inside = await team_members.list_members(ctx, team_id, organization_id)
    own = await access.require_member(ctx, organization_id, MemberNotFound)
    if not memberships.sees_directory(ctx, own):  # defence: ORG19 team-directory
        return (
            [await memberships.with_user(ctx, own)] if own.user_id in {one.user_id for one in inside} else []
        )
    found: Sequence[MemberWithUser] = await ctx.db.execute(_OF_TEAM, team_id=team_id)
    return found
