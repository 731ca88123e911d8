"""The pages that show, change and remove a team of an organization, and the forms for its members."""

from collections.abc import Awaitable, Sequence
from contextlib import suppress

from domain.context import Context
from domain.organizations import forms, team_members, teams
from domain.organizations.errors import (
    TeamNotFound,
    UserIsNotAMemberOfTheTeam,
    UserIsNotAMemberOfTheTeamForbidden,
    YouAreNotAllowedToAccessThisOrganization,
)
from handlers import shapes
from handlers.account_pages import layout as account
from handlers.organization_pages import layout
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect
from models.member import MemberWithUser
from models.team import TeamRow


# organization_pages.create_team
async def create_team(ctx: Context, id_: str, body: shapes.OrganizationTeamForm) -> Redirect:
    """Create a team."""
    view = views.view(ctx)
    await forms.create_team(ctx, id_, body["teamName"].strip() or " ", newest=body.get("newest", ""))
    return view.redirect(layout.path_of(id_), reason="team-created")


# organization_pages.show_team
async def show_team(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    team: str | None = None,
    reason: str | None = None,
) -> Page | Redirect:
    """Show a team, its members if the caller may see them, and forms for what the caller may change."""
    view = views.view(ctx, layout.path_of(id_, "/team"), callback_url, ui_locales, team=team)
    found = await layout.find(ctx, id_)
    if found is None:
        return layout.gone(view)
    row = await _find(ctx, id_, team)
    if row is None:
        return view.redirect(layout.path_of(id_), reason="team-gone")
    is_managed = row.id in await teams.managed_by_directory(ctx, id_)
    return account.render(
        ctx,
        view,
        "organization_team.html",
        notices=layout.NOTICES,
        reason=reason,
        organization=found.organization,
        path_of=layout.path_of,
        team=row,
        members=await _members(ctx, found, row),
        is_managed=is_managed,
        may_rename=not is_managed and found.may(ctx, "team", "update"),
        may_remove=not is_managed and found.may(ctx, "team", "delete"),
        may_add=not is_managed and found.may(ctx, "member", "update"),
        may_take_out=not is_managed and found.may(ctx, "member", "delete"),
        is_stale=view.form.code == "STALE_ORGANIZATION",
    )


async def _find(ctx: Context, organization_id: str, team_id: str | None) -> TeamRow | None:
    rows = await teams.of_organization(ctx, organization_id)
    return next((row for row in rows if row.id == team_id), None)


async def _members(ctx: Context, found: layout.Found, team: TeamRow) -> Sequence[MemberWithUser] | None:
    """Return the members of a team with their users; None if the caller may not see them."""
    try:
        return await forms.list_team_members(ctx, found.organization.id, team.id)
    except UserIsNotAMemberOfTheTeamForbidden:
        return None


# organization_pages.rename_team
async def rename_team(ctx: Context, id_: str, body: shapes.TeamNameForm) -> Redirect:
    """Rename a team, unless it was renamed after the form was shown."""
    view = views.view(ctx)
    name, former = body["teamName"].strip() or " ", body.get("former", "")
    renaming = forms.rename_team(ctx, id_, body["team"], name, former=former)
    return await _after(view, id_, renaming, "team-renamed", team=body["team"])


async def _after(
    view: views.View, id_: str, changing: Awaitable[object], reason: str, *, team: str | None = None
) -> Redirect:
    """Await the change of a team; return the redirect to the page of `team`, or of the organization if `team` is None.

    If the team is gone, the redirect leads to the page of the organization.
    """
    try:
        await changing
    except YouAreNotAllowedToAccessThisOrganization:
        return layout.gone(view)
    except TeamNotFound:
        return view.redirect(layout.path_of(id_), reason="team-gone")
    return view.redirect(layout.path_of(id_, "/team" if team else ""), team=team, reason=reason)


# organization_pages.show_team_removal
async def show_team_removal(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    team: str | None = None,
) -> Page | Redirect:
    """Ask for confirmation before a team is removed."""
    view = views.view(ctx, layout.path_of(id_, "/team/remove"), callback_url, ui_locales, team=team)
    gettext = view.localization.gettext
    found = await layout.find(ctx, id_)
    if found is None:
        return layout.gone(view)
    row = await _find(ctx, id_, team)
    if row is None or not found.may(ctx, "team", "delete"):
        return view.redirect(layout.path_of(id_), reason="team-gone")
    if row.id in await teams.managed_by_directory(ctx, id_):
        return view.redirect(layout.path_of(id_, "/team"), team=row.id)
    return account.render(
        ctx,
        view,
        "removal.html",
        heading=gettext("Remove this team?"),
        name=row.name,
        effect=gettext("Its members stay members of the organization."),
        is_last=False,
        obstacle=None,
        field="team",
        id=row.id,
        button=gettext("Remove"),
        back=layout.path_of(id_),
    )


# organization_pages.remove_team
async def remove_team(ctx: Context, id_: str, body: shapes.TeamForm) -> Redirect:
    """Remove a team."""
    return await _after(views.view(ctx), id_, teams.remove(ctx, body["team"], id_), "team-removed")


# organization_pages.add_team_member
async def add_team_member(ctx: Context, id_: str, body: shapes.TeamMemberForm) -> Redirect:
    """Add the member of the organization with an email address to a team."""
    adding = forms.add_team_member(ctx, id_, body["team"], body["email"].strip())
    return await _after(views.view(ctx), id_, adding, "team-member-added", team=body["team"])


# organization_pages.remove_team_member
async def remove_team_member(ctx: Context, id_: str, body: shapes.TeamMemberRemovalForm) -> Redirect:
    """Remove a member from a team."""
    team = body["team"]
    return await _after(
        views.view(ctx), id_, _remove_from(ctx, id_, team, body["member"]), "team-member-removed", team=team
    )


async def _remove_from(ctx: Context, id_: str, team: str, member: str) -> None:
    # A form that is sent twice, or from a stale page, has reached its goal already.
    with suppress(UserIsNotAMemberOfTheTeam):
        await team_members.remove_member(ctx, team, member, id_)
