// Every call and hook of the official client's organization plugin. TEAMS says whether the service has teams.

import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultStatements } from "better-auth/plugins/organization/access";
import { mail, mounted, newAddress, newClient, PASSWORD, succeeded, TEAMS, tokenIn } from "./service.mjs";

// Hooks ask for nothing where there is no window, as on a server.
globalThis.window = new EventTarget();

const WITH_TEAMS = { skip: !TEAMS && "the service has no teams" };
let slugs = 0;

async function joined(email = newAddress(), name = "Ada") {
  const client = newClient();
  const { user } = succeeded(await client.signUp.email({ name, email, password: PASSWORD }));
  return { client, email, userId: user.id, organization: client.organization };
}

function newSlug() {
  slugs += 1;
  return `acme-${process.pid}-${slugs}`;
}

async function founded(more = {}) {
  const owner = await joined();
  const made = succeeded(await owner.organization.create({ name: "Acme", slug: newSlug(), ...more }));
  return { ...owner, made };
}

/** Return the secret of the newest invitation of an address. */
const secretFor = async (email, number = 1) => tokenIn((await mail("organization-invitation", email, number)).link);

/** Invite a new user, who accepts by the link. */
async function admitted({ organization }, role = "member", more = {}) {
  const email = newAddress();
  const invited = succeeded(await organization.inviteMember({ email, role, ...more }));
  const user = await joined(email, "Bob");
  const { member } = succeeded(await user.organization.acceptInvitation({ invitationId: await secretFor(email) }));
  return { ...user, invited, member };
}

const activeIn = async (client) => succeeded(await client.getSession()).session.activeOrganizationId ?? null;
const refusal = ({ error }) => [error?.status, error?.code];

test("creates, invites by mail, signs up as the invitee, and accepts", async () => {
  const { organization, client, made, userId, email } = await founded({ metadata: { plan: "free" } });
  assert.ok(made.createdAt instanceof Date);
  assert.deepEqual([made.logo, made.metadata, made.members[0].userId], [null, { plan: "free" }, userId]);
  assert.deepEqual([made.members[0].role, await activeIn(client)], ["owner", made.id]);

  const address = newAddress();
  const invited = succeeded(await organization.inviteMember({ email: address, role: ["admin", "member"] }));
  assert.deepEqual([invited.role, invited.status, invited.email], ["admin,member", "pending", address]);
  assert.equal("teamId" in invited, TEAMS);

  const invitee = await joined(address, "Bob");
  const secret = await secretFor(address);
  const seen = succeeded(await invitee.organization.getInvitation({ query: { id: secret } }));
  assert.deepEqual([seen.id, seen.organizationName, seen.organizationSlug], [invited.id, "Acme", made.slug]);
  assert.deepEqual([seen.inviterEmail, seen.expiresAt instanceof Date], [email, true]);
  // The id that inviters see proves no mailbox.
  const byId = await invitee.organization.acceptInvitation({ invitationId: invited.id });
  const unverified = "EMAIL_VERIFICATION_REQUIRED_BEFORE_ACCEPTING_OR_REJECTING_INVITATION";
  assert.deepEqual(refusal(byId), [403, unverified]);

  const answer = succeeded(await invitee.organization.acceptInvitation({ invitationId: secret }));
  assert.deepEqual([answer.invitation.status, answer.member.role], ["accepted", "admin,member"]);
  assert.equal(await activeIn(invitee.client), made.id);
  const used = await invitee.organization.acceptInvitation({ invitationId: secret });
  assert.deepEqual(refusal(used), [400, "INVITATION_NOT_FOUND"]);
});

