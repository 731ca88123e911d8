"""Administration of all organizations."""

import os

from client import PASSWORD, holding, nobody, of, ok
from gatewright_client import models
from gatewright_client.api.admin_organizations import (
    cancel_invitation,
    delete,
    export,
    get,
    list_all,
    list_events,
    list_members,
    remove_member,
    set_member_role,
    update,
)
from gatewright_client.api.authentication import sign_in_email
from gatewright_client.api.organizations import create, invite_member


def stage() -> None:
    body = models.SignInEmailRequest(email=os.environ["ADMIN_EMAIL"], password=PASSWORD)
    admin = holding(of(sign_in_email.sync(client=nobody, body=body), models.SignInAnswer).token)
    wanted = models.CreateOrganizationRequest(name="Globex", slug="globex")
    globex = of(create.sync(client=admin, body=wanted), models.CreatedOrganization).id
    invited = models.InviteMemberRequest(email="hank@example.com", role=["member"], organization_id=globex)
    invitation = of(invite_member.sync(client=admin, body=invited), models.Invitation).id
    found = of(list_all.sync(client=admin, search="globe", limit=5), models.ListedOrganizations)
    assert [(one.id, one.member_count) for one in found.organizations] == [(globex, 1)]
    assert ",globex," in of(export.sync(client=admin, search="globex"), str)
    whole = of(get.sync(client=admin, organization_id=globex), models.WholeOrganization)
    assert [one.id for one in whole.invitations] == [invitation]
    page = of(list_members.sync(client=admin, organization_id=globex), models.OrganizationMemberPage)
    [member] = page.members
    changes = models.OrganizationChanges(name="Globex Ltd")
    request = models.UpdateOrganizationAsAdminRequest(organization_id=globex, data=changes)
    assert of(update.sync(client=admin, body=request), models.Organization).name == "Globex Ltd"
    canceled = models.CancelInvitationAsAdminRequest(organization_id=globex, invitation_id=invitation)
    assert of(cancel_invitation.sync(client=admin, body=canceled), models.Invitation).status == "canceled"
    role = models.SetMemberRoleAsAdminRequest(
        organization_id=globex, member_id=member.id, role=["owner", "admin"]
    )
    assert of(set_member_role.sync(client=admin, body=role), models.Member).role == "owner,admin"
    removed = models.RemoveMemberAsAdminRequest(organization_id=globex, member_id=member.id)
    refused = of(remove_member.sync(client=admin, body=removed), models.Error)
    assert refused.code == "YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER"
    events = of(list_events.sync(client=admin, organization_id=globex, limit=1), models.AuditEventPage)
    assert events.next_cursor
    ok(delete.sync(client=admin, body=models.DeleteOrganizationAsAdminRequest(organization_id=globex)))
    gone = of(get.sync(client=admin, organization_id=globex), models.Error)
    assert gone.code == "ORGANIZATION_NOT_FOUND"
