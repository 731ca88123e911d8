"""Organizations, their invitations, teams and API keys."""

from tests.labs.upgrades.possessions import Story, possession
from tests.labs.upgrades.site import JSON, Site
from tests.settings.api_keys import VERIFIER

MAIL = "organization-invitation"


async def _organization(site: Site, owner: str) -> JSON:
    slug = site.email("acme").partition("@")[0]
    made: JSON = await site.post("/organization/create", owner, name="Acme", slug=slug)
    return made


@possession(since="0016")
async def organization(site: Site) -> Story:
    """An organization has its members and teams, and is the active one of a session."""
    email = site.email("owner")
    owner, guest_email = await site.join(email, verified=True), site.email("guest")
    guest = await site.join(guest_email, verified=True)
    acme = await _organization(site, owner)
    team = await site.post("/organization/create-team", owner, name="Sales")
    sent = {"email": guest_email, "role": "member", "teamId": team["id"]}
    invited = await site.post("/organization/invite-member", owner, **sent)
    await site.post("/organization/accept-invitation", guest, invitationId=invited["id"])
    await site.post("/organization/set-active-team", guest, teamId=team["id"])
    site = yield
    session = (await site.get("/get-session", guest))["session"]
    assert (session["activeOrganizationId"], session["activeTeamId"]) == (acme["id"], team["id"])
    full = await site.get("/organization/get-full-organization", owner)
    assert {member["user"]["email"] for member in full["members"]} == {email, guest_email}
    members = await site.get("/organization/list-team-members", guest, teamId=team["id"])
    assert [member["userId"] for member in members] == [session["userId"]]
    await site.post("/organization/leave", guest, organizationId=acme["id"])
    await site.post("/organization/delete", owner, organizationId=acme["id"])


@possession(since="0016")
async def invitation(site: Site) -> Story:
    """The link in an invitation lets the invited user join the organization and its team."""
    owner, email = await site.join(site.email("owner"), verified=True), site.email("invited")
    acme = await _organization(site, owner)
    team = await site.post("/organization/create-team", owner, name="Sales")
    sent = {"email": email, "role": "member", "teamId": team["id"]}
    await site.post("/organization/invite-member", owner, **sent)
    secret = await site.link(email, MAIL)
    site = yield
    guest = await site.join(email)
    joined = await site.post("/organization/accept-invitation", guest, invitationId=secret)
    assert joined["member"]["organizationId"] == acme["id"]
    members = await site.get("/organization/list-team-members", owner, teamId=team["id"])
    assert joined["member"]["userId"] in {member["userId"] for member in members}


@possession(since="0018")
async def key_of_organization(site: Site) -> Story:
    """An API key of an organization is verified."""
    owner = await site.join(site.email("owner"), verified=True)
    acme = await _organization(site, owner)
    body = {"organizationId": acme["id"], "configId": "team"}
    created = await site.post("/api-key/create", owner, **body)
    site = yield
    verified = await site.post("/api-key/verify", VERIFIER, key=created["key"])
    assert (verified["valid"], verified["key"]["referenceId"]) == (True, acme["id"])
