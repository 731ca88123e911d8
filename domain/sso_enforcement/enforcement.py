"""Check whether users of an email domain must sign in through a connection, and which users are exempt.

If single sign-on is off, no domain requires a connection, and none is looked up.
"""

from domain import urls
from domain.context import Context
from domain.identifiers import domain_of
from domain.sso_enforcement.errors import SsoRequired
from domain.sso_enforcement.policy import SsoEnforcementPolicy
from domain.users import roles
from models.member import FIND_MEMBER
from models.sso_connection import (
    FIND_REQUIREMENT,
    IS_CONNECTED,
    OWNER_OF_DOMAIN,
    REQUIREMENT_BY_DOMAIN,
    ConnectionRow,
    Requirement,
)
from models.user import UserRow


async def find(ctx: Context, email: str) -> Requirement | None:
    """Return the connection through which users of an email domain must sign in; None if there is none.

    Reads outside the transaction.
    """
    if not ctx.policy[SsoEnforcementPolicy].enabled:
        return None
    return await ctx.reads.one(REQUIREMENT_BY_DOMAIN, domain_of(email))


async def has_connection(ctx: Context, email: str) -> bool:
    """Return whether a connection has verified the domain of an email address, whether or not it is required.

    False if single sign-on is off. Reads outside the transaction.
    """
    if not ctx.policy[SsoEnforcementPolicy].enabled:
        return False
    return await ctx.reads.one(IS_CONNECTED, domain_of(email)) is not None


async def refuse_address(ctx: Context, email: str) -> None:
    """Raise SsoRequired if the domain of an email address requires a connection, whether or not a user has the address.

    Exempt users are refused, too, so that the error does not reveal who is exempt. They can still sign in with a
    password, a passkey or a provider.
    """
    requirement = await find(ctx, email)
    if requirement is not None:  # defence: SSO11 address
        raise refusal(ctx, requirement)


async def check(ctx: Context, user: UserRow, connection_id: str | None = None) -> None:
    """Raise SsoRequired if a user, whose row is locked or new, must sign in through another connection.

    `connection_id` is the connection through which the user signs in; None for another method.
    """
    requirement = await _find_in_transaction(ctx, user.email)
    if requirement is None or requirement.connection_id == connection_id:  # defence: SSO11 own-connection
        return
    if not await is_exempt(ctx, user, requirement):
        raise refusal(ctx, requirement)


async def may_open(ctx: Context, connection: ConnectionRow, user: UserRow) -> bool:
    """Return whether a connection may sign in a locked user with their current email address.

    The address must be in a verified domain of the connection or of another connection of its organization. If no
    connection has verified the domain, the user must be a member of the organization.
    """
    owner = await _owner_of(ctx, user.email)
    if owner is not None and owner.id == connection.id:
        return True
    organization_id = connection.organization_id
    if organization_id is None:
        return False
    if owner is not None:
        return owner.organization_id == organization_id  # defence: SSO8 other-domain
    member = await ctx.db.execute(FIND_MEMBER, organization_id=organization_id, user_id=user.id)
    return bool(member)  # defence: SSO8 still-member


async def has_domain(ctx: Context, connection: ConnectionRow, email: str) -> bool:
    """Return whether a connection has verified the domain of an address."""
    owner = await _owner_of(ctx, email)
    return owner is not None and owner.id == connection.id


async def is_bound(ctx: Context, email: str, user: UserRow | None) -> bool:
    """Return whether the user of an address, whose row is locked, must sign in through a connection.

    For an address without a user it does the same work.
    """
    requirement = await _find_in_transaction(ctx, email)
    if requirement is None or user is None:
        return False
    return not await is_exempt(ctx, user, requirement)


async def check_new_address(ctx: Context, user: UserRow, address: str) -> None:
    """Raise SsoRequired if a locked user may not change their email address to `address`.

    The user must not have to sign in through a connection, because the organization could not close the account after
    the change. The domain of the new address must not require a connection either.
    """
    await check(ctx, user)  # defence: SSO11 out-of-domain
    requirement = await _find_in_transaction(ctx, address)
    if requirement is not None:  # defence: SSO11 into-domain
        raise refusal(ctx, requirement)


async def is_exempt(ctx: Context, user: UserRow, requirement: Requirement) -> bool:
    """Return whether a user may sign in without the required connection, to repair it if it is broken.

    That is an owner of its organization or an administrator of the service, each only with a second factor.
    """
    if not user.two_factor_enabled:  # defence: SSO11 exempt-factor
        return False
    if roles.permits(ctx.policy, user, "service", "manage"):
        return True
    if requirement.organization_id is None:
        return False
    rows = await ctx.db.execute(FIND_MEMBER, organization_id=requirement.organization_id, user_id=user.id)
    member = rows.first()
    return member is not None and bool(member.is_owner)  # defence: SSO11 exempt-owner


def refusal(ctx: Context, requirement: Requirement) -> SsoRequired:
    """Return the error for a required connection, with the URL of the page that begins the sign-in through it."""
    url = urls.public_url(ctx.policy, "/sign-in/sso")
    return SsoRequired(url=url, providerId=requirement.provider_id)


async def _owner_of(ctx: Context, email: str) -> ConnectionRow | None:
    row: ConnectionRow | None = (await ctx.db.execute(OWNER_OF_DOMAIN, domain=domain_of(email))).first()
    return row


async def _find_in_transaction(ctx: Context, email: str) -> Requirement | None:
    if not ctx.policy[SsoEnforcementPolicy].enabled:
        return None
    row: Requirement | None = (await ctx.db.execute(FIND_REQUIREMENT, domain=domain_of(email))).first()
    return row
