"""Organizations, their members and invitations."""

import os

from client import ADA, PASSWORD, holding, mail, nobody, of, ok, signed_in, token_in
from gatewright_client import AuthenticatedClient, models
from gatewright_client.api.authentication import sign_in_email, sign_up_email
from gatewright_client.api.organizations import (
    accept_invitation,
    add_member,
    cancel_invitation,
    check_slug,
    create,
    delete,
    get,
    get_active_member,
    get_active_member_role,
    get_full,
    get_invitation,
    has_permission,
    invite_member,
    leave,
    list_invitations,
    list_members,
    list_own,
    list_user_invitations,
    reject_invitation,
    remove_member,
    set_active,
    update,
    update_member_role,
)
from gatewright_client.api.sessions import get_current

GUEST = "guest@example.com"


def stage() -> None:
    ada, guest = signed_in(), signed_up(GUEST)
    free = models.CheckOrganizationSlugRequest(slug="acme")
    ok(check_slug.sync(client=ada, body=free))
    metadata = models.CreateOrganizationRequestMetadataType0.from_dict({"plan": "free"})
    wanted = models.CreateOrganizationRequest(name="Acme", slug="acme", metadata=metadata)
    acme = of(create.sync(client=ada, body=wanted), models.CreatedOrganization)
    assert acme.members[0].role == "owner"
    assert of(check_slug.sync(client=ada, body=free), models.Error).code == "ORGANIZATION_SLUG_ALREADY_TAKEN"
    assert of(acme.metadata, models.OrganizationMetadata).to_dict() == {"plan": "free"}
    assert of(get_current.sync(client=ada), models.CurrentSession).session.active_organization_id == acme.id
    [listed] = of(list_own.sync(client=ada), list)
    assert listed.id == acme.id
    assert of(get.sync(client=ada), models.Organization).slug == "acme"
    changes = models.UpdateOrganizationRequest(data=models.OrganizationChanges(name="Acme Ltd"))
    assert of(update.sync(client=ada, body=changes), models.Organization).name == "Acme Ltd"
    assert set_active.sync(client=ada, body=models.SetActiveOrganizationRequest(organization_id=None)) is None
    assert get.sync(client=ada) is None
    ok(set_active.sync(client=ada, body=models.SetActiveOrganizationRequest(organization_slug="acme")))
    member = invite(ada, guest)
    administer(ada, member)
    ok(leave.sync(client=guest, body=models.LeaveOrganizationRequest(organization_id=acme.id)))
    admin = signed_in_as(os.environ["ADMIN_EMAIL"])
    added = models.AddMemberRequest(user_id=member.user_id, role=["member"], organization_id=acme.id)
    member = of(add_member.sync(client=admin, body=added), models.Member)
    removed = models.RemoveMemberRequest(member_id_or_email=GUEST)
    gone = of(remove_member.sync(client=ada, body=removed), models.RemovedMember).member
    assert (gone.id, gone.user.email) == (member.id, GUEST)
    ok(delete.sync(client=ada, body=models.DeleteOrganizationRequest(organization_id=acme.id)))
    assert of(list_own.sync(client=ada), list) == []


def signed_up(email: str) -> AuthenticatedClient:
    body = models.SignUpRequest(name="Guest", email=email, password=PASSWORD)
    ok(sign_up_email.sync(client=nobody, body=body))
    return signed_in_as(email)


def signed_in_as(email: str) -> AuthenticatedClient:
    body = models.SignInEmailRequest(email=email, password=PASSWORD)
    return holding(of(sign_in_email.sync(client=nobody, body=body), models.SignInAnswer).token)


def invite(ada: AuthenticatedClient, guest: AuthenticatedClient) -> models.Member:
    """Send three invitations: one is canceled, one rejected, and one accepted."""
    request = models.InviteMemberRequest(email="other@example.com", role=["member"])
    first = of(invite_member.sync(client=ada, body=request), models.Invitation)
    ok(cancel_invitation.sync(client=ada, body=models.CancelInvitationRequest(invitation_id=first.id)))
    request = models.InviteMemberRequest(email=GUEST, role=["admin", "member"])
    ok(invite_member.sync(client=ada, body=request))
    answer = models.AnswerInvitationRequest(invitation_id=secret(1))
    rejected = of(reject_invitation.sync(client=guest, body=answer), models.RejectedInvitation)
    assert rejected.invitation.status == "rejected"
    ok(invite_member.sync(client=ada, body=request))
    unverified = of(list_user_invitations.sync(client=guest), models.Error)
    assert unverified.code == "EMAIL_VERIFICATION_REQUIRED_FOR_INVITATION"
    details = of(get_invitation.sync(client=guest, id=secret(2)), models.InvitationDetails)
    assert (details.organization_name, details.inviter_email) == ("Acme Ltd", ADA)
    statuses = [one.status for one in of(list_invitations.sync(client=ada), list)]
    assert statuses == ["pending", "rejected", "canceled"]
    answer = models.AnswerInvitationRequest(invitation_id=secret(2))
    return of(accept_invitation.sync(client=guest, body=answer), models.AcceptedInvitation).member


def secret(number: int) -> str:
    return token_in(mail("organization-invitation", GUEST, besides=number - 1)["link"])


def administer(ada: AuthenticatedClient, member: models.Member) -> None:
    """List members, and change their roles."""
    page = of(list_members.sync(client=ada, filter_field="role", filter_value=["admin"]), models.MemberPage)
    assert [one.id for one in page.members] == [member.id]
    body = models.UpdateMemberRoleRequest(member_id=member.id, role=["member"])
    assert of(update_member_role.sync(client=ada, body=body), models.Member).role == "member"
    role = of(get_active_member_role.sync(client=ada, user_id=member.user_id), models.MemberRole)
    assert role.role == "member"
    assert of(get_active_member.sync(client=ada), models.MemberWithUser).user.email == ADA
    assert len(of(get_full.sync(client=ada), models.FullOrganization).members) == 2
    permissions = models.HasOrganizationPermissionRequestPermissions.from_dict({"member": ["update"]})
    asked = models.HasOrganizationPermissionRequest(permissions=permissions)
    assert of(has_permission.sync(client=ada, body=asked), models.OrganizationPermissionCheck).success
