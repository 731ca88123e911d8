"""Organizations: create, read, change and delete them, and make one the active one of a session."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import bindparam, delete
from sqlmodel import col

from domain import tokens
from domain.accounts import accounts
from domain.context import Context
from domain.errors import Field, ValidationError
from domain.organizations import (
    access,
    active,
    events,
    fields,
    memberships,
    pending,
    roles,
    team_members,
    teams,
)
from domain.organizations.errors import (
    NoActiveOrganization,
    OrganizationAlreadyExists,
    OrganizationDeletionDisabled,
    OrganizationNotFound,
    OrganizationSlugAlreadyTaken,
    UserIsNotAMemberOfTheOrganization,
    UserIsNotAMemberOfTheOrganizationForbidden,
    YouAreNotAllowedToCreateANewOrganization,
    YouAreNotAllowedToDeleteThisOrganization,
    YouAreNotAllowedToUpdateThisOrganization,
    YouHaveReachedTheMaximumNumberOfOrganizations,
)
from domain.organizations.pending import InvitationWithTeams
from domain.organizations.policy import OrganizationPolicy, TeamPolicy
from domain.sessions import connections
from domain.users import locking
from domain.users import roles as user_roles
from models.member import MEMBERSHIPS_OF_USER, MemberRow, MemberWithUser
from models.organization import (
    CHANGE_ORGANIZATION,
    FIND_BY_SLUG,
    FIND_ORGANIZATION,
    Organization,
    OrganizationRow,
)
from models.sso_connection import CONNECTIONS_OF_ORGANIZATION, account_provider
from models.statements import insert, table_of
from models.team import TeamRow

_DELETE = (
    delete(table_of(Organization))
    .where(col(Organization.id) == bindparam("organization_id"))
    .returning(col(Organization.id))
    # With a hundred thousand members this takes seconds, in which SQLite would hold up every other request.
    .execution_options(
        in_thread=True  # defence: ORG30 in-thread
    )
)


class FullOrganization(NamedTuple):
    """An organization, and what the caller may see of its members, pending invitations and teams."""

    organization: OrganizationRow
    members: Sequence[MemberWithUser]
    invitations: Sequence[InvitationWithTeams]
    teams: Sequence[TeamRow]


async def create(
    ctx: Context, sent: Mapping[str, Any], *, keep_active: bool
) -> tuple[OrganizationRow, MemberRow]:
    """Create an organization with the caller as its owner; return the organization and the owner.

    It becomes the active organization of the session, unless `keep_active`. Raises ValidationError,
    YouAreNotAllowedToCreateANewOrganization, YouHaveReachedTheMaximumNumberOfOrganizations, OrganizationAlreadyExists.
    """
    values = fields.columns(sent)
    if not may_create(ctx):
        raise YouAreNotAllowedToCreateANewOrganization
    # Counted under the lock of the user, so that parallel requests do not exceed the limit.
    user = await locking.lock_caller(ctx)  # defence: ORG13 create-lock
    if await access.count_organizations(ctx, user.id) >= ctx.policy[OrganizationPolicy].limit_per_user:
        raise YouHaveReachedTheMaximumNumberOfOrganizations  # defence: ORG13 limit-per-user
    organization, owner, team = await add_with_owner(ctx, values, user.id)  # defence: ORG18 owner
    if not keep_active:
        await active.activate(ctx, organization.id, None if team is None else team.id)
    return organization, owner


async def add_with_owner(
    ctx: Context, values: Mapping[str, Any], user_id: str
) -> tuple[OrganizationRow, MemberRow, TeamRow | None]:
    """Store an organization with a user, whose row is locked, as its owner.

    Return the organization, the owner, and the organization's first team; None if organizations do not begin with a
    team. Raises OrganizationAlreadyExists if the slug is taken.
    """
    organization = await add(ctx, values)
    owner = await memberships.add(ctx, organization.id, user_id, roles.OWNER)  # defence: ORG25 created
    events.created(ctx, organization, owner)
    team = None
    if ctx.policy[TeamPolicy].enabled and ctx.policy[TeamPolicy].default_team:
        team = await teams.add(ctx, organization.id, organization.name)
        await team_members.join(ctx, team, owner)
    return organization, owner, team


def may_create(ctx: Context) -> bool:
    """Return whether the caller may create organizations."""
    if ctx.policy[OrganizationPolicy].creation == "everyone":
        return True
    return user_roles.permits(ctx.policy, ctx.signed_in.user, "organization", "manage")


async def add(ctx: Context, values: Mapping[str, Any]) -> OrganizationRow:
    """Store an organization without members. Raises OrganizationAlreadyExists if the slug is taken."""
    if not await is_free(ctx, values["slug"]):
        raise OrganizationAlreadyExists
    row = OrganizationRow(
        id=tokens.token(),
        name=values["name"],
        slug=values["slug"],
        logo=values.get("logo"),
        custom_data=values.get("custom_data"),
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    with access.retried():  # defence: ORG29 create
        await ctx.db.execute(insert(Organization), **row._asdict())
    return row


async def is_free(ctx: Context, slug: str) -> bool:
    """Return whether no organization has this slug, which is lower-case."""
    return not await ctx.db.execute(FIND_BY_SLUG, slug=slug)


async def check_slug(ctx: Context, slug: str) -> None:
    """Check that no organization has this slug. Raises OrganizationSlugAlreadyTaken."""
    if not await is_free(ctx, slug.lower()):
        raise OrganizationSlugAlreadyTaken


async def list_own(ctx: Context) -> Sequence[tuple[MemberRow, OrganizationRow]]:
    """Return the caller's memberships and their organizations, the oldest first."""
    return await ctx.reads.all(MEMBERSHIPS_OF_USER, ctx.signed_in.user.id)


