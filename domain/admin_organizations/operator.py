"""Manage organizations without being a member: for the operator, and for administrators of the service.

The caller needs no permission in the organization, but its last owner cannot be removed or lose the role.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, exists, func, or_, select
from sqlmodel import col

from domain import errors, identifiers
from domain.context import Context
from domain.organizations import (
    access,
    fields,
    invitations,
    members,
    memberships,
    organizations,
    pending,
    roles,
)
from domain.organizations.errors import (
    InvitationNotFound,
    MemberNotFound,
    OrganizationNotFound,
    YouAreNotAllowedToInviteUsersToThisOrganization,
)
from domain.organizations.invitations import InvitationRequest
from domain.organizations.members import LockedMember
from domain.organizations.pending import InvitationWithTeams
from domain.users import locking, lookup
from models.invitation import INVITATIONS, Invitation, InvitationRow
from models.member import Member, MemberRow, MemberWithUser
from models.organization import (
    FIND_BY_SLUG,
    FIND_ORGANIZATION,
    ORGANIZATION_COLUMNS,
    Organization,
    OrganizationRow,
)
from models.statements import is_, table_of

NAME_LENGTH = 128
_SLUG = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?", re.ASCII)
_MEMBER = table_of(Member)
_OF_ORGANIZATION = _MEMBER.c.organization_id == col(Organization.id)
_NUMBER_OF_MEMBERS = select(func.count()).select_from(_MEMBER).where(_OF_ORGANIZATION).scalar_subquery()
_INVITATION = INVITATIONS.where(is_(Invitation.id, "invitation_id"))


@dataclass(frozen=True, slots=True)
class OrganizationFilter:
    """The organizations to find, by conditions that must all hold."""

    text: str = ""
    """A part of the name or slug, or an id; empty matches everything."""
    user_id: str | None = None
    """The id of a user who must be a member; None for no such condition."""
    without_owner: bool = False


@dataclass(frozen=True, slots=True)
class ListedOrganization:
    """An organization and the number of its members."""

    organization: OrganizationRow
    members: int

    @classmethod
    def _make(cls, columns: Sequence[Any]) -> "ListedOrganization":
        *organization, number = columns
        return cls(OrganizationRow(*organization), number)


LISTED = select(*ORGANIZATION_COLUMNS, _NUMBER_OF_MEMBERS).execution_options(row=ListedOrganization)
"""The query of all organizations with the numbers of their members; callers add conditions and a limit."""


def conditions(wanted: OrganizationFilter) -> Sequence[ColumnElement[bool]]:
    """Return the SQL conditions for a filter, on the table of organizations."""
    found: list[ColumnElement[bool]] = []
    if wanted.text:
        lowered = wanted.text.lower()
        found.append(
            or_(
                col(Organization.id) == wanted.text,
                col(Organization.slug).contains(lowered, autoescape=True),
                func.lower(col(Organization.name)).contains(lowered, autoescape=True),
            )
        )
    if wanted.user_id is not None:
        theirs = select(_MEMBER.c.organization_id).where(_MEMBER.c.user_id == wanted.user_id)
        found.append(col(Organization.id).in_(theirs.scalar_subquery()))
    if wanted.without_owner:
        found.append(~exists(select(_MEMBER.c.id).where(_OF_ORGANIZATION, _MEMBER.c.is_owner)))
    return found


async def list_organizations(
    ctx: Context, search: str = "", *, user: str | None = None, without_owner: bool = False
) -> Sequence[ListedOrganization]:
    """Return the organizations that match all conditions, newest first.

    `search` is a part of the name or slug, or an id; `user` is the id, address or username of a member. Raises NotFound
    if there is no such user.
    """
    user_id = None if user is None else (await lookup.find(ctx, user)).id
    wanted = conditions(OrganizationFilter(search, user_id, without_owner))
    newest_first = (col(Organization.created_at).desc(), col(Organization.id).desc())
    rows: Sequence[ListedOrganization] = await ctx.db.execute(
        LISTED.where(*wanted).order_by(*newest_first).execution_options(in_thread=True)
    )
    return rows


async def find(ctx: Context, organization: str) -> OrganizationRow:
    """Return the organization with this id or slug. Raises OrganizationNotFound."""
    by_id: OrganizationRow | None = (
        await ctx.db.execute(FIND_ORGANIZATION, organization_id=organization)
    ).first()
    # The id decides: members choose slugs, and one may look like the id of another organization.
    by_slug = by_id or (await ctx.db.execute(FIND_BY_SLUG, slug=organization.lower())).first()
    if by_slug is None:
        raise OrganizationNotFound
    return by_slug


async def locked(ctx: Context, organization: str) -> OrganizationRow:
    """Lock the organization with this id or slug, and return it. Raises OrganizationNotFound."""
    row = await access.lock(ctx, (await find(ctx, organization)).id)
    if row is None:
        raise OrganizationNotFound
    return row


async def create(ctx: Context, owner: str, requested: Mapping[str, Any]) -> OrganizationRow:
    """Create an organization; `owner` is the id, address or username of the user who becomes its owner.

    Raises ValidationError; NotFound if there is no such user; OrganizationAlreadyExists if the slug is taken.
    """
    values = _columns(requested)
    user = await locking.lock(ctx, (await lookup.find(ctx, owner)).id)
    if user is None:
        raise errors.NotFound("There is no such user")
    organization, _, _ = await organizations.add_with_owner(ctx, values, user.id)
    return organization


async def update(ctx: Context, organization: str, requested: Mapping[str, Any]) -> OrganizationRow:
    """Change the fields of an organization that are present in `requested`; `organization` is its id or slug.

    Raises ValidationError, also without any field; OrganizationNotFound, OrganizationSlugAlreadyTaken.
    """
    values = _columns(requested)
    return await organizations.store(ctx, await locked(ctx, organization), values)


async def delete(ctx: Context, organization: str) -> OrganizationRow:
    """Delete the organization with this id or slug, and all that belongs to it; return the deleted organization.

    Raises OrganizationNotFound.
    """
    row = await locked(ctx, organization)
    await organizations.delete_row(ctx, row.id)
    return row


async def list_members(ctx: Context, organization: str) -> Sequence[MemberWithUser]:
    """Return the members of the organization with this id or slug, owners first. Raises OrganizationNotFound."""
    return await memberships.all_of(ctx, (await find(ctx, organization)).id)


async def add_member(ctx: Context, organization: str, user: str, role: str) -> MemberRow:
    """Make a user, named by id, address or username, a member of the organization with this id or slug.

    Raises OrganizationNotFound, RoleNotFound; NotFound if there is no such user; UserIsDisabledByTheDirectory,
    UserIsAlreadyAMemberOfThisOrganization, OrganizationMembershipLimitReached,
    YouHaveReachedTheMaximumNumberOfOrganizations.
    """
    names = roles.names_of(ctx.policy, role)
    row = await find(ctx, organization)
    return await members.add_directly(ctx, row.id, (await lookup.find(ctx, user)).id, names)


async def set_role(ctx: Context, organization: str, user: str, role: str) -> MemberRow:
    """Replace the roles of a member; `user` is the id, address or username of the member's user.

    Raises OrganizationNotFound, RoleNotFound; NotFound if there is no such user; MemberNotFound,
    YouCannotLeaveTheOrganizationWithoutAnOwner.
    """
    names = roles.names_of(ctx.policy, role)
    return await members.set_role(ctx, await _member_of_user(ctx, organization, user), names)


async def remove_member(ctx: Context, organization: str, user: str) -> MemberRow:
    """Remove a member, and return it; `user` is the id, address or username of the member's user.

    Raises OrganizationNotFound; NotFound if there is no such user; MemberNotFound,
    YouCannotLeaveTheOrganizationAsTheOnlyOwner.
    """
    target = await _member_of_user(ctx, organization, user)
    await members.remove_from(ctx, target)
    return target.member


async def _member_of_user(ctx: Context, organization: str, user: str) -> LockedMember:
    row = await find(ctx, organization)
    member = await access.find_member(ctx, row.id, (await lookup.find(ctx, user)).id)
    if member is None:
        raise MemberNotFound
    return await locked_member(ctx, row.id, member.id)


async def locked_member(ctx: Context, organization_id: str, member_id: str) -> LockedMember:
    """Lock a member's user and organization, and return them with the member. Raises MemberNotFound."""
    target = await members.locked(ctx, organization_id, member_id)
    if target is None:
        raise MemberNotFound
    return target


