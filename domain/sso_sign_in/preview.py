"""Find out what the sign-in of a person would do, without changing or locking anything.

The checks are those of `sign_in.sign_in`, in the same order.
"""

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from domain.accounts import accounts
from domain.context import Context
from domain.identifiers import domain_of
from domain.organizations import access, memberships
from domain.organizations.policy import OrganizationPolicy
from domain.social.errors import SignUpDisabled
from domain.sso_enforcement import enforcement
from domain.sso_sign_in import connections, membership, sign_in
from domain.sso_sign_in.errors import DisabledByDirectory, DomainNotAllowed
from domain.sso_sign_in.person import Person
from domain.users import lookup
from domain.users.errors import BannedUser
from domain.users.roles import split
from models.scim_link import DISABLED_LINK
from models.sso_connection import ConnectionRow
from models.user import UserRow


class Outcome(StrEnum):
    """What a sign-in would do."""

    SIGN_IN = "sign_in"
    """A user has the identity, and would be signed in."""
    LINK = "link"
    """A user has the email address; the identity would be linked to this user."""
    CREATE = "create"
    """A user would be created."""
    REFUSED = "refused"


class RoleSource(StrEnum):
    """Why a member would have their roles."""

    GROUP = "group"
    DEFAULT = "default"
    KEPT = "kept"
    """The member keeps their roles: they are an owner, or the connection has no roles by group."""


class Preview(NamedTuple):
    """What a sign-in would do that is not refused."""

    outcome: Outcome
    roles: Sequence[str] = ()
    """The roles in the organization after the sign-in; empty if the connection has no organization."""
    source: RoleSource | None = None
    group: str | None = None
    """The group that grants the roles; None unless `source` is GROUP."""


async def preview(ctx: Context, row: ConnectionRow, person: Person) -> Preview:
    """Return what the sign-in of a person would do.

    Raises DomainNotAllowed, SignUpDisabled, DisabledByDirectory, OrganizationMembershipLimitReached,
    YouHaveReachedTheMaximumNumberOfOrganizations, BannedUser and SsoRequired.
    """
    # Before anything is said about users of the address: the domain may be that of another company.
    if domain_of(person.email) not in await connections.domains_of(ctx, row.id):  # defence: SSO17 own-domain
        raise DomainNotAllowed
    seen = await accounts.by_identity(ctx, sign_in.identity_of(row, person))
    known = None if seen is None else await lookup.by_id(ctx, seen.user_id)
    if known is not None and not await enforcement.may_open(ctx, row, known):
        raise DomainNotAllowed
    user = known or await lookup.by_email(ctx, person.email)
    if user is None and not row.sign_up:
        raise SignUpDisabled
    if user is not None and await ctx.db.execute(DISABLED_LINK, connection_id=row.id, user_id=user.id):
        raise DisabledByDirectory
    outcome = Outcome.SIGN_IN if known else Outcome.CREATE if user is None else Outcome.LINK
    found = await _with_roles(ctx, row, user, person.groups, outcome)
    if user is not None:
        if user.is_banned(ctx.now):
            raise BannedUser
        await enforcement.check(ctx, user, row.id)
    return found


async def _with_roles(
    ctx: Context, row: ConnectionRow, user: UserRow | None, groups: Sequence[str], outcome: Outcome
) -> Preview:
    organization_id = row.organization_id
    if organization_id is None or not ctx.policy[OrganizationPolicy].enabled:
        return Preview(outcome)
    member = None if user is None else await access.find_member(ctx, organization_id, user.id)
    if member is not None and (member.is_owner or not json.loads(row.group_roles)):
        return Preview(outcome, split(member.role), RoleSource.KEPT)
    if member is None:
        # A user who does not exist yet is in no organization.
        await memberships.check_limits(ctx, organization_id, "" if user is None else user.id)
    rule = membership.rule_for(ctx.policy, row, groups)
    source = RoleSource.DEFAULT if rule.group is None else RoleSource.GROUP
    return Preview(outcome, rule.roles, source, rule.group)
