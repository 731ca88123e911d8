"""The common parts of the pages of organizations: paths, the look-up of the caller's membership, names of roles."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from domain.context import Context
from domain.localization import N_, Localization
from domain.organizations import organizations, roles
from domain.organizations.errors import UserIsNotAMemberOfTheOrganizationForbidden
from domain.organizations.policy import OrganizationPolicy
from domain.users.roles import split
from handlers.pages.view import View
from handlers.responses.reply import Redirect
from models.member import MemberRow
from models.organization import OrganizationRow

ERROR_TEXTS: Mapping[str, str] = {
    "INVITATION_LIMIT_REACHED": N_("There are as many open invitations as are allowed. Cancel one first."),
    "INVITATION_NOT_FOUND": N_("That invitation has been answered or canceled, or it has expired."),
    "ORGANIZATION_ALREADY_EXISTS": N_("Another organization has this short name. Choose another one."),
    "ORGANIZATION_MEMBERSHIP_LIMIT_REACHED": N_(
        "The organization has as many members as are allowed. Ask one of its administrators to make room."
    ),
    "ORGANIZATION_SLUG_ALREADY_TAKEN": N_("Another organization has this short name. Choose another one."),
    "STALE_ORGANIZATION": N_(
        "This was changed after you opened the form, so nothing was saved. Check the fields and save again."
    ),
    "TEAM_IS_MANAGED_BY_A_DIRECTORY": N_("A directory manages this team, so it can only be changed there."),
    "TEAM_MEMBER_LIMIT_REACHED": N_("The team has as many members as are allowed."),
    "UNABLE_TO_REMOVE_LAST_TEAM": N_("This is the last team, so it cannot be removed."),
    "USER_IS_ALREADY_A_MEMBER_OF_THIS_ORGANIZATION": N_("The user with this address is a member already."),
    "USER_IS_ALREADY_INVITED_TO_THIS_ORGANIZATION": N_(
        "There is an open invitation for this address. Send that one again, or cancel it first."
    ),
    "USER_IS_DISABLED_BY_THE_DIRECTORY": N_(
        "The directory of the organization has disabled this person, so only it can enable them."
    ),
    "USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION": N_(
        "No member of the organization has this address. Invite the person first."
    ),
    "YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER": N_(
        "An organization needs an owner, and there is no other. Make another member an owner first, or delete the "
        "organization."
    ),
    "YOU_CANNOT_LEAVE_THE_ORGANIZATION_WITHOUT_AN_OWNER": N_(
        "An organization needs an owner, and there is no other. Make another member an owner first, or delete the "
        "organization."
    ),
    "YOU_HAVE_REACHED_THE_MAXIMUM_NUMBER_OF_ORGANIZATIONS": N_(
        "You are in as many organizations as are allowed. Leave one first."
    ),
    "YOU_HAVE_REACHED_THE_MAXIMUM_NUMBER_OF_TEAMS": N_(
        "The organization has as many teams as are allowed. Remove one first."
    ),
}

ERROR_FIELDS: Mapping[str, tuple[str, ...]] = {
    "ORGANIZATION_ALREADY_EXISTS": ("slug",),
    "ORGANIZATION_SLUG_ALREADY_TAKEN": ("slug",),
    "USER_IS_ALREADY_A_MEMBER_OF_THIS_ORGANIZATION": ("email",),
    "USER_IS_ALREADY_INVITED_TO_THIS_ORGANIZATION": ("email",),
    "USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION": ("email",),
    "YOU_CANNOT_LEAVE_THE_ORGANIZATION_WITHOUT_AN_OWNER": ("role",),
    "YOU_ARE_NOT_ALLOWED_TO_INVITE_USER_WITH_THIS_ROLE": ("role",),
}

FIELD_TEXTS: Mapping[str, str] = {
    "typedSlug": N_("This is not the short name of the organization."),
}

FIELD_LABELS: Mapping[str, str] = {"typedSlug": N_("Short name")}

LIST = "/organizations"
"""The path of the list of organizations below `pages.path`."""

_NAMES = {roles.OWNER: N_("Owner"), roles.ADMIN: N_("Administrator"), roles.MEMBER: N_("Member")}
_ORDER = (roles.MEMBER, roles.ADMIN, roles.OWNER)

NOTICES = {
    "created": N_("The organization has been created."),
    "saved": N_("Your changes are saved."),
    "active": N_("This is your active organization now."),
    "not-allowed": N_("Your role does not allow this."),
    "role-changed": N_("The role has been changed."),
    "member-removed": N_("That person is no longer a member."),
    "invited": N_(
        "The invitation has been created. Where this service sends emails, its link is on the way."
    ),
    "resent": N_("The invitation has been sent again. Only the newest link works."),
    "invitation-canceled": N_("The invitation has been canceled. Its link no longer works."),
    "invitation-gone": N_("That invitation has been answered or canceled, or it has expired."),
    "team-created": N_("The team has been created."),
    "team-renamed": N_("The new name is saved."),
    "team-removed": N_("The team has been removed. Its members are still members of the organization."),
    "team-gone": N_("That team has been removed."),
    "team-member-added": N_("That person is in the team now."),
    "team-member-removed": N_("That person is no longer in the team."),
}
"""The English texts that the page after a form shows, by the value of the query parameter `reason`."""


class Found(NamedTuple):
    """An organization and the caller's membership in it."""

    organization: OrganizationRow
    member: MemberRow

    def may(self, ctx: Context, resource: str, action: str) -> bool:
        """Return whether the caller's roles grant an action on a resource."""
        return roles.permits(ctx.policy, self.member.role, resource, action)

    def outranks(self, ctx: Context, role: str) -> bool:
        """Return whether the caller may grant and take away the roles in `role`, which commas separate."""
        return roles.outranks(ctx.policy, self.member.role, role)


def path_of(organization_id: str, rest: str = "") -> str:
    """Return the path of a page of an organization below `pages.path`; `rest` is its end, such as `/edit`."""
    return f"{LIST}/{quote(organization_id, safe='')}{rest}"


async def find(ctx: Context, organization_id: str) -> Found | None:
    """Return an organization with the caller's membership; None if it does not exist or the caller is not a member."""
    try:
        found = await organizations.get(ctx, organization_id)
    except UserIsNotAMemberOfTheOrganizationForbidden:
        return None
    return None if found is None else Found(*found)


def gone(view: View) -> Redirect:
    """Return the redirect to the list, which shows that there is no such organization with the caller as a member."""
    return view.redirect(LIST, reason="gone")


def not_allowed(view: View, organization_id: str) -> Redirect:
    """Return the redirect to the page of the organization, which shows that the caller's role does not allow this."""
    return view.redirect(path_of(organization_id), reason="not-allowed")


def role_name(localization: Localization, role: str) -> str:
    """Return the names of the roles in `role`, which commas separate, in the language of the page."""
    return ", ".join(localization.gettext(_NAMES[name]) if name in _NAMES else name for name in split(role))


def role_choices(
    ctx: Context, localization: Localization, found: Found, current: str | None = None
) -> Sequence[tuple[str, str]]:
    """Return the roles that the caller may grant, each with its name in the language of the page.

    `current`, the roles of a member as stored, comes first if it is not among them.
    """
    names = sorted(
        ctx.policy[OrganizationPolicy].roles,
        key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name),
    )
    offered = [name for name in names if found.outranks(ctx, name)]
    if current is not None and current not in offered:
        offered.insert(0, current)
    return [(name, role_name(localization, name)) for name in offered]
