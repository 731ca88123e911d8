"""Invitations: read them, answer them, and cancel pending ones that their inviter could no longer send."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import bindparam, func, select, update
from sqlmodel import col

from domain.context import Context
from domain.organizations import events, roles
from domain.organizations.policy import TeamPolicy
from models.invitation import (
    INVITATION_COLUMNS,
    INVITATIONS,
    IS_OPEN,
    PENDING_OF_ADDRESS,
    Invitation,
    InvitationRow,
    InvitationStatus,
    InvitationTeam,
)
from models.member import MemberRow
from models.statements import is_, table_of
from models.user import UserRow

MOST_LISTED = 500
"""How many invitations of an organization are listed at most."""

_NEWEST = (col(Invitation.created_at).desc(), col(Invitation.id).desc())
_TEAM_IDS = (
    select(func.aggregate_strings(col(InvitationTeam.team_id), ","))
    .where(col(InvitationTeam.invitation_id) == col(Invitation.id))
    .scalar_subquery()
)
_OF_ORGANIZATION = (
    select(*INVITATION_COLUMNS, _TEAM_IDS.label("team_ids"))
    .where(is_(Invitation.organization_id, "organization_id"))
    .order_by(*_NEWEST)
)
_IS_PENDING = col(Invitation.status) == InvitationStatus.PENDING.value
_OF_INVITER = INVITATIONS.where(
    is_(Invitation.inviter_id, "inviter_id"), is_(Invitation.organization_id, "organization_id"), _IS_PENDING
)
# The condition decides: of an acceptance, a rejection and a cancellation at the same time, one succeeds.
ANSWER = (
    update(table_of(Invitation))
    .where(
        col(Invitation.id) == bindparam("invitation_id"),
        _IS_PENDING,  # defence: ORG5 ORG13 pending-only
    )
    .returning(*INVITATION_COLUMNS)
    .execution_options(row=InvitationRow)
)
"""Change the pending invitation `invitation_id`; return it, or nothing if it is not pending."""


class InvitationWithTeams(NamedTuple):
    """An invitation, and the ids of the teams that the user joins with it."""

    invitation: InvitationRow
    team_ids: Sequence[str] = ()


async def with_teams(ctx: Context, invitations: Sequence[InvitationRow]) -> Sequence[InvitationWithTeams]:
    """Return each invitation with the ids of its teams; with none if teams are disabled."""
    if not invitations or not ctx.policy[TeamPolicy].enabled:
        return [InvitationWithTeams(invitation) for invitation in invitations]
    wanted = col(InvitationTeam.invitation_id).in_([invitation.id for invitation in invitations])
    rows = await ctx.db.execute(
        select(col(InvitationTeam.invitation_id), col(InvitationTeam.team_id))
        .where(wanted)
        .order_by(col(InvitationTeam.team_id))
    )
    team_ids: dict[str, list[str]] = {}
    for invitation_id, team_id in rows:
        team_ids.setdefault(invitation_id, []).append(team_id)
    return [InvitationWithTeams(each, team_ids.get(each.id, ())) for each in invitations]


def _with_teams(columns: Sequence[Any]) -> InvitationWithTeams:
    *invitation, team_ids = columns
    return InvitationWithTeams(InvitationRow(*invitation), sorted(team_ids.split(",")) if team_ids else ())


async def visible(ctx: Context, member: MemberRow, *, pending_only: bool) -> Sequence[InvitationWithTeams]:
    """Return the newest invitations of an organization that `member` may see; none if they may not invite.

    Only owners see invitations for the role `owner`. `pending_only` leaves out those that cannot be answered any more.
    """
    if not roles.permits(ctx.policy, member.role, "invitation", "create"):
        return []
    found = await of_organization(ctx, member.organization_id, pending_only=pending_only)
    return [each for each in found if member.is_owner or not roles.is_owner(each.invitation.role)]


async def of_organization(
    ctx: Context, organization_id: str, *, pending_only: bool
) -> Sequence[InvitationWithTeams]:
    """Return the newest invitations of an organization; with `pending_only` those that can still be answered."""
    statement = _OF_ORGANIZATION.limit(MOST_LISTED)
    values: dict[str, Any] = {"organization_id": organization_id}
    if pending_only:
        statement = statement.where(*IS_OPEN)
        values["now"] = ctx.now
    return [_with_teams(row) for row in await ctx.db.execute(statement, **values)]


async def of_address(ctx: Context, organization_id: str, email: str) -> InvitationRow | None:
    """Return the pending invitation of a lower-case address to an organization, even if it has expired, or None."""
    row: InvitationRow | None = (
        await ctx.db.execute(PENDING_OF_ADDRESS, organization_id=organization_id, email=email)
    ).first()
    return row


async def answer(ctx: Context, invitation: InvitationRow, status: InvitationStatus) -> InvitationRow | None:
    """Set the status of a pending invitation, and return it; None if it is no longer pending."""
    row: InvitationRow | None = (
        await ctx.db.execute(ANSWER, invitation_id=invitation.id, status=status.value, updated_at=ctx.now)
    ).first()
    return row


async def settle(ctx: Context, organization_id: str, user: UserRow) -> None:
    """Mark the pending invitation of a user as accepted, because they became a member in another way.

    An expired one is marked as canceled.
    """
    invitation = await of_address(ctx, organization_id, user.email)
    if invitation is not None:
        status = InvitationStatus.ACCEPTED if invitation.is_open(ctx.now) else InvitationStatus.CANCELED
        await answer(ctx, invitation, status)
        if status is InvitationStatus.ACCEPTED:
            events.publish_accepted(ctx, invitation, user.id)


async def cancel_of_inviter(ctx: Context, member: MemberRow) -> None:
    """Cancel the pending invitations of a member whose roles have changed, if they could no longer send them."""
    for invitation in await _of_inviter(ctx, member):
        if not may_invite(ctx, member, invitation.role):
            await _cancel(ctx, invitation, "inviter-demoted")


async def cancel_all_of_inviter(ctx: Context, member: MemberRow) -> None:
    """Cancel all pending invitations that a former member has sent."""
    for invitation in await _of_inviter(ctx, member):
        await _cancel(ctx, invitation, "inviter-left")


async def cancel_of_address(ctx: Context, organization_id: str, email: str) -> None:
    """Cancel the pending invitation of a lower-case address, because a directory has ended the user's membership."""
    invitation = await of_address(ctx, organization_id, email)
    if invitation is not None:
        await _cancel(ctx, invitation, "directory")


def may_invite(ctx: Context, member: MemberRow, role: str) -> bool:
    """Return whether a member may invite a user with these roles."""
    may = roles.permits(ctx.policy, member.role, "invitation", "create")
    return may and roles.outranks(ctx.policy, member.role, role)


async def _of_inviter(ctx: Context, member: MemberRow) -> Sequence[InvitationRow]:
    rows: Sequence[InvitationRow] = await ctx.db.execute(
        _OF_INVITER, inviter_id=member.user_id, organization_id=member.organization_id
    )
    return rows


async def _cancel(ctx: Context, invitation: InvitationRow, reason: str) -> None:
    if await answer(ctx, invitation, InvitationStatus.CANCELED) is not None:
        events.invitation_canceled(ctx, invitation, reason)