test("hooks follow", async () => {
  const owner = await founded();
  const { client, organization, made } = owner;
  const [whole, all] = [mounted(client.useActiveOrganization), mounted(client.useListOrganizations)];
  const [member, role] = [mounted(client.useActiveMember), mounted(client.useActiveMemberRole)];
  const session = mounted(client.useSession);

  assert.equal((await whole.until(({ data }) => data?.id === made.id)).members.length, 1);
  assert.equal((await member.until(({ data }) => data?.organizationId === made.id)).user.email, owner.email);
  assert.deepEqual(await role.until(({ data }) => data), { role: "owner" });
  await session.until(({ data }) => data?.session.activeOrganizationId === made.id);

  const second = succeeded(await organization.create({ name: "Second", slug: newSlug() }));
  await all.until(({ data }) => data?.map(({ id }) => id).join() === [made.id, second.id].join());
  await whole.until(({ data }) => data.id === second.id);
  await session.until(({ data }) => data.session.activeOrganizationId === second.id);
  succeeded(await organization.update({ data: { name: "Other" } }));
  await all.until(({ data }) => data[1].name === "Other");
  await whole.until(({ data }) => data.name === "Other");

  succeeded(await organization.setActive({ organizationId: made.id }));
  await member.until(({ data }) => data.organizationId === made.id);
  const bob = await admitted(owner);
  await whole.until(({ data }) => data.id === made.id);
  succeeded(await organization.updateMemberRole({ memberId: bob.member.id, role: "owner" }));
  await whole.until(({ data }) => data.members.some(({ userId, role }) => userId === bob.userId && role === "owner"));
  succeeded(await organization.updateMemberRole({ memberId: made.members[0].id, role: ["admin", "member"] }));
  await role.until(({ data }) => data.role === "admin,member");
  await member.until(({ data }) => data.role === "admin,member");

  succeeded(await organization.leave({ organizationId: made.id }));
  await whole.until(({ data }) => data === null);
  await session.until(({ data }) => !data.session.activeOrganizationId);
  succeeded(await organization.setActive({ organizationId: second.id }));
  await role.until(({ data }) => data.role === "owner");
  succeeded(await organization.delete({ organizationId: second.id }));
  await all.until(({ data }) => data.length === 0);
  await whole.until(({ data }) => data === null);
  await member.until(({ error }) => error?.code === "NO_ACTIVE_ORGANIZATION");
  for (const hook of [whole, all, member, role, session]) hook.stop();
});

test("the hooks of a new member follow the acceptance", async () => {
  const owner = await founded();
  const email = newAddress();
  succeeded(await owner.organization.inviteMember({ email, role: "member" }));
  const { client, organization } = await joined(email);
  const [whole, role] = [mounted(client.useActiveOrganization), mounted(client.useActiveMemberRole)];
  await whole.until(({ data, error }) => data === null && error === null);
  await role.until(({ error }) => error?.code === "NO_ACTIVE_ORGANIZATION");

  succeeded(await organization.acceptInvitation({ invitationId: await secretFor(email) }));

  assert.deepEqual((await whole.until(({ data }) => data?.id === owner.made.id)).invitations, []);
  await role.until(({ data }) => data?.role === "member");
  whole.stop();
  role.stop();
});

test("sets the active organization by id, by slug and to none", async () => {
  const { client, organization, made } = await founded();
  const second = succeeded(
    await organization.create({ name: "Second", slug: newSlug(), keepCurrentActiveOrganization: true }),
  );
  assert.equal(await activeIn(client), made.id);

  assert.equal(succeeded(await organization.setActive({ organizationId: second.id })).name, "Second");
  assert.equal(await activeIn(client), second.id);
  assert.equal(succeeded(await organization.setActive({ organizationSlug: made.slug })).id, made.id);
  assert.equal(await activeIn(client), made.id);
  assert.equal(succeeded(await organization.setActive({ organizationId: null })), null);
  assert.equal(await activeIn(client), null);
  assert.equal(succeeded(await organization.getFullOrganization()), null);
  assert.equal(succeeded(await organization.getOrganization()), null);
  assert.deepEqual(refusal(await organization.getActiveMember()), [400, "NO_ACTIVE_ORGANIZATION"]);

  const { organization: stranger, client: other } = await founded();
  const before = await activeIn(other);
  const foreign = await stranger.setActive({ organizationId: made.id });
  assert.deepEqual(refusal(foreign), [403, "USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION"]);
  assert.equal(await activeIn(other), before);
});

