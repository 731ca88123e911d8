"""The groups of a directory, which are teams of its organization: create, find, list, change and delete them."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from domain import identifiers
from domain.context import Context, StaleRead
from domain.organizations import teams
from domain.organizations.policy import TeamPolicy
from domain.scim import access, directories, events, group_members, listing, resources
from domain.scim.errors import GroupsNotSupported, InvalidValue, LimitReached, NoSuchResource
from domain.scim.protocol import GROUPS, GroupAttributes, ScimProtocol
from domain.scim.request import ScimReply, ScimRequest
from domain.scim.resources import GROUP
from models.scim_link import ScimLinkRow
from models.scim_token import Directory
from models.team import COUNT_TEAMS, FIND_TEAM, TeamRow

MOST_NAME = 128
"""The most characters of the name of a group, as of a team."""


async def create(ctx: Context, request: ScimRequest) -> ScimReply:
    """Create a group, which is stored as a team of the organization.

    Raises InvalidScimToken, GroupsNotSupported, InvalidSyntax, InvalidValue, TooMany, Uniqueness, LimitReached and
    Limited.
    """
    directory, organization_id = await _enter(ctx, request)
    sent = _checked(ctx.port[ScimProtocol].read_group(request.body))
    await group_members.check(ctx, directory, sent.members)
    await group_members.lock(ctx, sent.members)
    await access.lock_organization(ctx, directory)
    number = (await ctx.db.execute(COUNT_TEAMS, organization_id=organization_id)).scalar()
    if number >= ctx.policy[TeamPolicy].maximum:
        raise LimitReached("The organization has reached its limit of teams")
    await resources.check_external_id(ctx, directory, GROUP, sent.external_id)
    team = await teams.add(ctx, organization_id, sent.display_name)
    row = await resources.add(ctx, directory, GROUP, (team.id, team.name), sent)
    added = await group_members.replace(ctx, directory, team, sent.members)
    await group_members.set_roles(ctx, directory, added, [team.name])
    events.group_changed(ctx, directory, team.id, "created")
    return await resources.reply(ctx, directory, GROUP, row, request, status=201)


async def get(ctx: Context, request: ScimRequest) -> ScimReply:
    """Return a group. Raises InvalidScimToken, Limited, GroupsNotSupported, NoSuchResource."""
    directory, _ = await _enter(ctx, request)
    row = await resources.find(ctx, directory, GROUP, request.id)
    return await resources.reply(ctx, directory, GROUP, row, request)


async def list_groups(ctx: Context, request: ScimRequest) -> ScimReply:
    """Return a page of groups.

    Raises InvalidScimToken, Limited, GroupsNotSupported, InvalidFilter, InvalidValue, InvalidPath, InvalidCursor.
    """
    directory, _ = await _enter(ctx, request)
    page = listing.page_of(ctx, request, GROUPS)
    return await resources.reply_page(ctx, directory, GROUP, page, request)


async def replace(ctx: Context, request: ScimRequest) -> ScimReply:
    """Replace the name, external id and members of a group.

    Raises InvalidScimToken, GroupsNotSupported, InvalidSyntax, InvalidValue, TooMany, Uniqueness, LimitReached,
    Limited, NoSuchResource and VersionMismatch.
    """
    directory, organization_id = await _enter(ctx, request)
    sent = ctx.port[ScimProtocol].read_group(request.body)
    seen = await _see(ctx, directory, request)
    changed = await _apply(ctx, directory, organization_id, seen, sent)
    return await resources.reply(ctx, directory, GROUP, changed, request)


async def patch(ctx: Context, request: ScimRequest) -> ScimReply:
    """Change parts of a group by PATCH operations.

    Raises InvalidScimToken, GroupsNotSupported, InvalidSyntax, InvalidValue, InvalidPath, NoTarget, Mutability,
    TooMany, Uniqueness, LimitReached, Limited, NoSuchResource and VersionMismatch.
    """
    directory, organization_id = await _enter(ctx, request)
    seen = await _see(ctx, directory, request)
    own = {"displayName": seen.row.name, "externalId": seen.row.external_id}
    before = {**resources.document_of(ctx, seen.row), **own}
    sent = ctx.port[ScimProtocol].patch_group(before, seen.members, request.body)
    changed = await _apply(ctx, directory, organization_id, seen, sent)
    return await resources.reply(ctx, directory, GROUP, changed, request)


async def delete(ctx: Context, request: ScimRequest) -> ScimReply:
    """Delete a group and its team.

    Raises InvalidScimToken, GroupsNotSupported, Limited, NoSuchResource and VersionMismatch.
    """
    directory, organization_id = await _enter(ctx, request)
    seen = await _see(ctx, directory, request)
    team = await _locked(ctx, directory, organization_id, seen)
    await teams.delete_row(ctx, team)
    await group_members.set_roles(ctx, directory, seen.members, [team.name])
    events.group_changed(ctx, directory, team.id, "deleted")
    return ScimReply(None, status=204)


class _Seen(NamedTuple):
    """A group as it was before its members were locked."""

    row: ScimLinkRow
    members: Sequence[str]


async def _enter(ctx: Context, request: ScimRequest) -> tuple[Directory, str]:
    directory = await directories.enter(ctx, request)
    organization_id = directory.connection.organization_id
    if organization_id is None or not ctx.policy[TeamPolicy].enabled:
        raise GroupsNotSupported
    return directory, organization_id


async def _see(ctx: Context, directory: Directory, request: ScimRequest) -> _Seen:
    """Return the group of a request. Raises NoSuchResource, VersionMismatch."""
    row = await resources.find(ctx, directory, GROUP, request.id)
    directories.check_version(request, row.version)
    return _Seen(row, await group_members.of_group(ctx, directory, row.resource_id))


async def _locked(
    ctx: Context, directory: Directory, organization_id: str, seen: _Seen, added: Collection[str] = ()
) -> TeamRow:
    """Lock the members of a group, users who are added, and the organization; return the team.

    Raises NoSuchResource, and StaleRead if the group has changed since it was seen.
    """
    await group_members.lock(ctx, [*seen.members, *added])
    await access.lock_organization(ctx, directory)
    team_id = seen.row.resource_id
    row = await resources.find(ctx, directory, GROUP, team_id)
    team: TeamRow | None = (
        await ctx.db.execute(FIND_TEAM, team_id=team_id, organization_id=organization_id)
    ).first()
    if team is None:
        raise NoSuchResource
    if row != seen.row or await group_members.of_group(ctx, directory, team_id) != seen.members:
        raise StaleRead
    return team


async def _apply(
    ctx: Context, directory: Directory, organization_id: str, seen: _Seen, sent: GroupAttributes
) -> ScimLinkRow:
    """Write what a directory has changed of a group; return the row."""
    name = _checked(sent).display_name
    await group_members.check(ctx, directory, sent.members)
    team = await _locked(ctx, directory, organization_id, seen, sent.members)
    await resources.check_external_id(ctx, directory, GROUP, sent.external_id, team.id)
    names = {team.name, name}
    if name != team.name:
        team = await teams.set_name(ctx, team.id, name)
    changed = await group_members.replace(ctx, directory, team, sent.members)
    # Roles follow the names of groups, so that another name may change those of every member.
    if len(names) > 1:
        changed = [*changed, *sent.members]
    await group_members.set_roles(ctx, directory, changed, names)
    row = await resources.change(ctx, seen.row, sent)
    events.group_changed(ctx, directory, team.id, "updated")
    return row._replace(name=name)


def _checked(sent: GroupAttributes) -> GroupAttributes:
    """Return a group whose name may be that of a team. Raises InvalidValue."""
    name = sent.display_name
    if not name.strip() or len(name) > MOST_NAME or not identifiers.is_name(name):
        raise InvalidValue(f"displayName: 1 to {MOST_NAME} characters, none of them a control character")
    return sent
