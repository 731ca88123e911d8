"""The pages where a manager of an organization changes the role of a member or removes the member."""

from contextlib import suppress

from domain.context import Context
from domain.organizations import access, forms, members, memberships
from domain.organizations.errors import MemberNotFound
from handlers import shapes
from handlers.account_pages import layout as account
from handlers.organization_pages import layout
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect
from models.member import MemberWithUser


# organization_pages.show_member
async def show_member(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    member: str | None = None,
) -> Page | Redirect:
    """Show a member whom the caller may manage: a form for the role, and a link to remove the member."""
    view = views.view(ctx, layout.path_of(id_, "/member"), callback_url, ui_locales, member=member)
    found = await layout.find(ctx, id_)
    row = None if found is None else await _managed(ctx, found, member)
    if found is None or row is None:
        return layout.not_allowed(view, id_)
    may_update = found.may(ctx, "member", "update")
    return account.render(
        ctx,
        view,
        "organization_member.html",
        organization=found.organization,
        path_of=layout.path_of,
        row=row,
        role=layout.role_name(view.localization, row.role),
        choices=layout.role_choices(ctx, view.localization, found, row.role) if may_update else (),
        may_remove=found.may(ctx, "member", "delete") and row.id != found.member.id,
        is_stale=view.form.code == "STALE_ORGANIZATION",
    )


# organization_pages.change_member_role
async def change_member_role(ctx: Context, id_: str, body: shapes.MemberRoleForm) -> Redirect:
    """Change the role of a member, unless the role was changed after the form was shown."""
    view = views.view(ctx)
    try:
        await forms.change_role(ctx, id_, body["member"], body["role"], former=body.get("former", ""))
    # A form that is sent twice, or from a stale page, has reached its goal already.
    except MemberNotFound:
        return view.redirect(layout.path_of(id_), reason="member-removed")
    return view.redirect(layout.path_of(id_), reason="role-changed")


# organization_pages.show_member_removal
async def show_member_removal(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    member: str | None = None,
) -> Page | Redirect:
    """Ask for confirmation before a member is removed."""
    view = views.view(ctx, layout.path_of(id_, "/member/remove"), callback_url, ui_locales, member=member)
    gettext = view.localization.gettext
    found = await layout.find(ctx, id_)
    row = None if found is None else await _managed(ctx, found, member)
    if found is None or row is None or not found.may(ctx, "member", "delete"):
        return layout.not_allowed(view, id_)
    needed = layout.ERROR_TEXTS["YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER"]
    is_only_owner = await memberships.is_only_owner(ctx, row.member)
    return account.render(
        ctx,
        view,
        "removal.html",
        heading=gettext("Remove this member?"),
        name=row.name or row.email,
        effect=gettext(
            "They lose their access to the organization, and the invitations that they sent are canceled."
        ),
        is_last=False,
        obstacle=gettext(needed) if is_only_owner else None,
        field="member",
        id=row.id,
        button=gettext("Remove"),
        back=layout.path_of(id_),
    )


# organization_pages.remove_member
async def remove_member(ctx: Context, id_: str, body: shapes.OrganizationMemberForm) -> Redirect:
    """Remove a member."""
    view = views.view(ctx)
    # A form that is sent twice, or from a stale page, has reached its goal already.
    with suppress(MemberNotFound):
        await members.remove(ctx, body["member"], id_)
    return view.redirect(layout.path_of(id_), reason="member-removed")


async def _managed(ctx: Context, found: layout.Found, member_id: str | None) -> MemberWithUser | None:
    """Return a member whom the caller may change or remove; None if there is none."""
    may = found.may(ctx, "member", "update") or found.may(ctx, "member", "delete")
    if not member_id or not may:
        return None
    member = await access.find_member_by_id(ctx, found.organization.id, member_id)
    if member is None or not found.outranks(ctx, member.role):
        return None
    return await memberships.with_user(ctx, member)