test("reads, changes and deletes an organization", async () => {
  const { client, organization, made } = await founded({ logo: "https://example.com/logo.png" });
  assert.equal(made.logo, "https://example.com/logo.png");
  assert.deepEqual(refusal(await organization.checkSlug({ slug: made.slug })), [400, "ORGANIZATION_SLUG_ALREADY_TAKEN"]);
  assert.deepEqual(succeeded(await organization.checkSlug({ slug: newSlug() })), { status: true });
  assert.deepEqual(refusal(await organization.create({ name: "Acme", slug: made.slug })), [400, "ORGANIZATION_ALREADY_EXISTS"]);

  const data = { name: "New", slug: newSlug(), logo: null, metadata: { plan: "paid" } };
  const changed = succeeded(await organization.update({ organizationId: made.id, data }));
  assert.deepEqual([changed.name, changed.slug, changed.metadata], [data.name, data.slug, { plan: "paid" }]);
  const query = { organizationSlug: data.slug };
  assert.deepEqual(succeeded(await organization.getOrganization({ query })), changed);
  const full = succeeded(await organization.getFullOrganization({ query: { ...query, membersLimit: 1 } }));
  assert.deepEqual([full.members.length, full.invitations, "teams" in full], [1, [], TEAMS]);
  assert.deepEqual(succeeded(await organization.list()), [changed]);

  assert.equal(succeeded(await organization.delete({ organizationId: made.id })).id, made.id);
  assert.deepEqual(succeeded(await organization.list()), []);
  assert.equal(await activeIn(client), null);
});

test("lists, filters and sorts members, and changes their roles", async () => {
  const owner = await founded();
  const bob = await admitted(owner);
  const eve = await admitted(owner, ["admin", "member"]);
  const { organization, userId, made } = owner;
  const list = async (query) => succeeded(await organization.listMembers({ query }));
  const idsOf = ({ members }) => members.map((member) => member.userId);

  const first = await list({ limit: 2, sortBy: "createdAt", sortDirection: "asc" });
  assert.deepEqual([first.total, idsOf(first)], [3, [userId, bob.userId]]);
  assert.equal(first.members[1].user.email, bob.email);
  assert.deepEqual(idsOf(await list({ limit: 2, offset: 2, organizationSlug: made.slug })), [eve.userId]);
  assert.deepEqual(idsOf(await list({ filterField: "role", filterValue: "admin" })), [eve.userId]);
  const some = { filterField: "role", filterOperator: "in", filterValue: ["owner", "admin"] };
  assert.deepEqual(idsOf(await list(some)), [userId, eve.userId]);
  const since = { filterField: "createdAt", filterOperator: "gt", filterValue: first.members[0].createdAt.toISOString() };
  assert.equal((await list(since)).total, 2);
  assert.deepEqual(refusal(await organization.listMembers({ query: { filterField: "secret" } })), [400, "VALIDATION_ERROR"]);

  const memberId = bob.member.id;
  assert.equal(succeeded(await organization.updateMemberRole({ memberId, role: ["admin", "member"] })).role, "admin,member");
  const asked = { userId: bob.userId, organizationId: made.id };
  assert.deepEqual(succeeded(await organization.getActiveMemberRole({ query: asked })), { role: "admin,member" });
  assert.deepEqual(succeeded(await bob.organization.getActiveMemberRole()), { role: "admin,member" });
  assert.equal(succeeded(await bob.organization.getActiveMember()).role, "admin,member");
  const climbing = await bob.organization.updateMemberRole({ memberId, role: "owner" });
  assert.deepEqual(refusal(climbing), [403, "YOU_ARE_NOT_ALLOWED_TO_UPDATE_THIS_MEMBER"]);
  assert.deepEqual(refusal(await organization.updateMemberRole({ memberId, role: "king" })), [400, "ROLE_NOT_FOUND"]);
});

test("removes members by id and address, and lets them leave", async () => {
  const owner = await founded();
  const { organization, made } = owner;
  const [bob, eve, kim] = [await admitted(owner), await admitted(owner), await admitted(owner)];

  const { member } = succeeded(await organization.removeMember({ memberIdOrEmail: bob.member.id }));
  assert.deepEqual([member.id, member.user.email], [bob.member.id, bob.email]);
  assert.equal(await activeIn(bob.client), null);
  succeeded(await organization.removeMember({ memberIdOrEmail: eve.email, organizationId: made.id }));
  assert.deepEqual(succeeded(await eve.organization.list()), []);
  assert.equal(succeeded(await kim.organization.leave({ organizationId: made.id })).id, kim.member.id);
  assert.equal(await activeIn(kim.client), null);
  const query = { organizationId: made.id };
  assert.deepEqual(refusal(await kim.organization.getFullOrganization({ query })), [403, "USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION"]);

  const only = [400, "YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER"];
  assert.deepEqual(refusal(await organization.leave({ organizationId: made.id })), only);
  assert.deepEqual(refusal(await organization.removeMember({ memberIdOrEmail: owner.email })), only);
});

