"""Audit events about organizations, members, invitations and teams, and the same events for webhooks."""

from typing import Any

from domain.audit.record import Event, Refused, hints, record
from domain.context import Context
from domain.localization import N_
from domain.webhooks.publication import EventType, publish
from models import Outcome
from models.invitation import InvitationRow, InvitationStatus
from models.member import MemberRow
from models.organization import OrganizationRow
from models.team import TeamRow

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

WEBHOOK_CREATED = EventType("organization.created", has_user=False)
WEBHOOK_UPDATED = EventType("organization.updated", has_user=False)
WEBHOOK_DELETED = EventType("organization.deleted", has_user=False)
WEBHOOK_MEMBER_ADDED = EventType("member.added")
WEBHOOK_MEMBER_REMOVED = EventType("member.removed")
WEBHOOK_ROLE_CHANGED = EventType("member.role_changed")
WEBHOOK_INVITATION_CREATED = EventType("invitation.created", has_user=False)
WEBHOOK_INVITATION_ACCEPTED = EventType("invitation.accepted", has_user=False)
WEBHOOK_INVITATION_REJECTED = EventType("invitation.rejected", has_user=False)
WEBHOOK_INVITATION_CANCELLED = EventType("invitation.cancelled", has_user=False)
WEBHOOK_TEAM_CREATED = EventType("team.created", has_user=False)
WEBHOOK_TEAM_UPDATED = EventType("team.updated", has_user=False)
WEBHOOK_TEAM_DELETED = EventType("team.deleted", has_user=False)
WEBHOOK_TEAM_MEMBER_ADDED = EventType("team_member.added")
WEBHOOK_TEAM_MEMBER_REMOVED = EventType("team_member.removed")

_NAMES = {"custom_data": "metadata"}
"""The columns that have another name in operations."""


def created(ctx: Context, organization: OrganizationRow, owner: MemberRow) -> None:
    """Record and publish that an organization was created with this owner."""
    _record(ctx, CREATED, organization.id, user_id=owner.user_id)
    publish(ctx, WEBHOOK_CREATED, organization=_fields(organization))
    _publish_member(ctx, WEBHOOK_MEMBER_ADDED, owner)


def imported(ctx: Context, organization_id: str, owner_id: str | None) -> None:
    """Record that an organization was imported, with this owner if any. Nothing is published to webhooks."""
    _record(ctx, CREATED, organization_id, user_id=owner_id)


def updated(ctx: Context, organization: OrganizationRow, fields: list[str]) -> None:
    """Record and publish that fields of an organization were changed; `organization` has the new values."""
    _record(ctx, UPDATED, organization.id, fields=fields)
    changed = [_NAMES.get(name, name) for name in fields]
    publish(ctx, WEBHOOK_UPDATED, organization=_fields(organization), changed=changed)


def deleted(ctx: Context, organization_id: str) -> None:
    """Record and publish that an organization was deleted."""
    _record(ctx, DELETED, organization_id)
    publish(ctx, WEBHOOK_DELETED, organization={"id": organization_id})


def refused(ctx: Context, organization_id: str, refusal: Refused) -> None:
    """Record that the caller was refused an operation in an organization, for lack of a permission or rank."""
    _record(ctx, REFUSED, organization_id, outcome=Outcome.REFUSED, refusal=refusal)


def member_added(ctx: Context, member: MemberRow) -> None:
    """Record and publish that a user became a member without an invitation."""
    _record(ctx, MEMBER_ADDED, member.organization_id, user_id=member.user_id, role=member.role)
    _publish_member(ctx, WEBHOOK_MEMBER_ADDED, member)


def member_removed(ctx: Context, member: MemberRow) -> None:
    """Record and publish that a member was removed by another user."""
    _record(ctx, MEMBER_REMOVED, member.organization_id, user_id=member.user_id, role=member.role)
    _publish_member(ctx, WEBHOOK_MEMBER_REMOVED, member)


def member_left(ctx: Context, member: MemberRow) -> None:
    """Record and publish that a member left the organization."""
    _record(ctx, MEMBER_LEFT, member.organization_id, user_id=member.user_id, role=member.role)
    _publish_member(ctx, WEBHOOK_MEMBER_REMOVED, member)


def role_changed(ctx: Context, old: MemberRow, new: MemberRow) -> None:
    """Record and publish that the roles of a member were replaced."""
    _record(ctx, ROLE_CHANGED, new.organization_id, user_id=new.user_id, old=old.role, new=new.role)
    publish_role_changed(ctx, old, new.role)


def publish_role_changed(ctx: Context, old: MemberRow, role: str) -> None:
    """Publish that the roles of a member were replaced by `role`; `old` is the member before."""
    _publish_member(ctx, WEBHOOK_ROLE_CHANGED, old._replace(role=role), previousRole=old.role)


def invitation_sent(ctx: Context, invitation: InvitationRow, *, again: bool = False) -> None:
    """Record that an invitation was created, or sent `again`; publish it if it was created."""
    event = INVITATION_RESENT if again else INVITATION_SENT
    _invitation(ctx, event, invitation, to=hints(ctx, invitation.email)[0], role=invitation.role)
    if not again:
        _publish_invitation(ctx, WEBHOOK_INVITATION_CREATED, invitation, InvitationStatus.PENDING)


