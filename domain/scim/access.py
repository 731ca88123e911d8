"""Grant and end the access of users of a directory.

The directory of an organization controls the membership in it. A directory of the whole service, without an
organization, bans and unbans accounts.
"""

import json
from collections.abc import Sequence

from sqlalchemy import exists, select, update
from sqlmodel import col

from domain import one_time_tokens
from domain.admin import changes
from domain.context import Context
from domain.identifiers import domain_of
from domain.organizations import access as organizations
from domain.organizations import members, pending, roles
from domain.organizations.errors import (
    OrganizationMembershipLimitReached,
    UserIsAlreadyAMemberOfThisOrganization,
    YouHaveReachedTheMaximumNumberOfOrganizations,
)
from domain.scim import directories, events
from domain.scim.errors import LimitReached, NoSuchResource, ProtectedUser
from domain.scim.policy import ScimPolicy
from domain.sessions import events as session_events
from domain.sessions import sessions
from domain.sessions.events import EndReason
from domain.users import roles as user_roles
from domain.users.roles import split
from models import Purpose
from models.api_key import ApiKey
from models.member import Member
from models.oauth_grant import END_GRANTS_OF_CONNECTION_AND_USER
from models.scim_link import ScimLink
from models.scim_token import REMOVE_OTHERS_OF_CREATOR, Directory
from models.session import Session
from models.sso_session import SsoSession
from models.statements import is_, table_of
from models.user import USER_COLUMNS, User, UserRow

DISABLED = "Disabled by the directory"
"""The stored reason of a ban of a user whom a directory of the whole service disables."""
REMOVED = "Removed by the directory"
"""The stored reason of a ban of a user whom a directory has created and then removed."""
MOST_TAKEN_OVER = 1000
"""The most members in one domain that a request adds to a directory."""

_DISABLE_KEYS = (
    update(table_of(ApiKey))
    .where(is_(ApiKey.organization_id, "organization"), is_(ApiKey.created_by, "creator"))
    .values(enabled=False)
)
_MEMBERS_WITHOUT_LINK = (
    select(*USER_COLUMNS)
    .join(Member, col(Member.user_id) == col(User.id))
    .where(
        is_(Member.organization_id, "organization_id"),
        col(User.email_verified),
        ~exists().where(col(ScimLink.user_id) == col(User.id), is_(ScimLink.connection_id, "connection_id")),
    )
    .limit(MOST_TAKEN_OVER)
    .execution_options(row=UserRow)
)
_IDS_WITHOUT_LINK = (
    select(col(Member.user_id))
    .where(
        is_(Member.organization_id, "organization_id"),
        ~exists().where(
            col(ScimLink.user_id) == col(Member.user_id), is_(ScimLink.connection_id, "connection_id")
        ),
    )
    .limit(MOST_TAKEN_OVER)
)
_OTHER_LINK = select(col(ScimLink.id)).where(is_(ScimLink.user_id, "user_id")).limit(1)


def default_role(directory: Directory) -> str:
    """Return the default roles of the connection without `owner`, or `member` if none is left."""
    names = [name for name in split(directory.connection.default_role) if name != roles.OWNER]
    return roles.text_of(names or [roles.MEMBER])  # defence: SSO12 no-owner


def returning_role(directory: Directory, before: str | None) -> str:
    """Return the roles for a disabled user who is enabled again.

    They are the roles `before`. If that is None, or the connection grants roles by group, they are the default roles:
    a disabled user is in no group.
    """
    if before is None or json.loads(directory.connection.group_roles):  # defence: SSO12 group-roles-end
        return default_role(directory)
    return before


async def lock_organization(ctx: Context, directory: Directory) -> None:
    """Lock the organization of a directory, if it has one. Raises NoSuchResource if it is gone."""
    organization_id = directory.connection.organization_id
    if organization_id is not None and await organizations.lock(ctx, organization_id) is None:
        raise NoSuchResource


async def check_protection(ctx: Context, directory: Directory, user: UserRow) -> None:
    """Check that a directory may disable a user or change their email address.

    Raises ProtectedUser for an owner of the organization, and for a user who may manage the service.
    """
    organization_id = directory.connection.organization_id
    member = None
    if organization_id is not None:
        member = await organizations.find_member(ctx, organization_id, user.id)
    is_owner = member is not None and member.is_owner
    # defence: SSO12 protected
    if is_owner or user_roles.permits(ctx.policy, user, "service", "manage"):
        events.user_refused(ctx, directory, user.id, ProtectedUser)
        raise ProtectedUser


async def grant(ctx: Context, directory: Directory, user: UserRow, role: str) -> None:
    """Lift a ban that a directory made of a locked user, and add the user to the organization with these roles.

    A directory of the whole service lifts bans with the reason `DISABLED` or `REMOVED`, one of an organization only
    `REMOVED`. A user who is a member already keeps their roles. Raises LimitReached, and
    UserIsDisabledByTheDirectory if another directory of the organization has disabled the user.
    """
    organization_id = directory.connection.organization_id
    reasons = (REMOVED, DISABLED) if organization_id is None else (REMOVED,)
    if user.banned and user.ban_reason in reasons:  # defence: SSO13 own-ban
        await changes.unban(ctx, user)
    if organization_id is None:
        return
    try:
        await members.add_directly(ctx, organization_id, user.id, split(role))
    except UserIsAlreadyAMemberOfThisOrganization:
        return
    except (OrganizationMembershipLimitReached, YouHaveReachedTheMaximumNumberOfOrganizations) as full:
        raise LimitReached(full.message) from full


