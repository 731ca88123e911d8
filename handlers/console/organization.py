"""The page of one organization, and the forms that change it."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from domain.admin.errors import SearchTooBroad
from domain.admin_organizations import changes
from domain.admin_organizations import search as organization_search
from domain.admin_organizations.errors import NoSuchOrganization
from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.errors import Field, ValidationError
from domain.localization import N_
from domain.organizations import members
from domain.organizations.errors import InvitationNotFound, MemberNotFound
from domain.organizations.policy import OrganizationPolicy, TeamPolicy
from domain.users import lookup, roles
from domain.users.errors import UserNotFound
from handlers import shapes, wire
from handlers.console import audit, layout, registry
from handlers.console.view import ConsoleView, view
from handlers.positions import positions, time_position
from handlers.responses.reply import Page, Redirect

FIELD_LABELS = {"member": N_("User"), "roles": N_("Roles")}
NOTICES = {
    "organization-saved": N_("The organization is saved."),
    "organization-deleted": N_("The organization is deleted."),
    "organization-gone": N_("This organization no longer exists."),
    "member-added": N_("The member is added."),
    "member-roles-saved": N_("The roles are saved. They apply from the next request."),
    "member-removed": N_("The member is removed. An email tells them."),
    "member-gone": N_("This user is no longer a member."),
    "invitation-canceled": N_("The invitation is canceled. Its link no longer works."),
    "invitation-gone": N_("That invitation has been answered or canceled, or it has expired."),
}
_ROLE = "role-"
_FIRST = 50
"""How many invitations and how many teams the page shows unless all are requested."""
_EVENTS = 20


# console.organization.show
async def show(
    ctx: Context,
    id_: str,
    ui_locales: str | None = None,
    search: str | None = None,
    all_: str | None = None,
    after: str | None = None,
    before: str | None = None,
) -> Page:
    """Show an organization with a page of its members.

    `search` selects members. Unless `all_` is given, only the first 50 invitations and teams are shown.
    """
    after_position, before_position = positions(after, before, time_position)
    text = (search or "").strip()
    whole = await organization_search.get_organization(ctx, id_)
    row, page = whole.listed.organization, page_of(id_)
    found = await organization_search.list_members(
        ctx,
        id_,
        text,
        after=after_position,
        before=before_position,
        limit=ctx.policy[ConsolePolicy].page_size,
    )
    here = view(ctx, page, ui_locales, search=text or None, all=all_ or None)
    first = None if all_ else _FIRST
    return layout.render(
        ctx,
        here,
        "organization/show.html",
        organization=row,
        number_of_members=whole.listed.members,
        page=page,
        metadata=row.custom_data,
        members=[{"member": one, "roles": roles.split(one.role)} for one in found.rows],
        searched=text,
        previous_url=found.previous and here.url(page, **here.query, before=wire.cursor(found.previous)),
        next_url=found.next and here.url(page, **here.query, after=wire.cursor(found.next)),
        invitations=[(one.invitation, roles.split(one.invitation.role)) for one in whole.invitations[:first]],
        number_of_invitations=len(whole.invitations),
        teams=whole.teams[:first],
        number_of_teams=len(whole.teams),
        with_teams=ctx.policy[TeamPolicy].enabled,
        all_url=here.url(page, **{**here.query, "all": "true"}),
        events=await _events(ctx, here, id_),
        with_events=registry.may(ctx, "service", "manage"),
    )


async def _events(ctx: Context, here: ConsoleView, organization_id: str) -> Sequence[audit.Line] | None:
    """Return the newest audit events; None if the search takes too long, nothing if the caller may not read them."""
    if not registry.may(ctx, "service", "manage"):
        return ()
    try:
        found = await organization_search.list_events(ctx, organization_id, limit=_EVENTS)
    except SearchTooBroad:
        return None
    return await audit.lines(ctx, here, found.rows)


def page_of(organization_id: str) -> str:
    """Return the path of the page of an organization, below the path of the console."""
    return f"/organizations/{quote(organization_id, safe='')}"


async def _show_form(
    ctx: Context,
    organization_id: str,
    act: str,
    template: str,
    ui_locales: str | None,
    query: Mapping[str, str | None] | None = None,
    **values: Any,
) -> Page:
    """Return the page with a form that changes an organization; `act` is the last part of the page's path."""
    row = (await organization_search.get_listed(ctx, organization_id)).organization
    page = page_of(organization_id)
    here = view(ctx, f"{page}/{act}", ui_locales, **(query or {}))
    return layout.render(
        ctx,
        here,
        f"organization/{template}",
        organization=row,
        version=changes.version(row),
        organization_url=here.url(page),
        action=here.action(f"{page}/{act}"),
        **values,
    )


