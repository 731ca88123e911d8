"""The page that lists the user's organizations and invitations, and creates an organization."""

from collections.abc import Sequence
from typing import Any

from domain.context import Context
from domain.localization import N_
from domain.organizations import forms, invitation_answers, organizations
from domain.organizations.errors import (
    EmailVerificationRequiredForInvitation,
    UserIsNotAMemberOfTheOrganizationForbidden,
)
from domain.organizations.pending import InvitationWithTeams
from domain.organizations.policy import OrganizationPolicy
from handlers import shapes
from handlers.account_pages import layout as account
from handlers.account_pages.registry import NavigationItem
from handlers.organization_pages import layout
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect

ACCOUNT_NAVIGATION = (
    NavigationItem(
        path=layout.LIST,
        label=N_("Organizations"),
        position=100,
        exists=lambda policy: policy[OrganizationPolicy].enabled,
    ),
)

_NOTICES = {
    **layout.NOTICES,
    "inactive": N_("No organization is active now."),
    "left": N_("You have left the organization."),
    "deleted": N_("The organization has been deleted."),
    "gone": N_("That organization does not exist, or you are not a member of it."),
}


# organization_pages.show_organizations
async def show_organizations(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None, reason: str | None = None
) -> Page:
    """Show the organizations of the caller, invitations that wait for an answer, and a form for a new organization."""
    view = views.view(ctx, layout.LIST, callback_url, ui_locales)
    active_id = ctx.signed_in.session.active_organization_id
    return account.render(
        ctx,
        view,
        "organizations.html",
        notices=_NOTICES,
        reason=reason,
        own=[
            (row, layout.role_name(view.localization, member.role), row.id == active_id)
            for member, row in await organizations.list_own(ctx)
        ],
        path_of=layout.path_of,
        waiting=[
            (each.invitation, name, layout.role_name(view.localization, each.invitation.role))
            for each, name in await _waiting(ctx)
        ],
        may_create=organizations.may_create(ctx),
    )


async def _waiting(ctx: Context) -> Sequence[tuple[InvitationWithTeams, str]]:
    """Return the invitations for the caller's email address; none if the address must be verified first."""
    try:
        return await invitation_answers.list_of_user(ctx)
    except EmailVerificationRequiredForInvitation:
        return ()


# organization_pages.create_organization
async def create_organization(ctx: Context, body: shapes.OrganizationForm) -> Redirect:
    """Create an organization, and redirect to its page."""
    view = views.view(ctx)
    organization = await forms.create(ctx, values_of(body))
    return view.redirect(layout.path_of(organization.id), reason="created")


# organization_pages.set_active_organization
async def set_active_organization(ctx: Context, body: shapes.ActiveOrganizationForm) -> Redirect:
    """Make an organization the active one of the session; if the form names none, make none active."""
    view = views.view(ctx)
    chosen = body.get("organization") or None
    try:
        await organizations.set_active(ctx, chosen, None, is_named=True)
    except UserIsNotAMemberOfTheOrganizationForbidden:
        return layout.gone(view)
    return view.redirect(layout.LIST, reason="inactive" if chosen is None else "active")


def values_of(body: shapes.OrganizationForm) -> dict[str, Any]:
    """Return the fields of an organization from a form, by their JSON names; an empty logo becomes None."""
    values: dict[str, Any] = {"name": body["name"].strip() or body["name"], "slug": body["slug"].strip()}
    if "logo" in body:
        values["logo"] = body["logo"].strip() or None
    return values
