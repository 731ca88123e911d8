// What the official client is told about organizations, case by case: one JSON object on standard output.

import { mail, newClient, PASSWORD, tokenIn } from "./service.mjs";
import { joined, signedIn, tell, told } from "./telling.mjs";

const UNKNOWN = "x".repeat(32);
/** Better Auth's server has the id of the row in the link. */
const proofOf = async ({ id, email }) =>
  process.env.MAIL_FILE ? tokenIn((await mail("organization-invitation", email)).link) : id;
const session = async (client) => (await client.getSession()).data?.session;
const marks = async (client, name) => {
  const { activeOrganizationId, activeTeamId } = await session(client);
  told[name] = [Boolean(activeOrganizationId), Boolean(activeTeamId)];
};

const ada = await joined();
const { organization } = ada.client;
const eve = await joined("eve");

// Organizations.
const acme = await tell("create", organization.create({ name: "Acme", slug: "acme", metadata: { plan: "free" } }));
await marks(ada.client, "active after create");
await tell("create, slug taken", organization.create({ name: "Acme", slug: "acme" }));
await tell("create signed out", newClient().organization.create({ name: "Acme", slug: "other" }));
await tell("create without a name", organization.create({ slug: "other" }));
const second = await tell(
  "create, not active",
  organization.create({ name: "Second", slug: "second", keepCurrentActiveOrganization: true }),
);
await tell("create with a strange slug", organization.create({ name: "Acme", slug: "A slug!", keepCurrentActiveOrganization: true }), () => true);
const logo = "javascript:alert(1)";
await tell("create with a strange logo", organization.create({ name: "Acme", slug: "logo", logo, keepCurrentActiveOrganization: true }), () => true);
await tell("check a free slug", organization.checkSlug({ slug: "free" }));
await tell("check a taken slug", organization.checkSlug({ slug: "acme" }));
await tell("list", organization.list(), (data) => data.filter(({ slug }) => slug === "acme"));
await tell("get", organization.getOrganization());
await tell("get by slug", organization.getOrganization({ query: { organizationSlug: "second" } }));
await tell("get full", organization.getFullOrganization());
await tell("get none", eve.client.organization.getFullOrganization());
await tell("get an unknown one", eve.client.organization.getFullOrganization({ query: { organizationId: UNKNOWN } }));
await tell("get a foreign one", eve.client.organization.getFullOrganization({ query: { organizationId: acme.id } }));
await tell("update", organization.update({ data: { name: "Acme Ltd", metadata: { plan: "paid" } } }));
await tell("update, slug taken", organization.update({ data: { slug: "second" } }));
await tell("update a foreign one", eve.client.organization.update({ organizationId: acme.id, data: { name: "Mine" } }));
await tell("update without one", eve.client.organization.update({ data: { name: "Mine" } }));
await tell("activate by id", organization.setActive({ organizationId: second.id }));
await tell("activate by slug", organization.setActive({ organizationSlug: "acme" }));
await tell("activate none", organization.setActive({ organizationId: null }));
await marks(ada.client, "active after none");
await tell("activate a foreign one", eve.client.organization.setActive({ organizationId: acme.id }));
await tell("member of none", eve.client.organization.getActiveMember());
await tell("members of none", eve.client.organization.listMembers());
await organization.setActive({ organizationId: acme.id });

