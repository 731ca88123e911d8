"""The common parts of the pages of organizations: their paths, the caller's membership, the names of roles."""

from collections.abc import Sequence
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

LIST = "/organizations"
"""The path of the list below `pages.path`."""

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
"""The texts that follow a form, by the value of the query parameter `reason`."""


class Found(NamedTuple):
    """An organization, and the caller's membership."""

    organization: OrganizationRow
    member: MemberRow

    def may(self, ctx: Context, resource: str, action: str) -> bool:
        """Return whether the caller's roles grant an action on a resource."""
        return roles.permits(ctx.policy, self.member.role, resource, action)

    def outranks(self, ctx: Context, role: str) -> bool:
        """Return whether the caller may grant and take away these roles."""
        return roles.outranks(ctx.policy, self.member.role, role)


def path_of(organization_id: str, rest: str = "") -> str:
    """Return the path of a page of an organization below `pages.path`."""
    return f"{LIST}/{quote(organization_id, safe='')}{rest}"


async def find(ctx: Context, organization_id: str) -> Found | None:
    """Return an organization of the caller; None for one that does not exist or that the caller is no member of."""
    try:
        found = await organizations.get(ctx, organization_id)
    except UserIsNotAMemberOfTheOrganizationForbidden:
        return None
    return None if found is None else Found(*found)


def gone(view: View) -> Redirect:
    """Return the redirect to the list, which says that the caller is not a member."""
    return view.redirect(LIST, reason="gone")


def not_allowed(view: View, organization_id: str) -> Redirect:
    """Return the redirect to the organization, which says that the caller may not do what a page is for."""
    return view.redirect(path_of(organization_id), reason="not-allowed")


def role_name(localization: Localization, role: str) -> str:
    """Return the names of roles, as stored, in the language of the page."""
    return ", ".join(localization.gettext(_NAMES[name]) if name in _NAMES else name for name in split(role))


def role_choices(
    ctx: Context, localization: Localization, found: Found, current: str | None = None
) -> Sequence[tuple[str, str]]:
    """Return the roles that the caller may grant, with their names, after the `current` ones if those are several."""
    names = sorted(
        ctx.policy[OrganizationPolicy].roles,
        key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name),
    )
    offered = [name for name in names if found.outranks(ctx, name)]
    if current is not None and current not in offered:
        offered.insert(0, current)
    return [(name, role_name(localization, name)) for name in offered]
