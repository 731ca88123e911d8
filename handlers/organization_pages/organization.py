"""The page of one organization: show, change, leave and delete it."""

from domain import identifiers
from domain.context import Context
from domain.organizations import forms, member_lists, members, memberships, pending, teams
from domain.organizations.errors import MemberNotFound, UserIsNotAMemberOfTheOrganizationForbidden
from domain.organizations.member_lists import MemberQuery
from domain.organizations.policy import OrganizationPolicy, TeamPolicy
from domain.sso.policy import SsoPolicy
from handlers import shapes, wire
from handlers.account_pages import layout as account
from handlers.organization_pages import layout
from handlers.organization_pages.overview import values_of
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect

_MEMBERS_SHOWN = 100


# organization_pages.show_organization
async def show_organization(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    number: int | None = None,
    reason: str | None = None,
) -> Page | Redirect:
    """Show an organization, its members, pending invitations and teams, with what the caller may do."""
    view = views.view(
        ctx,
        layout.path_of(id_),
        callback_url,
        ui_locales,
        number=None if number is None else str(number),
    )
    found = await layout.find(ctx, id_)
    if found is None:
        return layout.gone(view)
    rows, total = await member_lists.list_members(ctx, _page_of_members(id_, number or 1))
    may_manage = found.may(ctx, "member", "update") or found.may(ctx, "member", "delete")
    with_teams = ctx.policy[TeamPolicy].enabled
    existing = await teams.of_organization(ctx, id_) if with_teams else ()
    managed = await teams.managed_by_directory(ctx, id_) if existing else frozenset()
    localization = view.localization
    return account.render(
        ctx,
        view,
        "organization.html",
        notices=layout.NOTICES,
        reason=reason,
        organization=found.organization,
        own=found.member,
        own_role=layout.role_name(localization, found.member.role),
        is_active=ctx.signed_in.session.active_organization_id == id_,
        path_of=layout.path_of,
        members=[
            (
                row,
                layout.role_name(localization, row.role),
                may_manage and found.outranks(ctx, row.role),
            )
            for row in rows
        ],
        total=total,
        number=number or 1,
        page_count=-(-total // _MEMBERS_SHOWN),
        invitations=[
            (
                each.invitation,
                layout.role_name(localization, each.invitation.role),
                wire.instant(each.invitation.expires_at),
                found.outranks(ctx, each.invitation.role),
            )
            for each in await pending.visible(ctx, found.member, pending_only=True)
        ],
        roles=layout.role_choices(ctx, localization, found),
        with_teams=with_teams,
        teams=existing,
        open_teams=[team for team in existing if team.id not in managed],
        newest_team=existing[-1].id if existing else "",
        may_edit=found.may(ctx, "organization", "update"),
        may_delete=found.may(ctx, "organization", "delete") and ctx.policy[OrganizationPolicy].deletion,
        may_invite=found.may(ctx, "invitation", "create"),
        may_cancel=found.may(ctx, "invitation", "cancel"),
        may_create_teams=found.may(ctx, "team", "create"),
        sso=_sso(ctx, found),
    )


def _sso(ctx: Context, found: layout.Found) -> str | None:
    """Return who manages single sign-on according to the settings; None if it is off or not the caller's task."""
    policy = ctx.policy[SsoPolicy]
    return policy.management if policy.enabled and found.may(ctx, "sso", "manage") else None


def _page_of_members(organization_id: str, number: int) -> MemberQuery:
    return MemberQuery(
        organization_id=organization_id,
        slug=None,
        condition=None,
        sort_by="created_at",
        descending=False,
        limit=_MEMBERS_SHOWN,
        offset=(number - 1) * _MEMBERS_SHOWN,
    )


# organization_pages.show_organization_form
async def show_organization_form(
    ctx: Context, id_: str, callback_url: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Show an organization as a form. If a form was refused because it had changed, show both versions."""
    view = views.view(ctx, layout.path_of(id_, "/edit"), callback_url, ui_locales)
    found = await layout.find(ctx, id_)
    if found is None:
        return layout.gone(view)
    if not found.may(ctx, "organization", "update"):
        return layout.not_allowed(view, id_)
    row = found.organization
    return account.render(
        ctx,
        view,
        "organization_form.html",
        organization=row,
        path_of=layout.path_of,
        stored={"name": row.name, "slug": row.slug, "logo": row.logo or ""},
        version=wire.instant(row.updated_at),
        is_stale=view.form.code == "STALE_ORGANIZATION",
    )


# organization_pages.update_organization
async def update_organization(ctx: Context, id_: str, body: shapes.OrganizationForm) -> Redirect:
    """Change an organization, unless it was changed after the form was shown."""
    view = views.view(ctx)
    seen = identifiers.instant_or_none(body.get("version", ""))
    try:
        await forms.change(ctx, id_, values_of(body), seen=seen)
    except UserIsNotAMemberOfTheOrganizationForbidden:
        return layout.gone(view)
    return view.redirect(layout.path_of(id_), reason="saved")


# organization_pages.show_leaving
async def show_leaving(
    ctx: Context, id_: str, callback_url: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Ask for confirmation before the caller leaves an organization, which its only owner cannot do."""
    view = views.view(ctx, layout.path_of(id_, "/leave"), callback_url, ui_locales)
    gettext = view.localization.gettext
    found = await layout.find(ctx, id_)
    if found is None:
        return layout.gone(view)
    needed = layout.ERROR_TEXTS["YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER"]
    is_only_owner = await memberships.is_only_owner(ctx, found.member)
    return account.render(
        ctx,
        view,
        "removal.html",
        heading=gettext("Leave this organization?"),
        name=found.organization.name,
        effect=gettext("You can no longer use what belongs to it. To come back, you need a new invitation."),
        is_last=False,
        obstacle=gettext(needed) if is_only_owner else None,
        field="organization",
        id=found.organization.id,
        button=gettext("Leave"),
        back=layout.path_of(id_),
    )


# organization_pages.leave_organization
async def leave_organization(ctx: Context, id_: str, body: shapes.AccountForm) -> Redirect:
    """End the caller's membership."""
    view = views.view(ctx)
    try:
        await members.leave(ctx, id_)
    # A form that is sent twice, or from a stale page, has reached its goal already.
    except MemberNotFound:
        return layout.gone(view)
    return view.redirect(layout.LIST, reason="left")


# organization_pages.show_organization_deletion
async def show_organization_deletion(
    ctx: Context, id_: str, callback_url: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Show the form that deletes an organization; the user must type its slug as confirmation."""
    view = views.view(ctx, layout.path_of(id_, "/delete"), callback_url, ui_locales)
    found = await layout.find(ctx, id_)
    if found is None:
        return layout.gone(view)
    if not (found.may(ctx, "organization", "delete") and ctx.policy[OrganizationPolicy].deletion):
        return layout.not_allowed(view, id_)
    return account.render(
        ctx, view, "organization_deletion.html", organization=found.organization, path_of=layout.path_of
    )


# organization_pages.delete_organization
async def delete_organization(ctx: Context, id_: str, body: shapes.OrganizationDeletionForm) -> Redirect:
    """Delete an organization if its slug was typed as confirmation."""
    view = views.view(ctx)
    try:
        await forms.delete(ctx, id_, body["typedSlug"])
    except UserIsNotAMemberOfTheOrganizationForbidden:
        return layout.gone(view)
    return view.redirect(layout.LIST, reason="deleted")
