"""Who may manage a connection: administrators of the service, and owners of its organization if settings allow it.

A connection that the caller may not manage looks like one that does not exist.
"""

from collections.abc import Sequence

from domain.admin import permissions
from domain.context import Context
from domain.errors import Forbidden
from domain.organizations import access as organization_access
from domain.organizations import roles as organization_roles
from domain.organizations.policy import OrganizationPolicy
from domain.sessions import expiry
from domain.sessions.errors import SessionNotFresh
from domain.sessions.policy import SessionPolicy
from domain.sso.policy import SsoPolicy
from domain.sso_connections.errors import SsoProviderNotFound
from domain.users import roles
from models.member import MemberRow
from models.sso_connection import CONNECTIONS_OF_MEMBER, LIST_CONNECTIONS, ConnectionRow


def is_administrator(ctx: Context) -> bool:
    """Return whether the caller is an administrator of the service, who may manage every connection."""
    return roles.permits(ctx.policy, ctx.signed_in.user, "service", "manage")


async def require_register(
    ctx: Context, organization_id: str | None, *, lock: bool = False
) -> MemberRow | None:
    """Check that the caller may create a connection for an organization, or for the whole service (None).

    Return the caller's membership in the organization; None for an administrator of the service. With `lock` the
    organization is locked. Raises Forbidden, SessionNotFresh.
    """
    if organization_id is not None and lock:
        await organization_access.lock(ctx, organization_id)
    if is_administrator(ctx):  # defence: SSO10 administrators
        _require_fresh(ctx, is_admin=True)
        return None
    member = await _manager(ctx, organization_id)
    if member is None:  # defence: SSO10 register
        if organization_id is None:
            permissions.refuse(ctx, Forbidden)
        organization_access.refuse(ctx, organization_id, Forbidden)
        raise Forbidden
    _require_fresh(ctx)
    return member


async def require(
    ctx: Context, row: ConnectionRow | None, *, change: bool = False
) -> tuple[ConnectionRow, MemberRow | None]:
    """Check that the caller may see a connection, or with `change` also change it.

    Return the connection and the caller's membership in its organization, which is None for an administrator of the
    service. Raises SsoProviderNotFound, also if `row` is None, and SessionNotFresh.
    """
    if row is None:
        raise SsoProviderNotFound
    is_admin = is_administrator(ctx)
    member = None if is_admin else await _manager(ctx, row.organization_id)
    if not is_admin and member is None:  # defence: SSO10 manager
        raise SsoProviderNotFound
    if change:
        _require_fresh(ctx, is_admin=is_admin)
    return row, member


async def list_own(ctx: Context) -> Sequence[ConnectionRow]:
    """Return the connections that the caller may manage, the oldest first."""
    if is_administrator(ctx):
        rows: Sequence[ConnectionRow] = await ctx.db.execute(LIST_CONNECTIONS)
        return rows
    if not _is_delegated(ctx):
        return []
    found = await ctx.db.execute(CONNECTIONS_OF_MEMBER, user_id=ctx.signed_in.user.id)
    return [ConnectionRow(*columns) for *columns, role in found if _grants(ctx, role)]  # defence: SSO10 list


async def can_manage(ctx: Context, organization_id: str) -> bool:
    """Return whether the caller may manage the connections of an organization."""
    return is_administrator(ctx) or await _manager(ctx, organization_id) is not None


async def _manager(ctx: Context, organization_id: str | None) -> MemberRow | None:
    """Return the caller's membership in an organization if it lets them manage its connections."""
    if organization_id is None or not _is_delegated(ctx):
        return None
    member = await organization_access.find_member(ctx, organization_id, ctx.signed_in.user.id)
    return member if member is not None and _grants(ctx, member.role) else None


def _is_delegated(ctx: Context) -> bool:
    # defence: SSO10 delegated
    return ctx.policy[SsoPolicy].management == "organizations" and ctx.policy[OrganizationPolicy].enabled


def _grants(ctx: Context, role: str) -> bool:
    return organization_roles.permits(ctx.policy, role, "sso", "manage")


def _require_fresh(ctx: Context, *, is_admin: bool = False) -> None:
    if not is_admin:
        expiry.require_fresh(ctx.policy[SessionPolicy], ctx.signed_in, ctx.now)  # defence: SSO10 fresh
    elif not permissions.is_fresh(ctx):  # defence: SSO10 fresh-administrator
        permissions.refuse(ctx, SessionNotFresh)
