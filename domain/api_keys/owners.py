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
    """Return the user with this id, email address or username, else the organization with this id or slug, or None.

    Organizations are not looked up if no configured kind of keys is for organizations.
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
    """Return the user who owns a key if the caller has all permissions of this user beyond the default role.

    Raises UserNotFound for None, YouAreNotAllowedToManageApiKeys.
    """
    if owner is None:
        raise UserNotFound
    if not roles.outranks(ctx.policy, ctx.signed_in.user, owner):  # defence: KEY21 rank
        raise YouAreNotAllowedToManageApiKeys
    return owner


async def lock_user(ctx: Context, user_id: str | None) -> UserRow:
    """Return the owner of a key, locked: the caller (None) with the session, or a user whom the caller may act on.

    The caller may act on users who have no permission that the caller lacks.

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
    """Return an organization if the caller may perform `action` on its API keys.

    A member needs a role in the organization that grants the action on `apiKey`; a manager of all keys needs none.
    Raises InsufficientApiKeyPermissions for other members, and `error` for all other callers and if there is no
    such organization.
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
    """Return an organization as `require` does, with the same errors.

    The caller, the caller's session and the organization are locked.
    """
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