test("rejects, cancels and resends invitations", async () => {
  const { organization, made } = await founded();
  const [first, second, third] = [newAddress(), newAddress(), newAddress()];
  const invite = async (email, more = {}) => organization.inviteMember({ email, role: "member", ...more });

  const invited = succeeded(await invite(first, { organizationId: made.id }));
  assert.deepEqual(refusal(await invite(first)), [400, "USER_IS_ALREADY_INVITED_TO_THIS_ORGANIZATION"]);
  const old = await secretFor(first);
  const again = succeeded(await invite(first, { resend: true }));
  assert.equal(again.id, invited.id);
  const secret = await secretFor(first, 2);
  const bob = await joined(first);
  assert.deepEqual(refusal(await bob.organization.getInvitation({ query: { id: old } })), [400, "INVITATION_NOT_FOUND"]);
  const rejected = succeeded(await bob.organization.rejectInvitation({ invitationId: secret }));
  assert.deepEqual([rejected.invitation.status, rejected.member], ["rejected", null]);

  const sent = succeeded(await invite(second));
  const own = [403, "EMAIL_VERIFICATION_REQUIRED_FOR_INVITATION"];
  const eve = await joined(second);
  assert.deepEqual(refusal(await eve.organization.listUserInvitations()), own);
  succeeded(await eve.client.verifyEmail({ query: { token: tokenIn((await mail("verify-email", second)).link) } }));
  const [listed] = succeeded(await eve.organization.listUserInvitations());
  assert.deepEqual([listed.id, listed.organizationName], [sent.id, "Acme"]);
  // A verified address is proof enough for the id.
  assert.equal(succeeded(await eve.organization.getInvitation({ query: { id: sent.id } })).id, sent.id);
  const stranger = await bob.organization.acceptInvitation({ invitationId: sent.id });
  assert.deepEqual(refusal(stranger), [403, "YOU_ARE_NOT_THE_RECIPIENT_OF_THE_INVITATION"]);
  succeeded(await eve.organization.acceptInvitation({ invitationId: sent.id }));

  const last = succeeded(await invite(third));
  assert.equal(succeeded(await organization.cancelInvitation({ invitationId: last.id })).status, "canceled");
  const found = succeeded(await organization.listInvitations({ query: { organizationId: made.id } }));
  assert.deepEqual(found.map(({ status }) => status), ["canceled", "accepted", "rejected"]);
  const hidden = await eve.organization.listInvitations();
  assert.deepEqual(refusal(hidden), [403, "YOU_ARE_NOT_ALLOWED_TO_LIST_INVITATIONS"]);
});

test("decides on permissions as the server does", async () => {
  const owner = await founded();
  const callers = [["owner", owner]];
  for (const role of ["admin", "member", ["admin", "member"]]) callers.push([String(role), await admitted(owner, role)]);
  const single = Object.entries(defaultStatements).flatMap(([resource, actions]) =>
    [...actions, "fly"].map((action) => ({ [resource]: [action] })),
  );
  const whole = Object.entries(defaultStatements).map(([resource, actions]) => ({ [resource]: actions }));
  const others = [{}, { ship: ["sail"] }, { member: [] }, { member: ["create"], ac: ["read"] }, defaultStatements];

  for (const [role, { organization }] of callers) {
    for (const permissions of [...single, ...whole, ...others]) {
      const verdict = succeeded(await organization.hasPermission({ permissions }));
      const expected = organization.checkRolePermission({ role, permissions });
      assert.deepEqual(verdict, { error: null, success: expected }, `${role} ${JSON.stringify(permissions)}`);
    }
  }
});