async def get(
    ctx: Context, organization_id: str | None, slug: str | None = None
) -> tuple[OrganizationRow, MemberRow] | None:
    """Return an organization, and the caller's membership in it.

    A slug counts before the id; without both, the active organization of the session is meant. Return None if there is
    no active one either. Raises UserIsNotAMemberOfTheOrganizationForbidden.
    """
    chosen = organization_id or ctx.signed_in.session.active_organization_id
    if chosen is None and slug is None:
        return None
    found = await access.find_membership(ctx, chosen, slug)
    if found is None:  # defence: ORG9 ORG23 reading
        raise UserIsNotAMemberOfTheOrganizationForbidden
    member, organization = found
    return organization, member


async def get_full(
    ctx: Context, organization_id: str | None, slug: str | None, *, members_limit: int
) -> FullOrganization | None:
    """Return an organization with its members, its teams and, for callers who may invite, its pending invitations.

    The organization is found as by `get`. At most `members_limit` members are returned; only the caller, if they may
    not see the others. Raises UserIsNotAMemberOfTheOrganizationForbidden.
    """
    found = await get(ctx, organization_id, slug)
    if found is None:
        return None
    organization, member = found
    limit = min(members_limit, ctx.policy[OrganizationPolicy].membership_limit)
    return FullOrganization(
        organization,
        await memberships.directory(ctx, member, limit),
        await pending.visible(ctx, member, pending_only=True),
        await teams.of_organization(ctx, organization.id) if ctx.policy[TeamPolicy].enabled else (),
    )


async def set_active(
    ctx: Context, organization_id: str | None, slug: str | None, *, is_named: bool
) -> OrganizationRow | None:
    """Make an organization of the caller the active one of this session; return it, or None if none is active.

    `is_named` says whether the request has an `organization_id`: None then clears the active organization. If the
    request has neither id nor slug, nothing is changed. The id counts before the slug. Raises
    UserIsNotAMemberOfTheOrganizationForbidden.
    """
    if is_named and organization_id is None:
        await locking.lock_caller(ctx)
        await active.activate(ctx, None)
        return None
    # Who removes a member locks the user first, so a membership that is found here lasts until the commit.
    await locking.lock_caller(ctx)  # defence: ORG12 lock-caller
    found = await get(ctx, organization_id, None if organization_id else slug)
    if found is None:
        return None
    organization, _ = found
    if organization.id != ctx.signed_in.session.active_organization_id:
        await active.activate(ctx, organization.id)
    return organization


