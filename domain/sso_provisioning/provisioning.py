"""Provision the user of a sign-in through a connection: verified address, profile, membership and roles.

This happens only when the session is opened, after the second factor: otherwise a stranger who has created an account
with the address of a colleague, and a second factor, would get the colleague's membership.
"""

from dataclasses import replace
from datetime import datetime

from domain.context import ConnectionActor, Context, StaleRead
from domain.emails import events as email_events
from domain.organizations import access, members, roles
from domain.organizations.errors import (
    OrganizationMembershipLimitReached,
    UserIsDisabledByTheDirectory,
    YouHaveReachedTheMaximumNumberOfOrganizations,
)
from domain.organizations.members import LockedMember
from domain.sessions import sso_origin
from domain.sessions.sso_origin import Provisioning, SsoOrigin
from domain.sso_enforcement import enforcement
from domain.sso_provisioning import signed_out
from domain.users import events as user_events
from domain.users import profile
from models.account import ACCOUNT_BY_IDENTITY, AccountRow
from models.sso_connection import SHARE_CONNECTION, ConnectionRow
from models.user import UserRow

_NO_MEMBER = (
    OrganizationMembershipLimitReached,
    UserIsDisabledByTheDirectory,
    YouHaveReachedTheMaximumNumberOfOrganizations,
)


class SignInEnded(Exception):
    """A sign-in through a connection became invalid while it waited for its second factor."""


async def provision(ctx: Context, user: UserRow, origin: SsoOrigin) -> UserRow:
    """Mark the address of a user as verified and write profile, membership and roles; return the changed user.

    The user's row is locked or new. Does nothing for an origin without `provisioning`. Raises
    OrganizationMembershipLimitReached, YouHaveReachedTheMaximumNumberOfOrganizations, UserIsDisabledByTheDirectory.
    """
    given = origin.provisioning
    if given is None:
        return user
    ctx.connection_actor = ConnectionActor("connection", origin.connection_id)
    user = await _with_profile(ctx, user, given)
    if origin.organization_id is not None:
        await _with_membership(ctx, user, origin.organization_id, given)
    # What follows, such as the session, is an act of the user, not of the connection.
    ctx.connection_actor = None
    return user


async def resume(
    ctx: Context, user: UserRow, payload: bytes | None, since: datetime
) -> tuple[UserRow, SsoOrigin | None]:
    """Provision the locked user of a sign-in through a connection whose second factor was passed.

    `payload` is the encrypted origin, None for a sign-in without a connection; `since` is when the sign-in began to
    wait. Return the changed user and the origin, or None. Raises SignInEnded if the sign-in is no longer valid; the
    transaction must then be rolled back.
    """
    if payload is None:
        return user, None
    origin = sso_origin.decrypt(ctx, payload)
    if origin is None:
        raise SignInEnded
    await _require_unended(ctx, user, origin, since)
    origin = await _with_new_identity(ctx, user, origin)
    try:
        return await provision(ctx, user, origin), origin
    except _NO_MEMBER:
        raise SignInEnded from None


async def _require_unended(ctx: Context, user: UserRow, origin: SsoOrigin, since: datetime) -> None:
    """Raise SignInEnded unless the sign-in would still be the same one."""
    rows = await ctx.db.execute(SHARE_CONNECTION, connection_id=origin.connection_id)
    connection: ConnectionRow | None = rows.first()
    given = origin.provisioning
    if connection is None or not connection.is_active or given is None:  # defence: SSO10 pending
        raise SignInEnded
    if sso_origin.fingerprint_of(connection) != given.fingerprint:  # defence: SSO10 pending-unchanged
        raise SignInEnded
    if not await enforcement.has_domain(ctx, connection, given.email):  # defence: SSO8 pending-domain
        raise SignInEnded
    is_of_another_address = origin.identity is not None and user.email != given.email
    # defence: SSO8 pending-address
    if is_of_another_address or not await enforcement.may_open(ctx, connection, user):
        raise SignInEnded
    if await signed_out.includes(ctx, origin, since):  # defence: SSO15 pending-logout
        raise SignInEnded


async def _with_new_identity(ctx: Context, user: UserRow, origin: SsoOrigin) -> SsoOrigin:
    """Return the origin without its identity if another sign-in of the user has added it meanwhile.

    Raises SignInEnded if it is that of another user.
    """
    new = origin.identity
    if new is None:
        return origin
    named = {"provider_id": new.provider_id, "issuer": new.issuer, "account_id": new.account_id}
    account: AccountRow | None = (await ctx.db.execute(ACCOUNT_BY_IDENTITY, **named)).first()
    if account is None:
        return origin
    if account.user_id != user.id:
        raise SignInEnded
    return replace(origin, identity=None)


async def _with_profile(ctx: Context, user: UserRow, given: Provisioning) -> UserRow:
    """Return the user with their address verified, and with the provider's name and picture if these are to follow."""
    changes: dict[str, object] = {
        key: value for key, value in given.profile.items() if getattr(user, key) != value
    }
    if changes:
        user_events.user_updated(ctx, user.id, changes)
    if user.email == given.email and not user.email_verified:
        changes["email_verified"] = True
        email_events.email_verified(ctx, user.id)
    return await profile.change(ctx, user, **changes) if changes else user


async def _with_membership(ctx: Context, user: UserRow, organization_id: str, given: Provisioning) -> None:
    member = await access.find_member(ctx, organization_id, user.id)
    if member is None:
        await members.add_directly(ctx, organization_id, user.id, given.roles)
    # Only owners make and remove owners.
    # defence: SSO10 owner-stays
    elif not member.is_owner and given.replaces_roles and roles.text_of(given.roles) != member.role:
        await _change_role(ctx, user, organization_id, member.id, given)


async def _change_role(
    ctx: Context, user: UserRow, organization_id: str, member_id: str, given: Provisioning
) -> None:
    organization = await access.lock(ctx, organization_id)
    member = await access.find_member_by_id(ctx, organization_id, member_id)
    if organization is None or member is None or member.is_owner:  # defence: SSO10 owner-locked
        raise StaleRead
    await members.set_role(ctx, LockedMember(organization, member, user), given.roles)
