"""What happens to a user as the member of an organization, and to an invitation that they sent."""

from tests.security.matrix.cells import UNPROVEN, Event, column, ends, stays
from tests.security.matrix.groups import ALL
from tests.security.matrix.subject import Happen, Subject
from tests.security.matrix.ways.organizations import ACTIVE, INVITATION, MEMBERSHIP

OWN_WAYS = stays("an organization decides on nothing that opens the account", *ALL, "disown link")
_NOT_BY_KIND = "what becomes of an invitation does not depend on its sender's account"


def _by_owner(operation: str, **body: str) -> Happen:
    async def happen(subject: Subject) -> None:
        member = subject.held[MEMBERSHIP]
        named = {"organizationId": member["organizationId"]}
        whom = {"delete": {}, "remove-member": {"memberIdOrEmail": member["id"]}}
        more = whom.get(operation, {"memberId": member["id"]})
        await subject.do(f"/organization/{operation}", {**named, **more, **body}, subject.grace.headers)

    return happen


async def _leave(subject: Subject) -> None:
    body = {"organizationId": subject.held[MEMBERSHIP]["organizationId"]}
    await subject.do("/organization/leave", body)


async def _cancel(subject: Subject) -> None:
    body = {"invitationId": subject.held[INVITATION]["id"]}
    await subject.do("/organization/cancel-invitation", body, subject.grace.headers)


async def _send_again(subject: Subject) -> None:
    body = {"email": subject.second_root.email, "role": "member", "resend": True}
    await subject.do("/organization/invite-member", body)


GONE = ends("the user is no member any more, in no session", MEMBERSHIP, ACTIVE)
WITH_SENDER = ends("their invitations are canceled with their right to invite", INVITATION)

EVENTS = [
    Event(
        "the member is removed",
        _by_owner("remove-member"),
        ("member.removed", "invitation.canceled"),
        column(GONE, WITH_SENDER, rest=OWN_WAYS),
    ),
    Event(
        "the member leaves",
        _leave,
        ("member.left", "invitation.canceled"),
        column(GONE, WITH_SENDER, rest=OWN_WAYS),
    ),
    Event(
        "the member's role is lowered",
        _by_owner("update-member-role", role="member"),
        ("member.role_changed", "invitation.canceled"),
        column(WITH_SENDER, stays("a role is read with each request", MEMBERSHIP, ACTIVE), rest=OWN_WAYS),
    ),
    Event(
        "the organization is deleted",
        _by_owner("delete"),
        ("organization.deleted",),
        column(
            ends("everything of the organization is deleted", MEMBERSHIP, ACTIVE, INVITATION), rest=OWN_WAYS
        ),
    ),
    Event(
        "the invitation is canceled",
        _cancel,
        ("invitation.canceled",),
        column(
            ends("it is answered no more", INVITATION),
            stays("only the invitation ends", MEMBERSHIP, ACTIVE),
            rest=OWN_WAYS,
        ),
        UNPROVEN,
        _NOT_BY_KIND,
    ),
    Event(
        "the invitation is sent again",
        _send_again,
        ("invitation.resent",),
        column(
            ends("the new mail has another secret", INVITATION),
            stays("only the former secret ends", MEMBERSHIP, ACTIVE),
            rest=OWN_WAYS,
        ),
        UNPROVEN,
        _NOT_BY_KIND,
    ),
]

OTHER_AUDIT_EVENTS = {
    "organization.created": "opens a membership",
    "organization.updated": "changes names only",
    "organization.refused": "a refusal",
    "member.added": "opens a membership",
    "invitation.sent": "opens an invitation",
    "invitation.accepted": "opens a membership; the invitation is used up by its recipient",
    "invitation.rejected": "the recipient does not want to use it",
    "invitation.refused": "a refusal",
    "team.created": "a team opens nothing but itself",
    "team.updated": "changes a name only",
    "team.removed": "a team opens nothing but itself",
    "team_member.added": "a team opens nothing but itself",
    "team_member.removed": "a team opens nothing but itself",
}
