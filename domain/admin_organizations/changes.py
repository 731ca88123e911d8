"""Change and delete organizations, their members and invitations, without being a member.

`seen` is the `version` that a form was shown with; None for a request without a form.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from domain.admin_organizations import operator
from domain.admin_organizations.errors import NoSuchOrganization
from domain.admin_organizations.search import get_listed, require
from domain.context import Context
from domain.organizations import access, fields, members, memberships, organizations, roles
from domain.organizations.errors import StaleOrganization
from domain.organizations.pending import InvitationWithTeams
from models.base import to_milliseconds
from models.member import MemberRow, MemberWithUser
from models.organization import OrganizationRow


def version(row: OrganizationRow | MemberRow | MemberWithUser) -> str:
    """Return a text that differs after every change of the organization or member.

    Forms contain it to detect concurrent changes.
    """
    return str(to_milliseconds(row.updated_at))


async def update(
    ctx: Context, organization_id: str, sent: Mapping[str, Any], *, seen: str | None = None
) -> OrganizationRow:
    """Change the fields of an organization that are present in `sent`; return the organization.

    Raises YouAreNotAllowedToManageOrganizations, TwoFactorRequired, NoSuchOrganization, StaleOrganization,
    ValidationError, OrganizationSlugAlreadyTaken.
    """
    require(ctx)
    row = await _locked(ctx, organization_id)
    values = fields.columns(sent, "data." if seen is None else "")
    if seen is not None:
        values = {name: value for name, value in values.items() if value != getattr(row, name)}
        if not values:
            return row
        _check(row, seen)
    return await organizations.store(ctx, row, values)


async def delete(ctx: Context, organization_id: str) -> OrganizationRow:
    """Delete an organization with everything that belongs to it; return it as it was.

    Raises YouAreNotAllowedToManageOrganizations, TwoFactorRequired, SessionNotFresh, NoSuchOrganization.
    """
    require(ctx, fresh=True)
    row = await _locked(ctx, organization_id)
    await organizations.delete_row(ctx, row.id)
    return row


async def set_role(
    ctx: Context, organization_id: str, member_id: str, role: str | Sequence[str], *, seen: str | None = None
) -> MemberRow:
    """Replace the roles of a member; return the member.

    Raises YouAreNotAllowedToManageOrganizations, TwoFactorRequired, RoleNotFound, NoSuchOrganization, MemberNotFound,
    StaleOrganization, YouCannotLeaveTheOrganizationWithoutAnOwner.
    """
    require(ctx)
    names = roles.names_of(ctx.policy, role)
    await get_listed(ctx, organization_id)
    target = await operator.locked_member(ctx, organization_id, member_id)
    if seen is not None and roles.text_of(names) != target.member.role:
        _check(target.member, seen)
    return await members.set_role(ctx, target, names)


async def remove_member(ctx: Context, organization_id: str, member_id: str) -> MemberWithUser:
    """Remove a member; return the member as it was.

    Raises YouAreNotAllowedToManageOrganizations, TwoFactorRequired, NoSuchOrganization, MemberNotFound,
    YouCannotLeaveTheOrganizationAsTheOnlyOwner.
    """
    require(ctx)
    await get_listed(ctx, organization_id)
    target = await operator.locked_member(ctx, organization_id, member_id)
    found = await memberships.with_user(ctx, target.member)
    await members.remove_from(ctx, target)
    return found


async def cancel_invitation(ctx: Context, organization_id: str, invitation_id: str) -> InvitationWithTeams:
    """Cancel a pending invitation of an organization; return the invitation.

    Raises YouAreNotAllowedToManageOrganizations, TwoFactorRequired, NoSuchOrganization, InvitationNotFound.
    """
    require(ctx)
    await get_listed(ctx, organization_id)
    return await operator.cancel_invitation(ctx, invitation_id, organization_id)


async def _locked(ctx: Context, organization_id: str) -> OrganizationRow:
    row = await access.lock(ctx, organization_id)
    if row is None:
        raise NoSuchOrganization
    return row


def _check(row: OrganizationRow | MemberRow, seen: str) -> None:
    """Check that a locked row was not changed after a form was shown. Raises StaleOrganization."""
    if version(row) != seen:  # defence: C8 seen-organization
        raise StaleOrganization