async def invite(ctx: Context, organization: str, email: str, role: str, inviter: str) -> InvitationWithTeams:
    """Invite an address in the name of a member, who needs the permission to invite; return the invitation.

    `inviter` is the id, address or username of the member's user. Raises NotFound if there is no such user;
    MemberNotFound if the user is not a member; OrganizationNotFound, and the other errors of `invitations.invite`.
    """
    request = InvitationRequest(identifiers.email(email), role, None, resend=False, team_ids=())
    user = await lookup.find(ctx, inviter)
    row = await locked(ctx, organization)
    member = await access.find_member(ctx, row.id, user.id)
    if member is None:
        raise MemberNotFound
    if user.is_banned(ctx.now):
        access.refuse(ctx, row.id, YouAreNotAllowedToInviteUsersToThisOrganization)
    return await invitations.invite_as(ctx, row, member, user, request)


async def list_invitations(ctx: Context, organization: str) -> Sequence[InvitationWithTeams]:
    """Return the newest invitations of an organization, whatever their status. Raises OrganizationNotFound."""
    return await pending.of_organization(ctx, (await find(ctx, organization)).id, pending_only=False)


async def cancel_invitation(
    ctx: Context, invitation_id: str, organization_id: str | None = None
) -> InvitationWithTeams:
    """Cancel a pending invitation, and return it. `organization_id` is the organization it must belong to; None: any.

    Raises InvitationNotFound.
    """
    row: InvitationRow | None = (await ctx.db.execute(_INVITATION, invitation_id=invitation_id)).first()
    # defence: ORG8 invitation-scope
    if row is None or organization_id not in (None, row.organization_id):
        raise InvitationNotFound
    if not row.is_open(ctx.now):
        raise InvitationNotFound
    return await invitations.cancel_row(ctx, row)


def _columns(requested: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the columns of fields that no contract has checked. Raises ValidationError."""
    name, slug, logo = (requested.get(field) for field in ("name", "slug", "logo"))
    if name is not None and (len(name) > NAME_LENGTH or not identifiers.is_name(name)):
        raise errors.ValidationError(
            f"The name is longer than {NAME_LENGTH} characters or holds control characters"
        )
    if slug is not None and _SLUG.fullmatch(slug) is None:
        raise errors.ValidationError(
            "The slug must be 1 to 64 letters, digits, _ and -, and begin and end with a letter or digit"
        )
    if logo is not None and identifiers.image_or_none(logo) is None:
        raise errors.ValidationError("The logo must be an http or https URL")
    return fields.columns(requested)