// Invitations.
const invite = (email, more = {}) => organization.inviteMember({ email, role: "member", ...more });
const bob = await joined("bob");
const invited = await tell("invite", invite(bob.credentials.email));
await tell("invite twice", invite(bob.credentials.email));
await tell("invite again", invite(bob.credentials.email, { resend: true }));
await tell("invite nobody", invite("no address"));
await tell("invite with an unknown role", invite("a@example.com", { role: "king" }));
await tell("invite as a stranger", eve.client.organization.inviteMember({ email: "b@example.com", role: "member", organizationId: acme.id }));
await tell("invite without one", eve.client.organization.inviteMember({ email: "b@example.com", role: "member" }));
await tell("invite a member", invite(ada.credentials.email));
await tell("get an invitation", bob.client.organization.getInvitation({ query: { id: await proofOf(invited) } }));
await tell("get another's", eve.client.organization.getInvitation({ query: { id: invited.id } }));
await tell("get an unknown invitation", bob.client.organization.getInvitation({ query: { id: UNKNOWN } }));
await tell("own, unverified", bob.client.organization.listUserInvitations());
await tell("accept another's", eve.client.organization.acceptInvitation({ invitationId: invited.id }));
const accepted = await tell("accept", bob.client.organization.acceptInvitation({ invitationId: await proofOf(invited) }));
await marks(bob.client, "active after acceptance");
await tell("accept twice", bob.client.organization.acceptInvitation({ invitationId: invited.id }));
const kim = await joined("kim");
const toKim = await tell("invite an administrator", invite(kim.credentials.email, { role: ["admin", "member"] }));
await tell("reject", kim.client.organization.rejectInvitation({ invitationId: await proofOf(toKim) }));
const third = await tell("invite a third", invite("third@example.com"));
await tell("cancel as a member", bob.client.organization.cancelInvitation({ invitationId: third.id }));
await tell("cancel", organization.cancelInvitation({ invitationId: third.id }));
await tell("cancel twice", organization.cancelInvitation({ invitationId: third.id }), () => true);
await tell("cancel an unknown one", organization.cancelInvitation({ invitationId: UNKNOWN }));
await tell("list invitations", organization.listInvitations(), (data) => data.map(({ status }) => status).sort());
await tell("list them as a member", bob.client.organization.listInvitations());
await tell("invite as a member", bob.client.organization.inviteMember({ email: "c@example.com", role: "member" }));

// Members.
await tell("own member", bob.client.organization.getActiveMember());
await tell("own role", bob.client.organization.getActiveMemberRole());
await tell("role of another", organization.getActiveMemberRole({ query: { userId: bob.id } }));
await tell("role of a stranger", organization.getActiveMemberRole({ query: { userId: eve.id } }));
await tell("list members", organization.listMembers({ query: { sortBy: "createdAt" } }));
const owners = { filterField: "role", filterOperator: "eq", filterValue: "owner" };
await tell("filter members", organization.listMembers({ query: owners }), ({ total }) => total);
await tell("filter by several", organization.listMembers({ query: { ...owners, filterOperator: "in", filterValue: ["owner", "member"] } }), ({ total }) => total);
await tell("sort by a secret", organization.listMembers({ query: { sortBy: "secret" } }), () => true);
await tell("list foreign members", eve.client.organization.listMembers({ query: { organizationId: acme.id } }));
const memberId = accepted.member.id;
await tell("remove as a member", bob.client.organization.removeMember({ memberIdOrEmail: memberId }));
await tell("change a role", organization.updateMemberRole({ memberId, role: "admin" }));
await tell("change to several", organization.updateMemberRole({ memberId, role: ["admin", "member"] }));
await tell("change to an unknown role", organization.updateMemberRole({ memberId, role: "king" }));
await tell("change an unknown member", organization.updateMemberRole({ memberId: UNKNOWN, role: "member" }));
await tell("make an owner as administrator", bob.client.organization.updateMemberRole({ memberId, role: "owner" }));
const ownId = acme.members[0].id;
await tell("change the owner as administrator", bob.client.organization.updateMemberRole({ memberId: ownId, role: "member" }));
await tell("cease to be the only owner", organization.updateMemberRole({ memberId: ownId, role: "member" }));
await tell("leave as the only owner", organization.leave({ organizationId: acme.id }));
await tell("has a permission", bob.client.organization.hasPermission({ permissions: { member: ["update"] } }));
await tell("has none", bob.client.organization.hasPermission({ permissions: { organization: ["delete"] } }));
await tell("has a permission without one", eve.client.organization.hasPermission({ permissions: { member: ["update"] } }));
await tell("delete as administrator", bob.client.organization.delete({ organizationId: acme.id }));