async def withdraw(ctx: Context, directory: Directory, user: UserRow) -> str | None:
    """End the access of a user; the user's row and the organization are locked.

    A directory of the whole service bans the user. One of an organization ends the membership, sessions, grants,
    invitations, API keys and SCIM tokens there. Return the roles in the organization; None for a user without a
    membership.
    """
    organization_id = directory.connection.organization_id
    if organization_id is None:
        await _ban(ctx, user, DISABLED)
        return None
    # A sign-in that waits for its second factor must not open a session afterwards.
    await one_time_tokens.revoke(ctx, user.id, Purpose.CHALLENGE, Purpose.MAIL_CODE)
    # Before the membership ends, which clears the active organization of the sessions.
    of_connection = select(col(SsoSession.session_id)).where(
        col(SsoSession.connection_id) == directory.connection.id
    )
    ended = await sessions.end_some(
        ctx,
        user,
        (col(Session.active_organization_id) == organization_id) | col(Session.id).in_(of_connection),
    )
    if ended:
        session_events.publish_ended(ctx, EndReason.DIRECTORY, user.id, ended)
    await ctx.db.execute(  # defence: SSO13 grants
        END_GRANTS_OF_CONNECTION_AND_USER, connection_id=directory.connection.id, user_id=user.id
    )
    await ctx.db.execute(_DISABLE_KEYS, organization=organization_id, creator=user.id, updated_at=ctx.now)
    # Not the token of this request: without it the directory could no longer change any user.
    # defence: SSO13 own-tokens
    await ctx.db.execute(
        REMOVE_OTHERS_OF_CREATOR,
        organization_id=organization_id,
        creator=user.id,
        token_id=directory.token_id,
    )
    await pending.cancel_of_address(ctx, organization_id, user.email)
    member = await organizations.find_member(ctx, organization_id, user.id)
    if member is None:
        return None
    await members.end(ctx, member)
    return member.role


async def end_account(ctx: Context, directory: Directory, user: UserRow) -> None:
    """Ban or delete a user whom a directory has created and now removed, as `scim.on_delete` says.

    Does nothing if the user is a member of an organization, is in another directory, or has an email address outside
    the verified domains of the directory.
    """
    if domain_of(user.email) not in await directories.domains(ctx, directory):  # defence: SSO12 own-account
        return
    organization_count = await organizations.count_organizations(ctx, user.id)
    if organization_count or await ctx.db.execute(_OTHER_LINK, user_id=user.id):  # defence: SSO12 others
        return
    if ctx.policy[ScimPolicy].on_delete == "remove":
        await changes.delete(ctx, user)
    elif (
        directory.connection.organization_id is not None
    ):  # A directory of the whole service has banned them.
        await _ban(ctx, user, REMOVED)


async def _ban(ctx: Context, user: UserRow, reason: str) -> None:
    """Ban a user permanently, if they are not; a temporary ban may have expired, or expires later.

    The reason of a ban that has not expired stays, so that no directory lifts it.
    """
    if not user.banned or user.ban_expires is not None:  # defence: SSO13 lasting-ban
        kept = user.ban_reason if user.is_banned(ctx.now) else reason  # defence: SSO13 kept-reason
        await changes.ban(ctx, user, reason=kept, until=None)


async def is_inside(ctx: Context, directory: Directory, user: UserRow) -> bool:
    """Return whether a user is a member of the organization of a directory; True if it has no organization."""
    organization_id = directory.connection.organization_id
    if organization_id is None:
        return True
    return await organizations.find_member(ctx, organization_id, user.id) is not None


async def members_without_link(ctx: Context, directory: Directory, domain: str) -> Sequence[UserRow]:
    """Return members of the organization with a verified address in a domain who are not in the directory yet.

    Returns at most MOST_TAKEN_OVER, and none for a directory of the whole service.
    """
    organization_id = directory.connection.organization_id
    if organization_id is None:
        return ()
    named = {"organization_id": organization_id, "connection_id": directory.connection.id}
    # Asked for both at once, PostgreSQL reads all users of the service to find those of the domain.
    ids = [row.user_id for row in await ctx.db.execute(_IDS_WITHOUT_LINK, **named)]
    if not ids:
        return ()
    statement = _MEMBERS_WITHOUT_LINK.where(col(User.email).endswith(f"@{domain}", autoescape=True))
    if len(ids) < MOST_TAKEN_OVER:
        statement = statement.where(col(User.id).in_(ids))
    rows: Sequence[UserRow] = await ctx.db.execute(statement, **named)
    return rows
