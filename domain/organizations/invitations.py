"""Invitations for those who send them: send, send again, cancel and list them."""

from collections.abc import Sequence
from typing import NamedTuple

from domain import identifiers, tokens
from domain.context import Context
from domain.mail.policy import MailPolicy
from domain.organizations import access, events, mails, memberships, pending, roles, team_members
from domain.organizations.errors import (
    InvitationLimitReached,
    InvitationNotFound,
    MemberNotFound,
    NoActiveOrganization,
    OrganizationNotFound,
    UserIsAlreadyAMemberOfThisOrganization,
    UserIsAlreadyInvitedToThisOrganization,
    YouAreNotAllowedToCancelThisInvitation,
    YouAreNotAllowedToInviteUsersToThisOrganization,
    YouAreNotAllowedToInviteUserWithThisRole,
    YouAreNotAllowedToListInvitations,
    YouAreNotAMemberOfThisOrganization,
)
from domain.organizations.pending import InvitationWithTeams
from domain.organizations.policy import OrganizationPolicy
from domain.rate_limits import limits
from models.invitation import (
    COUNT_OPEN_INVITATIONS,
    FIND_INVITATION,
    Invitation,
    InvitationRow,
    InvitationStatus,
    InvitationTeam,
)
from models.member import MemberRow
from models.organization import OrganizationRow
from models.statements import insert
from models.user import UserRow

PREFIX = "inv_"
"""The beginning of each secret in the link of an invitation."""
_MAILS = limits.MailFamily("invitations")


class InvitationRequest(NamedTuple):
    """What a caller sends to invite an email address.

    `organization_id` None means the active organization of the session. With `resend`, a pending invitation of the
    address gets a new link and expiry.
    """

    email: str
    role: str | Sequence[str]
    organization_id: str | None
    resend: bool
    team_ids: Sequence[str]


async def invite(ctx: Context, request: InvitationRequest) -> InvitationWithTeams:
    """Invite an address to an organization and email the link; return the invitation.

    With `resend`, a pending invitation of the address gets a new link and expiry instead. No email is sent once the
    limits of invitation emails are reached. Raises OrganizationNotFound if none is named and none is active;
    MemberNotFound if the caller is not a member; InvalidEmail, YouAreNotAllowedToInviteUsersToThisOrganization,
    RoleNotFound, YouAreNotAllowedToInviteUserWithThisRole, UserIsAlreadyAMemberOfThisOrganization,
    UserIsAlreadyInvitedToThisOrganization, TeamNotFound, TeamIsManagedByADirectory, TeamMemberLimitReached,
    InvitationLimitReached.
    """
    chosen = await access.named(ctx, request.organization_id)
    if chosen is None:
        raise OrganizationNotFound
    email = identifiers.email(request.email)
    organization = await access.lock(ctx, chosen)  # defence: ORG13 invite-lock
    member = await access.require_member(ctx, chosen, MemberNotFound)
    if organization is None:
        raise MemberNotFound
    return await invite_as(ctx, organization, member, ctx.signed_in.user, request._replace(email=email))


