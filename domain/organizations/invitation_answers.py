"""Invitations for their recipients: read, accept and reject them.

An invitation is found by the secret in its emailed link, which proves that the caller reads the mailbox, or by its id,
which inviters know as well.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import select
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.errors import Forbidden
from domain.organizations import access, active, events, memberships, pending, team_members
from domain.organizations.errors import (
    EmailVerificationRequiredBeforeAcceptingOrRejectingInvitation,
    EmailVerificationRequiredForInvitation,
    InvitationNotFound,
    YouAreNotTheRecipientOfTheInvitation,
)
from domain.organizations.invitations import PREFIX
from domain.organizations.pending import InvitationWithTeams
from domain.organizations.policy import OrganizationPolicy
from domain.users import locking, lookup
from models.invitation import (
    FIND_INVITATION,
    INVITATION_COLUMNS,
    IS_OPEN,
    Invitation,
    InvitationRow,
    InvitationStatus,
)
from models.member import MemberRow
from models.organization import FIND_ORGANIZATION, Organization, OrganizationRow
from models.statements import is_
from models.user import UserRow

_MOST_OF_USER = 100
"""How many invitations of one address are listed."""

_OF_ADDRESS = (
    select(*INVITATION_COLUMNS, col(Organization.name))
    .join(Organization, col(Organization.id) == col(Invitation.organization_id))
    .where(is_(Invitation.email, "email"), *IS_OPEN)
    .order_by(col(Invitation.created_at).desc(), col(Invitation.id).desc())
    .limit(_MOST_OF_USER)
)


class InvitationDetails(NamedTuple):
    """What the recipient of an invitation may see of it."""

    invitation: InvitationWithTeams
    organization: OrganizationRow
    inviter: UserRow


class InvitationView(StrEnum):
    """The state of an invitation for a browser; the page about the invitation depends on it."""

    HIDDEN = "hidden"
    """Nothing is shown: no user is signed in, and the invitation is named by its id instead of its secret."""
    OPEN = "open"
    """The invitation can be answered, after a sign-in if no user is signed in."""
    OTHER_ADDRESS = "other_address"
    """The invitation is for another email address than that of the signed-in user."""
    UNVERIFIED = "unverified"
    """The email address of the signed-in user must be verified before the invitation can be answered."""
    MEMBER = "member"
    """The signed-in user, whose address was invited, is already a member of the organization."""
    GONE = "gone"
    """The invitation was answered or canceled, has expired, never existed, or its inviter lost the right to invite."""


class AcceptedInvitation(NamedTuple):
    """An accepted invitation, and the new member."""

    invitation: InvitationWithTeams
    member: MemberRow


async def get(ctx: Context, id_or_secret: str) -> InvitationDetails:
    """Return a pending invitation for the caller's email address.

    Raises InvitationNotFound, YouAreNotTheRecipientOfTheInvitation; EmailVerificationRequiredForInvitation if the
    settings require a proof of the address, and neither the secret nor a verification is one.
    """
    row = await _find_open(ctx, id_or_secret)
    user = ctx.signed_in.user
    _check_recipient(ctx, row, user, id_or_secret, EmailVerificationRequiredForInvitation)
    return await details(ctx, row)


async def peek(ctx: Context, id_or_secret: str) -> tuple[InvitationView, InvitationDetails | None]:
    """Return the state of an invitation for a browser, and its details; None if the browser may not see them.

    No session is needed.
    """
    if ctx.caller is None and not id_or_secret.startswith(PREFIX):  # defence: ORG3 signed-out
        return InvitationView.HIDDEN, None
    try:
        row = await _find(ctx, id_or_secret)
        found = await details(ctx, row)
    except InvitationNotFound:
        return InvitationView.GONE, None
    view = await _view(ctx, row, id_or_secret)
    # The organization and the address are shown to the address's user, and to every caller who has the secret.
    is_shown = view in {InvitationView.OPEN, InvitationView.MEMBER}
    is_shown |= view == InvitationView.OTHER_ADDRESS and id_or_secret != row.id  # defence: ORG1 other-address
    return view, found if is_shown else None


async def _view(ctx: Context, row: InvitationRow, id_or_secret: str) -> InvitationView:
    user = None if ctx.caller is None else ctx.caller.user
    recipient = user if user is not None and user.email == row.email else None
    if recipient is not None and await access.find_member(ctx, row.organization_id, recipient.id):
        return InvitationView.MEMBER
    if not row.is_open(ctx.now) or not await _inviter_allows(ctx, row):
        return InvitationView.GONE
    if user is None:
        return InvitationView.HIDDEN if id_or_secret == row.id else InvitationView.OPEN
    if recipient is None:
        return InvitationView.OTHER_ADDRESS
    return InvitationView.OPEN if _is_proven(ctx, row, recipient, id_or_secret) else InvitationView.UNVERIFIED


async def details(ctx: Context, row: InvitationRow) -> InvitationDetails:
    """Return an invitation with its teams, organization and inviter.

    Raises InvitationNotFound if the organization or inviter no longer exists.
    """
    organization: OrganizationRow | None = (
        await ctx.db.execute(FIND_ORGANIZATION, organization_id=row.organization_id)
    ).first()
    inviter = await lookup.look_up(ctx, row.inviter_id)
    if organization is None or inviter is None:
        raise InvitationNotFound
    (invitation,) = await pending.with_teams(ctx, [row])
    return InvitationDetails(invitation, organization, inviter)


async def accept(ctx: Context, id_or_secret: str) -> AcceptedInvitation:
    """Accept an invitation: the caller becomes a member of its organization and teams.

    The organization becomes the active one of the session. An error leaves the invitation pending. Raises
    InvitationNotFound, YouAreNotTheRecipientOfTheInvitation,
    EmailVerificationRequiredBeforeAcceptingOrRejectingInvitation, UserIsAlreadyAMemberOfThisOrganization,
    UserIsDisabledByTheDirectory, OrganizationMembershipLimitReached, YouHaveReachedTheMaximumNumberOfOrganizations,
    TeamMemberLimitReached, TeamIsManagedByADirectory.
    """
    before = await _find(ctx, id_or_secret)
    user = await locking.lock_caller(ctx)  # defence: ORG13 accept-user, ORG28 lock
    await access.lock(ctx, before.organization_id)  # defence: ORG13 accept-organization
    # Read again: the invitation or the inviter's right may have gone until the lock was held.
    row = await _find_open(ctx, id_or_secret)
    error = EmailVerificationRequiredBeforeAcceptingOrRejectingInvitation
    _check_recipient(ctx, row, user, id_or_secret, error)
    await memberships.check_limits(ctx, row.organization_id, user.id)
    accepted = await pending.answer(ctx, row, InvitationStatus.ACCEPTED)
    if accepted is None:
        raise InvitationNotFound
    (invitation,) = await pending.with_teams(ctx, [accepted])
    member = await memberships.add(ctx, row.organization_id, user.id, row.role)  # defence: ORG25 accepted
    joined = await team_members.requested(ctx, row.organization_id, invitation.team_ids)
    for team in joined:
        await team_members.join(ctx, team, member)
    await active.activate(ctx, row.organization_id, joined[0].id if len(joined) == 1 else None)
    events.invitation_accepted(ctx, accepted, member)
    return AcceptedInvitation(invitation, member)


async def reject(ctx: Context, id_or_secret: str) -> InvitationWithTeams:
    """Reject a pending invitation for the caller's email address; return the invitation.

    Raises InvitationNotFound, YouAreNotTheRecipientOfTheInvitation,
    EmailVerificationRequiredBeforeAcceptingOrRejectingInvitation.
    """
    row = await _find_open(ctx, id_or_secret)
    error = EmailVerificationRequiredBeforeAcceptingOrRejectingInvitation
    _check_recipient(ctx, row, ctx.signed_in.user, id_or_secret, error)
    rejected = await pending.answer(ctx, row, InvitationStatus.REJECTED)
    if rejected is None:
        raise InvitationNotFound
    events.invitation_rejected(ctx, rejected)
    return (await pending.with_teams(ctx, [rejected]))[0]


async def list_of_user(ctx: Context) -> Sequence[tuple[InvitationWithTeams, str]]:
    """Return the pending invitations for the caller's email address, newest first, with the organizations' names.

    Raises EmailVerificationRequiredForInvitation if the address is unverified while email verification is enabled.
    """
    user = ctx.signed_in.user
    # defence: ORG2 list
    if ctx.policy[OrganizationPolicy].verifies_email and not user.email_verified:
        raise EmailVerificationRequiredForInvitation
    rows = await ctx.db.execute(_OF_ADDRESS, email=user.email, now=ctx.now)
    count = len(INVITATION_COLUMNS)
    names = [row[count] for row in rows]
    invitations = await pending.with_teams(ctx, [InvitationRow(*row[:count]) for row in rows])
    return list(zip(invitations, names, strict=True))


async def _find(ctx: Context, id_or_secret: str) -> InvitationRow:
    """Return the invitation with this id or secret. Raises InvitationNotFound."""
    row: InvitationRow | None = (
        await ctx.db.execute(
            FIND_INVITATION, invitation_id=id_or_secret, secret_digest=tokens.digest(id_or_secret)
        )
    ).first()
    if row is None:
        raise InvitationNotFound
    return row


async def _find_open(ctx: Context, id_or_secret: str) -> InvitationRow:
    """Return the invitation with this id or secret if it can be answered, and its inviter could still send it.

    Raises InvitationNotFound.
    """
    row = await _find(ctx, id_or_secret)
    if not row.is_open(ctx.now) or not await _inviter_allows(ctx, row):  # defence: ORG5 open
        raise InvitationNotFound
    return row


async def _inviter_allows(ctx: Context, row: InvitationRow) -> bool:
    # A leaving administrator must not keep a door: their invitations end with their right to invite.
    member = await access.find_member(ctx, row.organization_id, row.inviter_id)
    if member is None or not pending.may_invite(ctx, member, row.role):  # defence: ORG11 inviter
        return False
    inviter = await lookup.look_up(ctx, row.inviter_id)
    return inviter is not None and not inviter.is_banned(ctx.now)  # defence: ORG11 banned


def _check_recipient(
    ctx: Context, row: InvitationRow, user: UserRow, id_or_secret: str, error: type[Forbidden]
) -> None:
    """Check that an invitation is for a user's address, which is proven by the secret or by verification.

    Raises YouAreNotTheRecipientOfTheInvitation, and the error for an unproven address.
    """
    if row.email != user.email:  # defence: ORG1 recipient
        events.invitation_refused(ctx, row, YouAreNotTheRecipientOfTheInvitation)
        raise YouAreNotTheRecipientOfTheInvitation
    if not _is_proven(ctx, row, user, id_or_secret):  # defence: ORG2 ORG14 unverified
        events.invitation_refused(ctx, row, error)
        raise error


def _is_proven(ctx: Context, row: InvitationRow, user: UserRow, id_or_secret: str) -> bool:
    """Return whether the secret or a verification proves that the mailbox is the user's."""
    # Not by its form: ids of imported invitations have any.
    is_proven = user.email_verified or id_or_secret != row.id  # defence: ORG2 secret
    return is_proven or not ctx.policy[OrganizationPolicy].require_verified_email