// Teams.
const teams = await tell("list teams", organization.listTeams());
const sales = await tell("create a team", organization.createTeam({ name: "Sales" }));
await tell("update a team", organization.updateTeam({ teamId: sales.id, data: { name: "Support" } }));
await tell("update an unknown team", organization.updateTeam({ teamId: UNKNOWN, data: { name: "Support" } }));
await tell("add to a team", organization.addTeamMember({ teamId: sales.id, userId: bob.id }));
await tell("add twice", organization.addTeamMember({ teamId: sales.id, userId: bob.id }), ({ userId }) => userId === bob.id);
await tell("add a stranger", organization.addTeamMember({ teamId: sales.id, userId: eve.id }));
await tell("activate a team", bob.client.organization.setActiveTeam({ teamId: sales.id }));
await tell("activate a team of others", bob.client.organization.setActiveTeam({ teamId: teams[0].id }));
await tell("own teams", bob.client.organization.listUserTeams());
await tell("members of the active team", bob.client.organization.listTeamMembers());
await tell("members without a team", eve.client.organization.listTeamMembers());
await tell("activate no team", bob.client.organization.setActiveTeam({ teamId: null }));
await tell("teams of a stranger", eve.client.organization.listTeams({ query: { organizationId: acme.id } }));
await tell("create a team as a stranger", eve.client.organization.createTeam({ name: "Mine", organizationId: acme.id }));
await tell("remove from a team", organization.removeTeamMember({ teamId: sales.id, userId: bob.id }));
await tell("remove twice", organization.removeTeamMember({ teamId: sales.id, userId: bob.id }));
await tell("invite into a team", invite("fourth@example.com", { teamId: sales.id }));
await tell("remove a team", organization.removeTeam({ teamId: sales.id }));
const gone = (await organization.createTeam({ name: "Gone" })).data;
await organization.addTeamMember({ teamId: gone.id, userId: ada.id });
await organization.setActiveTeam({ teamId: gone.id });
await tell("remove the active team", organization.removeTeam({ teamId: gone.id }));
await organization.setActiveTeam({ teamId: null });
await organization.removeTeam({ teamId: gone.id });
await tell("remove the last team", organization.removeTeam({ teamId: teams[0].id }));

// Ends.
const browser = await signedIn(bob.credentials);
await browser.organization.setActive({ organizationId: acme.id });
await tell("remove a member", organization.removeMember({ memberIdOrEmail: bob.credentials.email }));
await marks(browser, "the active organization of a removed member");
await tell("remove as a stranger", eve.client.organization.removeMember({ memberIdOrEmail: ownId, organizationId: acme.id }));
await tell("remove the only owner", organization.removeMember({ memberIdOrEmail: ownId }));
await tell("leave as a stranger", eve.client.organization.leave({ organizationId: acme.id }));
await tell("delete a foreign one", eve.client.organization.delete({ organizationId: acme.id }));
await tell("delete", organization.delete({ organizationId: acme.id }));
await marks(ada.client, "active after deletion");
const eves = (await eve.client.organization.create({ name: "Eve's", slug: "eves" })).data;
await tell("activate an unknown one", eve.client.organization.setActive({ organizationId: UNKNOWN }));
await marks(eve.client, "active after a refusal");
await eve.client.organization.setActive({ organizationId: eves.id });
const lia = await joined("lia");
const toLia = (await eve.client.organization.inviteMember({ email: lia.credentials.email, role: "admin" })).data;
const asLia = { invitationId: await proofOf(toLia) };
const liaMember = (await lia.client.organization.acceptInvitation(asLia)).data.member;
const max = await joined("max");
const toMax = (await lia.client.organization.inviteMember({ email: max.credentials.email, role: "member" })).data;
const asMax = { invitationId: await proofOf(toMax) };
await eve.client.organization.updateMemberRole({ memberId: liaMember.id, role: "member" });
await tell("accept from a demoted inviter", max.client.organization.acceptInvitation(asMax), () => true);
await tell("delete the only owner", eve.client.deleteUser({ password: PASSWORD }));
await tell("run-time roles", organization.createRole({ role: "king", permission: { member: ["update"] } }));

console.log(JSON.stringify(told));