async def invite_as(
    ctx: Context,
    organization: OrganizationRow,
    member: MemberRow,
    inviter: UserRow,
    request: InvitationRequest,
) -> InvitationWithTeams:
    """Invite an address in the name of `inviter`, whose membership is `member`; otherwise as `invite`.

    The caller has locked the organization; the address in `request` is lower-case. Raises the same errors as `invite`,
    except OrganizationNotFound, MemberNotFound and InvalidEmail.
    """
    access.require(ctx, member, "invitation", "create", YouAreNotAllowedToInviteUsersToThisOrganization)
    role = roles.text_of(roles.names_of(ctx.policy, request.role))
    # defence: ORG6 invited-role
    access.require_rank(ctx, member, (role,), YouAreNotAllowedToInviteUserWithThisRole)
    if await memberships.find_by_email(ctx, organization.id, request.email) is not None:
        raise UserIsAlreadyAMemberOfThisOrganization
    former = await pending.of_address(ctx, organization.id, request.email)
    if former is not None and former.is_open(ctx.now) and request.resend:
        # defence: ORG6 resent-role
        access.require_rank(ctx, member, (former.role,), YouAreNotAllowedToInviteUserWithThisRole)
        return await _resend(ctx, organization, inviter, former)
    # An expired one too: an address has at most one pending row in an organization.
    if former is not None:
        await _replace(ctx, former)
    chosen_teams = await team_members.requested(ctx, organization.id, request.team_ids)
    policy = ctx.policy[OrganizationPolicy]
    open_ones = await ctx.db.execute(COUNT_OPEN_INVITATIONS, organization_id=organization.id, now=ctx.now)
    if open_ones.scalar() >= policy.invitation_limit:  # defence: ORG13 invitation-limit
        raise InvitationLimitReached
    secret = _new_secret()
    row = InvitationRow(
        id=tokens.token(),
        organization_id=organization.id,
        email=request.email,
        role=role,
        status=InvitationStatus.PENDING.value,
        inviter_id=inviter.id,
        expires_at=ctx.now + policy.invitation_expires_in,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    # defence: ORG3 stored-digest
    await ctx.db.execute(insert(Invitation), **row._asdict(), secret_digest=tokens.digest(secret))
    for team in chosen_teams:
        await ctx.db.execute(insert(InvitationTeam), invitation_id=row.id, team_id=team.id)
    events.invitation_sent(ctx, row)
    if await _may_mail(ctx, inviter, row.email):
        mails.invitation(ctx, inviter, organization, row.email, secret, policy.invitation_expires_in)
    return InvitationWithTeams(row, sorted(team.id for team in chosen_teams))


async def _replace(ctx: Context, former: InvitationRow) -> None:
    """Cancel the pending invitation of an address before a new one. Raises UserIsAlreadyInvitedToThisOrganization."""
    is_open = former.is_open(ctx.now)
    if is_open and not ctx.policy[OrganizationPolicy].cancel_pending_on_reinvite:
        raise UserIsAlreadyInvitedToThisOrganization
    await pending.answer(ctx, former, InvitationStatus.CANCELED)
    if is_open:
        events.invitation_canceled(ctx, former, "invited-again")


async def _resend(
    ctx: Context, organization: OrganizationRow, inviter: UserRow, former: InvitationRow
) -> InvitationWithTeams:
    """Send a pending invitation again with a new secret and expiry."""
    lasts = ctx.policy[OrganizationPolicy].invitation_expires_in
    values: dict[str, object] = {"expires_at": ctx.now + lasts}
    # The former link goes on to work if its successor may not be sent.
    if await _may_mail(ctx, inviter, former.email):
        secret = _new_secret()
        values["secret_digest"] = tokens.digest(secret)  # defence: ORG5 resent
        mails.invitation(ctx, inviter, organization, former.email, secret, lasts)
    row: InvitationRow | None = (
        await ctx.db.execute(pending.ANSWER, invitation_id=former.id, **values, updated_at=ctx.now)
    ).first()
    if row is None:
        raise UserIsAlreadyInvitedToThisOrganization
    events.invitation_sent(ctx, row, again=True)
    return (await pending.with_teams(ctx, [row]))[0]


def _new_secret() -> str:
    return PREFIX + tokens.token()  # defence: ORG4 length


async def _may_mail(ctx: Context, inviter: UserRow, email: str) -> bool:
    """Return whether an invitation may be mailed; the response does not depend on it."""
    if ctx.policy[MailPolicy].sender == "none":
        return False
    quota = ctx.policy[OrganizationPolicy].invitation_mails
    # defence: ORG15 inviter-budget
    if not await limits.may_cause(ctx, "invitation_mails", inviter.id, quota):
        return False
    return await limits.may_mail(ctx, _MAILS, email)  # defence: ORG15 recipient-budget


async def cancel(ctx: Context, invitation_id: str) -> InvitationWithTeams:
    """Cancel a pending invitation to an organization of which the caller is a member; return the invitation.

    Raises InvitationNotFound, also to callers who are not members; YouAreNotAllowedToCancelThisInvitation.
    """
    # Found by its id alone, because no secret has an empty digest.
    found = await ctx.db.execute(FIND_INVITATION, invitation_id=invitation_id, secret_digest=b"")
    row: InvitationRow | None = found.first()
    if row is None or not row.is_open(ctx.now):
        raise InvitationNotFound
    member = await access.require_member(ctx, row.organization_id, InvitationNotFound)
    error = YouAreNotAllowedToCancelThisInvitation
    access.require(ctx, member, "invitation", "cancel", error)
    if roles.is_owner(row.role) and not member.is_owner:
        access.refuse(ctx, row.organization_id, error)
    return await cancel_row(ctx, row)


async def cancel_row(ctx: Context, row: InvitationRow) -> InvitationWithTeams:
    """Cancel an invitation without a check of permissions; return it. Raises InvitationNotFound if not pending."""
    canceled = await pending.answer(ctx, row, InvitationStatus.CANCELED)
    if canceled is None:
        raise InvitationNotFound
    events.invitation_canceled(ctx, canceled)
    return (await pending.with_teams(ctx, [canceled]))[0]


async def list_of_organization(ctx: Context, organization_id: str | None) -> Sequence[InvitationWithTeams]:
    """Return the invitations of an organization that the caller may see, newest first, whatever their status.

    Raises NoActiveOrganization, YouAreNotAMemberOfThisOrganization, YouAreNotAllowedToListInvitations.
    """
    chosen = await access.named(ctx, organization_id)
    if chosen is None:
        raise NoActiveOrganization
    member = await access.require_member(ctx, chosen, YouAreNotAMemberOfThisOrganization)
    access.require(ctx, member, "invitation", "create", YouAreNotAllowedToListInvitations)
    return await pending.visible(ctx, member, pending_only=False)
