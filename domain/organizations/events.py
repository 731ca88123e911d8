"""Audit events about organizations, members, invitations and teams."""

from typing import Any

from domain.audit.record import Event, Refused, hints, record
from domain.context import Context
from domain.localization import N_
from models import Outcome
from models.invitation import InvitationRow
from models.member import MemberRow

CREATED = Event("organization.created", N_("An organization was created"))
UPDATED = Event("organization.updated", N_("An organization was changed"), in_history=False)
DELETED = Event("organization.deleted", N_("An organization was deleted"), important=True)
REFUSED = Event(
    "organization.refused",
    N_("An action in an organization was refused"),
    in_history=False,
    unbounded=True,
)
MEMBER_ADDED = Event("member.added", N_("The account was added to an organization"))
MEMBER_REMOVED = Event("member.removed", N_("The account was removed from an organization"))
MEMBER_LEFT = Event("member.left", N_("The account left an organization"))
ROLE_CHANGED = Event("member.role_changed", N_("The roles of the account in an organization were changed"))
INVITATION_SENT = Event("invitation.sent", N_("An invitation to an organization was sent"))
INVITATION_RESENT = Event("invitation.resent", N_("An invitation to an organization was sent again"))
INVITATION_ACCEPTED = Event("invitation.accepted", N_("An invitation to an organization was accepted"))
INVITATION_REJECTED = Event("invitation.rejected", N_("An invitation to an organization was rejected"))
INVITATION_CANCELED = Event("invitation.canceled", N_("An invitation to an organization was canceled"))
INVITATION_REFUSED = Event(
    "invitation.refused", N_("An invitation to an organization could not be used"), unbounded=True
)
TEAM_CREATED = Event("team.created", N_("A team was created"), in_history=False)
TEAM_UPDATED = Event("team.updated", N_("A team was renamed"), in_history=False)
TEAM_REMOVED = Event("team.removed", N_("A team was removed"), in_history=False)
TEAM_MEMBER_ADDED = Event("team_member.added", N_("The account was added to a team"))
TEAM_MEMBER_REMOVED = Event("team_member.removed", N_("The account was removed from a team"))


def created(ctx: Context, organization_id: str, owner_id: str | None) -> None:
    """An organization was created with this owner; None for an imported one without owners."""
    _record(ctx, CREATED, organization_id, user_id=owner_id)


def updated(ctx: Context, organization_id: str, fields: list[str]) -> None:
    """Fields of an organization were changed."""
    _record(ctx, UPDATED, organization_id, fields=fields)


def deleted(ctx: Context, organization_id: str) -> None:
    """An organization was deleted."""
    _record(ctx, DELETED, organization_id)


def refused(ctx: Context, organization_id: str, refusal: Refused) -> None:
    """The caller lacked a permission, or the rank, for an operation in an organization."""
    _record(ctx, REFUSED, organization_id, outcome=Outcome.REFUSED, refusal=refusal)


def member_added(ctx: Context, member: MemberRow) -> None:
    """A user became a member without an invitation."""
    _record(ctx, MEMBER_ADDED, member.organization_id, user_id=member.user_id, role=member.role)


def member_removed(ctx: Context, member: MemberRow) -> None:
    """A member was removed by another."""
    _record(ctx, MEMBER_REMOVED, member.organization_id, user_id=member.user_id, role=member.role)


def member_left(ctx: Context, member: MemberRow) -> None:
    """A member has left."""
    _record(ctx, MEMBER_LEFT, member.organization_id, user_id=member.user_id, role=member.role)


def role_changed(ctx: Context, old: MemberRow, new: MemberRow) -> None:
    """The roles of a member were replaced."""
    _record(ctx, ROLE_CHANGED, new.organization_id, user_id=new.user_id, old=old.role, new=new.role)


def invitation_sent(ctx: Context, invitation: InvitationRow, *, again: bool = False) -> None:
    """An invitation was created, or sent again."""
    event = INVITATION_RESENT if again else INVITATION_SENT
    _invitation(ctx, event, invitation, to=hints(ctx, invitation.email)[0], role=invitation.role)


def invitation_accepted(ctx: Context, invitation: InvitationRow) -> None:
    """The caller has accepted an invitation."""
    _invitation(ctx, INVITATION_ACCEPTED, invitation, role=invitation.role)


def invitation_rejected(ctx: Context, invitation: InvitationRow) -> None:
    """The caller has rejected an invitation."""
    _invitation(ctx, INVITATION_REJECTED, invitation)


def invitation_canceled(ctx: Context, invitation: InvitationRow, reason: str | None = None) -> None:
    """An invitation was canceled by somebody, or for a reason such as that the inviter was removed."""
    reasons = {} if reason is None else {"reason": reason}
    _invitation(ctx, INVITATION_CANCELED, invitation, **reasons)


def invitation_refused(ctx: Context, invitation: InvitationRow, refusal: Refused) -> None:
    """An invitation of another address, or one whose address is unproven, was to be used."""
    _invitation(ctx, INVITATION_REFUSED, invitation, outcome=Outcome.REFUSED, refusal=refusal)


def team_created(ctx: Context, organization_id: str, team_id: str) -> None:
    """A team was created."""
    _record(ctx, TEAM_CREATED, organization_id, team=team_id)


def team_updated(ctx: Context, organization_id: str, team_id: str) -> None:
    """A team was renamed."""
    _record(ctx, TEAM_UPDATED, organization_id, team=team_id)


def team_removed(ctx: Context, organization_id: str, team_id: str) -> None:
    """A team was removed."""
    _record(ctx, TEAM_REMOVED, organization_id, team=team_id)


def team_member_added(ctx: Context, organization_id: str, team_id: str, user_id: str) -> None:
    """A member was added to a team."""
    _record(ctx, TEAM_MEMBER_ADDED, organization_id, user_id=user_id, team=team_id)


def team_member_removed(ctx: Context, organization_id: str, team_id: str, user_id: str) -> None:
    """A member was removed from a team."""
    _record(ctx, TEAM_MEMBER_REMOVED, organization_id, user_id=user_id, team=team_id)


def _invitation(ctx: Context, event: Event, invitation: InvitationRow, **details: Any) -> None:
    _record(ctx, event, invitation.organization_id, invitation=invitation.id, **details)


def _record(ctx: Context, event: Event, organization_id: str, **details: Any) -> None:
    record(ctx, event, by_operator=ctx.caller is None, organizationId=organization_id, **details)
