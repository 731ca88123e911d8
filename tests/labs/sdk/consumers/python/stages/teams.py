"""Teams of an organization."""

from client import of, ok, signed_in
from gatewright_client import models
from gatewright_client.api.organizations import create as create_organization
from gatewright_client.api.organizations import delete as delete_organization
from gatewright_client.api.teams import (
    add_member,
    create,
    list_all,
    list_members,
    list_of_user,
    remove,
    remove_member,
    set_active,
    update,
)


def stage() -> None:
    ada = signed_in()
    wanted = models.CreateOrganizationRequest(name="Crew", slug="crew")
    crew = of(create_organization.sync(client=ada, body=wanted), models.CreatedOrganization)
    team = of(create.sync(client=ada, body=models.CreateTeamRequest(name="Sales")), models.Team)
    changes = models.UpdateTeamRequest(team_id=team.id, data=models.TeamChanges(name="Support"))
    assert of(update.sync(client=ada, body=changes), models.Team).name == "Support"
    assert [one.name for one in of(list_all.sync(client=ada), list)] == ["Crew", "Support"]
    who = models.TeamMemberRequest(team_id=team.id, user_id=crew.members[0].user_id)
    assert of(add_member.sync(client=ada, body=who), models.TeamMember).team_id == team.id
    body = models.SetActiveTeamRequest(team_id=team.id)
    assert of(set_active.sync(client=ada, body=body), models.Team).id == team.id
    assert len(of(list_members.sync(client=ada), list)) == 1
    assert len(of(list_of_user.sync(client=ada), list)) == 2
    ok(remove_member.sync(client=ada, body=who))
    ok(remove.sync(client=ada, body=models.RemoveTeamRequest(team_id=team.id)))
    ok(delete_organization.sync(client=ada, body=models.DeleteOrganizationRequest(organization_id=crew.id)))
