"""Find and lock the users that administrators act on; check rank, and protect the last administrator."""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import select

from domain import errors
from domain.admin import permissions
from domain.admin.policy import AdminPolicy
from domain.context import Context, StaleRead
from domain.errors import Forbidden
from domain.ports import SearchTimedOut
from domain.users import admins, locking, lookup, roles
from domain.users.errors import StaleProfile, UserNotFound
from models import User
from models.base import to_milliseconds
from models.statements import is_any
from models.user import USER_COLUMNS, UserRow

_USERS = select(*USER_COLUMNS).where(is_any(User.id, "user_ids")).execution_options(row=UserRow)


async def existing(ctx: Context, user_id: str) -> UserRow:
    """Return a user by id, not locked. Raises UserNotFound."""
    user = await lookup.by_id(ctx, user_id)
    if user is None:
        raise UserNotFound
    return user


async def locked(
    ctx: Context, user_id: str, error: type[Forbidden], *, may_lose_roles: bool = False
) -> UserRow:
    """Return a user that the caller may act on, locked until the transaction ends.

    `may_lose_roles` means that the user may lose the permission to set roles. Such changes run one after the other.
    Raises UserNotFound, and `error` if the user has powers that the caller lacks.
    """
    waits = may_lose_roles and await admins.lock(ctx, user_id)
    user = await locking.lock(ctx, user_id)
    if user is None:
        raise UserNotFound
    if may_lose_roles and not waits and admins.may_set_roles(ctx.policy, user.role):
        raise StaleRead  # The user became an administrator before the row was locked.
    permissions.check_rank(ctx, user, error)
    return user


def version(user: UserRow) -> str:
    """Return a text that differs after every change of the user; forms contain it to detect concurrent changes."""
    return str(to_milliseconds(user.updated_at))


def check_version(user: UserRow, seen: str, *, changes: bool) -> None:
    """Check that a user, whose row is locked, still has the version `seen` that a form was shown with.

    Raises StaleProfile if it has not, unless `changes` is false: then the form changes nothing.
    """
    if changes and version(user) != seen:  # defence: C8 seen-version
        raise StaleProfile


def is_own(ctx: Context, user_id: str) -> bool:
    """Return whether the caller is the user to act on."""
    return user_id == ctx.signed_in.user.id


def refuse_own(ctx: Context, user_id: str, error: type[Forbidden]) -> None:
    """Raise `error` if the user is the caller, who has to use the operations for the own account."""
    if is_own(ctx, user_id):  # defence: ADM14 own-account
        permissions.refuse(ctx, error)


async def check_new_roles(ctx: Context, user: UserRow, names: Sequence[str]) -> None:
    """Check that the caller may change the roles of a user to `names`, and that a user who may set roles remains.

    Raises YouAreNotAllowedToChangeUsersRole, LastAdmin.
    """
    permissions.check_roles(ctx, set(names) ^ set(roles.split(user.role)))
    if not admins.may_set_roles(ctx.policy, ",".join(names)):
        await admins.refuse_last(ctx, user)


async def names_of(ctx: Context, user_ids: Collection[str | None]) -> Mapping[str, UserRow]:
    """Return the users with these ids, by id, without those that do not exist.

    Returns none if the caller may not read users. Raises Unavailable.
    """
    ids = sorted({user_id for user_id in user_ids if user_id is not None})
    if not ids or not roles.permits(ctx.policy, ctx.signed_in.user, "user", "get"):
        return {}
    try:
        [found] = await ctx.resources.database.search(
            [_USERS], ctx.policy[AdminPolicy].scan_timeout, is_scan=False, user_ids=ids
        )
    except SearchTimedOut:
        raise errors.Unavailable from None
    return {user.id: user for user in found}
