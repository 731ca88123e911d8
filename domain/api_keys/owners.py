"""The owners of API keys, users and organizations: who may act on their keys, and locks on their rows.

Locks are taken in this order: the caller, the organization, the key.
"""

from sqlalchemy import bindparam, select
from sqlmodel import col

from domain.api_keys.errors import (
    InsufficientApiKeyPermissions,
    KeyNotFound,
    UnauthorizedSession,
    UserNotMemberOfOrganization,
    YouAreNotAllowedToManageApiKeys,
)
from domain.api_keys.policy import ApiKeyPolicy
from domain.context import Context
from domain.errors import Refusal
from domain.organizations import access
from domain.organizations.policy import OrganizationPolicy
from domain.users import locking, lookup, roles
from domain.users.errors import UserNotFound
from models.api_key import ApiKeyRow
from models.member import Member
from models.organization import FIND_BY_SLUG, FIND_ORGANIZATION, ORGANIZATION_BY_ID, OrganizationRow
from models.user import USER_COLUMNS, User, UserRow

Owner = UserRow | OrganizationRow

_OWNERS = (
    select(*USER_COLUMNS)
    .select_from(User)
    .join(Member, col(Member.user_id) == col(User.id))
    .where(col(Member.organization_id) == bindparam("organization_id"), col(Member.is_owner))
    .order_by(col(Member.created_at), col(Member.id))
    .execution_options(row=UserRow)
)


async def look_up(ctx: Context, identifier: str) -> Owner | None:
    """Return the user with this id, address or username, or the organization with this id or slug, or None.

    Organizations are not found if no kind of keys belongs to them.
    """
    user = await lookup.look_up(ctx, identifier)
    if user is not None or not ctx.policy[ApiKeyPolicy].kinds_of(organizations=True):
        return user
    by_id = await ctx.db.execute(FIND_ORGANIZATION, organization_id=identifier)
    organization: OrganizationRow | None = (
        by_id.first() or (await ctx.db.execute(FIND_BY_SLUG, slug=identifier.lower())).first()
    )
    return organization


def is_manager(ctx: Context) -> bool:
    """Return whether the caller may manage the keys of every owner."""
    return roles.permits(ctx.policy, ctx.signed_in.user, "apiKey", "manage")  # defence: KEY1 manager


def require_manager(ctx: Context) -> None:
    """Check that the caller may manage the keys of every owner. Raises UnauthorizedSession."""
    if not is_manager(ctx):
        raise UnauthorizedSession


def check_rank(ctx: Context, owner: UserRow | None) -> UserRow:
    """Check that the caller has every power of the owner of a key.

    Raises UserNotFound, YouAreNotAllowedToManageApiKeys.
    """
    if owner is None:
        raise UserNotFound
    if not roles.outranks(ctx.policy, ctx.signed_in.user, owner):  # defence: KEY21 rank
        raise YouAreNotAllowedToManageApiKeys
    return owner


async def lock_user(ctx: Context, user_id: str | None) -> UserRow:
    """Lock the owner of a key: the caller with their session, or a user who has no powers that the caller lacks.

    Raises UserNotFound, YouAreNotAllowedToManageApiKeys.
    """
    if user_id is None or user_id == ctx.signed_in.user.id:
        return await locking.lock_caller(ctx)
    return check_rank(ctx, await locking.lock(ctx, user_id))


async def require(
    ctx: Context,
    organization_id: str,
    action: str,
    error: type[Refusal] = UserNotMemberOfOrganization,
) -> OrganizationRow:
    """Return an organization on whose keys the caller may do this.

    A member needs the permission `apiKey` of the organization; callers who manage keys need none. Raises the error for
    others and for an unknown organization, and InsufficientApiKeyPermissions.
    """
    organization: OrganizationRow | None = (
        await ctx.db.execute(FIND_ORGANIZATION, organization_id=organization_id)
    ).first()
    await _check(ctx, organization_id, action, error)
    if organization is None:
        raise error
    return organization


async def lock_organization(
    ctx: Context,
    organization_id: str,
    action: str,
    error: type[Refusal] = UserNotMemberOfOrganization,
) -> OrganizationRow:
    """Do the same as `require`, and lock the caller with their session, and the organization."""
    await locking.lock_caller(ctx)
    organization = await access.lock(ctx, organization_id)
    await _check(ctx, organization_id, action, error)
    if organization is None:
        raise error
    return organization


async def _check(ctx: Context, organization_id: str, action: str, error: type[Refusal]) -> None:
    if is_manager(ctx):
        return
    is_enabled = ctx.policy[OrganizationPolicy].enabled
    member = await access.find_member(ctx, organization_id, ctx.signed_in.user.id) if is_enabled else None
    if member is None:  # defence: KEY3 member
        raise error
    # defence: KEY3 permission
    access.require(ctx, member, "apiKey", action, InsufficientApiKeyPermissions)


async def by_id(ctx: Context, owner_id: str) -> Owner | None:
    """Return the user or the organization with this id, or None."""
    owner: Owner | None = await lookup.by_id(ctx, owner_id)
    if owner is None:
        owner = await ctx.reads.one(ORGANIZATION_BY_ID, owner_id)
    return owner


async def of(ctx: Context, row: ApiKeyRow) -> Owner:
    """Return the owner of a key. Raises KeyNotFound if the owner was deleted meanwhile."""
    owner: Owner | None
    if row.user_id is not None:
        owner = await lookup.by_id(ctx, row.user_id)
    else:
        owner = await ctx.reads.one(ORGANIZATION_BY_ID, row.organization_id)
    if owner is None:
        raise KeyNotFound
    return owner


async def recipients(ctx: Context, owner: Owner) -> list[UserRow]:
    """Return the users who are notified of a new key: the owner, or the owners of the organization."""
    if isinstance(owner, UserRow):
        return [owner]
    return list(await ctx.db.execute(_OWNERS, organization_id=owner.id))