def invitation_accepted(ctx: Context, invitation: InvitationRow, member: MemberRow) -> None:
    """Record and publish that the caller accepted an invitation and became a member."""
    _invitation(ctx, INVITATION_ACCEPTED, invitation, role=invitation.role)
    publish_accepted(ctx, invitation, member.user_id)
    _publish_member(ctx, WEBHOOK_MEMBER_ADDED, member)


def publish_accepted(ctx: Context, invitation: InvitationRow, user_id: str) -> None:
    """Publish that an invitation is accepted, because its user became a member, by it or in another way."""
    _publish_invitation(
        ctx, WEBHOOK_INVITATION_ACCEPTED, invitation, InvitationStatus.ACCEPTED, user_id=user_id
    )


def invitation_rejected(ctx: Context, invitation: InvitationRow) -> None:
    """Record and publish that the caller rejected an invitation."""
    _invitation(ctx, INVITATION_REJECTED, invitation)
    _publish_invitation(
        ctx,
        WEBHOOK_INVITATION_REJECTED,
        invitation,
        InvitationStatus.REJECTED,
        user_id=ctx.signed_in.user.id,
    )


def invitation_canceled(ctx: Context, invitation: InvitationRow, reason: str | None = None) -> None:
    """Record and publish that an invitation was canceled.

    `reason` is None if a user canceled it; otherwise it says why, for example `inviter-left`.
    """
    reasons = {} if reason is None else {"reason": reason}
    _invitation(ctx, INVITATION_CANCELED, invitation, **reasons)
    _publish_invitation(ctx, WEBHOOK_INVITATION_CANCELLED, invitation, InvitationStatus.CANCELED)


def invitation_refused(ctx: Context, invitation: InvitationRow, refusal: Refused) -> None:
    """Record that the caller tried to use an invitation of another address, or had not proven its address."""
    _invitation(ctx, INVITATION_REFUSED, invitation, outcome=Outcome.REFUSED, refusal=refusal)


def team_created(ctx: Context, team: TeamRow) -> None:
    """Record and publish that a team was created."""
    _team(ctx, TEAM_CREATED, WEBHOOK_TEAM_CREATED, team)


def team_updated(ctx: Context, team: TeamRow) -> None:
    """Record and publish that a team was renamed; `team` has the new name."""
    _team(ctx, TEAM_UPDATED, WEBHOOK_TEAM_UPDATED, team)


def team_removed(ctx: Context, team: TeamRow) -> None:
    """Record and publish that a team was removed."""
    _team(ctx, TEAM_REMOVED, WEBHOOK_TEAM_DELETED, team)


def _team(ctx: Context, event: Event, published: EventType, team: TeamRow) -> None:
    _record(ctx, event, team.organization_id, team=team.id)
    publish(ctx, published, organizationId=team.organization_id, team={"id": team.id, "name": team.name})


def team_member_added(ctx: Context, organization_id: str, team_id: str, user_id: str) -> None:
    """Record and publish that a member was added to a team."""
    _record(ctx, TEAM_MEMBER_ADDED, organization_id, user_id=user_id, team=team_id)
    publish(ctx, WEBHOOK_TEAM_MEMBER_ADDED, user_id=user_id, organizationId=organization_id, teamId=team_id)


def team_member_removed(ctx: Context, organization_id: str, team_id: str, user_id: str) -> None:
    """Record and publish that a member was removed from a team."""
    _record(ctx, TEAM_MEMBER_REMOVED, organization_id, user_id=user_id, team=team_id)
    publish(ctx, WEBHOOK_TEAM_MEMBER_REMOVED, user_id=user_id, organizationId=organization_id, teamId=team_id)


def _invitation(ctx: Context, event: Event, invitation: InvitationRow, **details: Any) -> None:
    _record(ctx, event, invitation.organization_id, invitation=invitation.id, **details)


def _record(ctx: Context, event: Event, organization_id: str, **details: Any) -> None:
    record(ctx, event, by_operator=ctx.is_operator, organizationId=organization_id, **details)


def _fields(organization: OrganizationRow) -> dict[str, str]:
    return {"id": organization.id, "name": organization.name, "slug": organization.slug}


def _publish_member(ctx: Context, event: EventType, member: MemberRow, **data: Any) -> None:
    publish(
        ctx,
        event,
        user_id=member.user_id,
        organizationId=member.organization_id,
        memberId=member.id,
        role=member.role,
        **data,
    )


def _publish_invitation(
    ctx: Context,
    event: EventType,
    invitation: InvitationRow,
    status: InvitationStatus,
    *,
    user_id: str | None = None,
) -> None:
    """Publish an event about an invitation. It has the email address, so it is erased with the user of the address."""
    publish(
        ctx,
        event,
        user_id=user_id,
        address_in_data=invitation.email,
        organizationId=invitation.organization_id,
        invitationId=invitation.id,
        email=invitation.email,
        role=invitation.role,
        status=status.value,
    )