test("has no calls of teams without them", { skip: TEAMS && "the service has teams" }, async () => {
  const { organization, made } = await founded();
  const email = newAddress();

  assert.equal((await organization.listTeams({ query: { organizationId: made.id } })).error.status, 404);
  assert.equal((await organization.createTeam({ name: "Sales" })).error.status, 404);
  succeeded(await organization.inviteMember({ email, role: "member", teamId: "ignored" }));
});

test("creates, changes, lists and removes teams", WITH_TEAMS, async () => {
  const { client, organization, made } = await founded();
  const [first] = succeeded(await organization.listTeams());
  assert.deepEqual([first.name, first.organizationId, first.updatedAt], ["Acme", made.id, null]);
  assert.equal(succeeded(await client.getSession()).session.activeTeamId, first.id);

  const team = succeeded(await organization.createTeam({ name: "Sales" }));
  assert.ok(team.createdAt instanceof Date);
  const changed = succeeded(
    await organization.updateTeam({ teamId: team.id, data: { name: "Support", organizationId: made.id } }),
  );
  assert.deepEqual([changed.name, changed.updatedAt instanceof Date], ["Support", true]);
  const names = succeeded(await organization.listTeams({ query: { organizationId: made.id } })).map(({ name }) => name);
  assert.deepEqual(names, ["Acme", "Support"]);
  const full = succeeded(await organization.getFullOrganization());
  assert.deepEqual(full.teams.map(({ name }) => name), names);
  const gone = succeeded(await organization.removeTeam({ teamId: team.id, organizationId: made.id }));
  assert.deepEqual(gone, { message: "Team removed successfully." });
  assert.deepEqual(refusal(await organization.removeTeam({ teamId: first.id })), [400, "UNABLE_TO_REMOVE_LAST_TEAM"]);
});

test("invites into teams, and manages their members", WITH_TEAMS, async () => {
  const owner = await founded();
  const { client, organization, userId } = owner;
  const [sales, support] = [
    succeeded(await organization.createTeam({ name: "Sales" })),
    succeeded(await organization.createTeam({ name: "Support" })),
  ];
  const teamIds = [sales.id, support.id];

  const bob = await admitted(owner, "member", { teamId: sales.id });
  const eve = await admitted(owner, "member", { teamId: teamIds });

  assert.equal(bob.invited.teamId, sales.id);
  assert.deepEqual(eve.invited.teamId.split(",").sort(), teamIds.toSorted());
  assert.equal(succeeded(await bob.client.getSession()).session.activeTeamId, sales.id);
  assert.deepEqual(succeeded(await bob.organization.listUserTeams()).map(({ id }) => id), [sales.id]);
  const members = succeeded(await bob.organization.listTeamMembers());
  assert.deepEqual(members.map((member) => member.userId), [bob.userId, eve.userId]);
  const theirs = succeeded(await organization.listUserTeams({ query: { userId: eve.userId } }));
  assert.deepEqual(theirs.map(({ id }) => id).toSorted(), teamIds.toSorted());

  const added = succeeded(await organization.addTeamMember({ teamId: sales.id, userId }));
  assert.deepEqual([added.teamId, added.userId], [sales.id, userId]);
  assert.equal(succeeded(await organization.setActiveTeam({ teamId: sales.id })).name, "Sales");
  assert.equal(succeeded(await client.getSession()).session.activeTeamId, sales.id);
  assert.equal(succeeded(await organization.setActiveTeam({ teamId: null })), null);
  assert.equal(succeeded(await client.getSession()).session.activeTeamId ?? null, null);
  const outside = await bob.organization.setActiveTeam({ teamId: support.id });
  assert.deepEqual(refusal(outside), [403, "USER_IS_NOT_A_MEMBER_OF_THE_TEAM"]);
  const removed = succeeded(await organization.removeTeamMember({ teamId: sales.id, userId: bob.userId }));
  assert.deepEqual(removed, { message: "Team member removed successfully." });
  assert.equal(succeeded(await bob.client.getSession()).session.activeTeamId ?? null, null);
  const query = { teamId: sales.id };
  assert.deepEqual(refusal(await bob.organization.listTeamMembers({ query })), [403, "USER_IS_NOT_A_MEMBER_OF_THE_TEAM"]);
});