# console.organization.show_edit
async def show_edit(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Show an organization as a form."""
    return await _show_form(ctx, id_, "edit", "edit.html", ui_locales)


# console.organization.update
async def update(ctx: Context, id_: str, body: shapes.ConsoleOrganizationForm) -> Redirect:
    """Change an organization, unless it was changed after the form was shown."""
    here = view(ctx)
    wanted: dict[str, Any] = {"name": body["name"].strip(), "slug": body["slug"]}
    if "logo" in body:
        wanted["logo"] = body["logo"].strip() or None
    await changes.update(ctx, id_, wanted, seen=body.get("version", ""))
    return layout.done(ctx, here, page_of(id_), "organization-saved")


def _role_choices(ctx: Context, chosen: Sequence[str]) -> Sequence[tuple[str, bool]]:
    return [(name, name in chosen) for name in ctx.policy[OrganizationPolicy].roles]


def _chosen_roles(body: Mapping[str, Any]) -> list[str]:
    """Return the roles that are ticked in a form. Raises ValidationError if none is ticked."""
    chosen = [name.removeprefix(_ROLE) for name in body if name.startswith(_ROLE)]
    if not chosen:
        problem = "must have at least one role"
        raise ValidationError(f"[body.roles] {problem}", Field("body", "roles", problem))
    return chosen


# console.organization.show_addition
async def show_addition(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Ask for a user to add to an organization, and for the roles."""
    choices = _role_choices(ctx, ["member"])
    return await _show_form(ctx, id_, "add-member", "add_member.html", ui_locales, choices=choices)


# console.organization.add_member
async def add_member(ctx: Context, id_: str, body: shapes.ConsoleAdditionForm) -> Redirect:
    """Add a user to an organization without an invitation."""
    here, chosen = view(ctx), _chosen_roles({**body})
    organization_search.require(ctx)
    user = await lookup.look_up(ctx, body["member"].strip())
    if user is None:
        raise UserNotFound
    await members.add_by_administrator(ctx, user.id, chosen, id_)
    return layout.done(ctx, here, page_of(id_), "member-added")


# console.organization.show_roles
async def show_roles(
    ctx: Context, id_: str, member: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Show the roles of a member as a form."""
    found = await organization_search.get_member(ctx, id_, member or "")
    if found is None:
        return layout.done(ctx, view(ctx, None, ui_locales), page_of(id_), "member-gone")
    names = roles.split(found.role)
    return await _show_form(
        ctx,
        id_,
        "member-roles",
        "roles.html",
        ui_locales,
        {"member": member},
        member=found,
        member_version=changes.version(found),
        choices=_role_choices(ctx, names),
        unknown=[name for name in names if name not in ctx.policy[OrganizationPolicy].roles],
    )


# console.organization.set_roles
async def set_roles(ctx: Context, id_: str, body: shapes.ConsoleMemberRolesForm) -> Redirect:
    """Replace the roles of a member, unless the member was changed after the form was shown."""
    here, chosen = view(ctx), _chosen_roles({**body})
    try:
        await changes.set_role(ctx, id_, body["member"], chosen, seen=body.get("version", ""))
    except MemberNotFound:
        return layout.done(ctx, here, page_of(id_), "member-gone")
    return layout.done(ctx, here, page_of(id_), "member-roles-saved")


# console.organization.show_removal
async def show_removal(
    ctx: Context, id_: str, member: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Ask for confirmation before a member is removed."""
    found = await organization_search.get_member(ctx, id_, member or "")
    if found is None:
        return layout.done(ctx, view(ctx, None, ui_locales), page_of(id_), "member-gone")
    return await _show_form(
        ctx, id_, "remove-member", "remove_member.html", ui_locales, {"member": member}, member=found
    )


# console.organization.remove_member
async def remove_member(ctx: Context, id_: str, body: shapes.ConsoleMemberForm) -> Redirect:
    """Remove a member."""
    here = view(ctx)
    try:
        await changes.remove_member(ctx, id_, body["member"])
    except MemberNotFound:  # A form that is sent twice.
        return layout.done(ctx, here, page_of(id_), "member-gone")
    return layout.done(ctx, here, page_of(id_), "member-removed")


# console.organization.show_cancellation
async def show_cancellation(
    ctx: Context, id_: str, invitation: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Ask for confirmation before an invitation is canceled."""
    whole = await organization_search.get_organization(ctx, id_)
    found = next((one.invitation for one in whole.invitations if one.invitation.id == invitation), None)
    if found is None:
        return layout.done(ctx, view(ctx, None, ui_locales), page_of(id_), "invitation-gone")
    query = {"invitation": invitation}
    return await _show_form(
        ctx, id_, "cancel-invitation", "cancel_invitation.html", ui_locales, query, invitation=found
    )


# console.organization.cancel_invitation
async def cancel_invitation(ctx: Context, id_: str, body: shapes.ConsoleInvitationForm) -> Redirect:
    """Cancel an invitation."""
    here = view(ctx)
    try:
        await changes.cancel_invitation(ctx, id_, body["invitation"])
    except InvitationNotFound:  # A form that is sent twice, or an answer that came first.
        return layout.done(ctx, here, page_of(id_), "invitation-gone")
    return layout.done(ctx, here, page_of(id_), "invitation-canceled")


# console.organization.show_deletion
async def show_deletion(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Ask for confirmation before an organization is deleted."""
    organization_search.require(ctx, fresh=True)
    listed = await organization_search.get_listed(ctx, id_)
    return await _show_form(ctx, id_, "delete", "delete.html", ui_locales, number_of_members=listed.members)


# console.organization.delete
async def delete(ctx: Context, id_: str, body: shapes.ConsoleOrganizationDeletionForm) -> Redirect:
    """Delete an organization if its slug was typed as confirmation."""
    here = view(ctx)
    try:
        listed = await organization_search.get_listed(ctx, id_)
        if body["typedSlug"].strip().lower() != listed.organization.slug:
            problem = "must be the slug of the organization"
            raise ValidationError(f"[body.typedSlug] {problem}", Field("body", "typedSlug", problem))
        await changes.delete(ctx, id_)
    except NoSuchOrganization:  # A form that is sent twice.
        return layout.done(ctx, here, "/organizations", "organization-gone")
    return layout.done(ctx, here, "/organizations", "organization-deleted")