async def change(ctx: Context, organization_id: str | None, sent: Mapping[str, Any]) -> OrganizationRow:
    """Change the fields of an organization that are present in `sent`; return it.

    Raises OrganizationNotFound, UserIsNotAMemberOfTheOrganization, YouAreNotAllowedToUpdateThisOrganization,
    ValidationError, OrganizationSlugAlreadyTaken.
    """
    chosen = await access.named(ctx, organization_id)
    if chosen is None:
        raise OrganizationNotFound
    await access.lock(ctx, chosen)
    member = await access.require_member(ctx, chosen, UserIsNotAMemberOfTheOrganization)
    access.require(ctx, member, "organization", "update", YouAreNotAllowedToUpdateThisOrganization)
    return await store(ctx, await _existing(ctx, chosen), fields.columns(sent, "data."))


async def store(ctx: Context, organization: OrganizationRow, values: Mapping[str, Any]) -> OrganizationRow:
    """Change columns of an organization whose row is locked; return it.

    Raises ValidationError if `values` is empty; OrganizationSlugAlreadyTaken.
    """
    if not values:
        raise ValidationError("No fields to update", Field("body", "data", "No fields to update"))
    slug = values.get("slug", organization.slug)
    if slug != organization.slug and not await is_free(ctx, slug):
        raise OrganizationSlugAlreadyTaken
    with access.retried():  # defence: ORG29 rename
        rows = await ctx.db.execute(
            CHANGE_ORGANIZATION, organization_id=organization.id, **values, updated_at=ctx.now
        )
    changed: OrganizationRow = rows.first()
    events.updated(ctx, changed, sorted(values))
    return changed


async def remove(ctx: Context, organization_id: str) -> OrganizationRow:
    """Delete an organization with everything that belongs to it; return the deleted organization.

    Raises OrganizationDeletionDisabled, UserIsNotAMemberOfTheOrganization, YouAreNotAllowedToDeleteThisOrganization.
    """
    if not ctx.policy[OrganizationPolicy].deletion:
        raise OrganizationDeletionDisabled
    await access.lock(ctx, organization_id)
    member = await access.require_member(ctx, organization_id, UserIsNotAMemberOfTheOrganization)
    access.require(ctx, member, "organization", "delete", YouAreNotAllowedToDeleteThisOrganization)
    organization = await _existing(ctx, organization_id)
    await delete_row(ctx, organization_id)
    return organization


async def delete_row(ctx: Context, organization_id: str) -> None:
    """Delete an organization whose row is locked, and end the sessions of its connections to identity providers.

    Foreign keys delete the members, invitations, teams, API keys and connections, and clear the active organization of
    sessions.
    """
    for row in await ctx.db.execute(CONNECTIONS_OF_ORGANIZATION, organization_id=organization_id):
        await accounts.remove_of_provider(ctx, account_provider(row.id))
        await connections.end_sessions(ctx, row.id)
    await ctx.db.execute(_DELETE, organization_id=organization_id)
    events.deleted(ctx, organization_id)


async def has_permission(
    ctx: Context, organization_id: str | None, statements: Mapping[str, Sequence[str]]
) -> bool:
    """Return whether one of the caller's roles in an organization grants all permissions: the actions by resource.

    Raises NoActiveOrganization, UserIsNotAMemberOfTheOrganizationForbidden.
    """
    chosen = await access.named(ctx, organization_id)
    if chosen is None:
        raise NoActiveOrganization
    member = await access.require_member(ctx, chosen, UserIsNotAMemberOfTheOrganizationForbidden)
    return roles.grants(ctx.policy, member.role, statements)


async def _existing(ctx: Context, organization_id: str) -> OrganizationRow:
    """Return an organization that has members."""
    row: OrganizationRow = (await ctx.db.execute(FIND_ORGANIZATION, organization_id=organization_id)).first()
    return row
