// Organizations, their members and invitations.

import assert from "node:assert/strict";
import type { Gatewright } from "gatewright-client";
import { ADA, PASSWORD, holding, mail, nobody, ok, refused, signedIn, tokenIn } from "../client.js";

const GUEST = "guest@example.com";

export async function stage(): Promise<void> {
  const { sdk } = await signedIn();
  ok(await nobody.authentication.signUpEmail({ body: { name: "Guest", email: GUEST, password: PASSWORD } }));
  const guest = await signedInAs(GUEST);
  const free = { slug: "acme" };
  assert.equal(ok(await sdk.organizations.checkSlug({ body: free })).status, true);
  const body = { name: "Acme", slug: "acme", metadata: { plan: "free" } };
  const acme = ok(await sdk.organizations.create({ body }));
  assert.deepEqual([acme.members[0]?.role, acme.metadata], ["owner", { plan: "free" }]);
  assert.equal(refused(await sdk.organizations.checkSlug({ body: free })), "ORGANIZATION_SLUG_ALREADY_TAKEN");
  assert.equal(ok(await sdk.sessions.getCurrent()).session.activeOrganizationId, acme.id);
  assert.deepEqual(ok(await sdk.organizations.listOwn()).map(({ id }) => id), [acme.id]);
  assert.equal(ok(await sdk.organizations.get()).slug, "acme");
  assert.equal(ok(await sdk.organizations.update({ body: { data: { name: "Acme Ltd" } } })).name, "Acme Ltd");
  assert.equal((await sdk.organizations.setActive({ body: { organizationId: null } })).error, undefined);
  assert.equal(refused(await sdk.organizations.getActiveMember()), "NO_ACTIVE_ORGANIZATION");
  ok(await sdk.organizations.setActive({ body: { organizationSlug: "acme" } }));
  const member = await invite(sdk, guest);
  await administer(sdk, member);
  const organizationId = acme.id;
  ok(await guest.organizations.leave({ body: { organizationId } }));
  const admin = await signedInAs(process.env["ADMIN_EMAIL"] ?? "");
  const { userId } = member;
  const added = ok(await admin.organizations.addMember({ body: { userId, role: ["member"], organizationId } }));
  const gone = ok(await sdk.organizations.removeMember({ body: { memberIdOrEmail: GUEST } })).member;
  assert.deepEqual([gone.id, gone.user.email], [added.id, GUEST]);
  ok(await sdk.organizations.delete({ body: { organizationId } }));
  assert.deepEqual(ok(await sdk.organizations.listOwn()), []);
}

async function signedInAs(email: string): Promise<Gatewright> {
  return holding(ok(await nobody.authentication.signInEmail({ body: { email, password: PASSWORD } })).token);
}

/** Sends three invitations: one is canceled, one rejected, and one accepted. */
async function invite(sdk: Gatewright, guest: Gatewright) {
  const other = { email: "other@example.com", role: ["member"] };
  const first = ok(await sdk.organizations.inviteMember({ body: other }));
  ok(await sdk.organizations.cancelInvitation({ body: { invitationId: first.id } }));
  const body = { email: GUEST, role: ["admin", "member"] };
  ok(await sdk.organizations.inviteMember({ body }));
  const rejected = ok(await guest.organizations.rejectInvitation({ body: { invitationId: await secret(1) } }));
  assert.equal(rejected.invitation.status, "rejected");
  ok(await sdk.organizations.inviteMember({ body }));
  const unverified = refused(await guest.organizations.listUserInvitations());
  assert.equal(unverified, "EMAIL_VERIFICATION_REQUIRED_FOR_INVITATION");
  const id = await secret(2);
  const details = ok(await guest.organizations.getInvitation({ query: { id } }));
  assert.deepEqual([details.organizationName, details.inviterEmail], ["Acme Ltd", ADA]);
  const statuses = ok(await sdk.organizations.listInvitations()).map(({ status }) => status);
  assert.deepEqual(statuses, ["pending", "rejected", "canceled"]);
  return ok(await guest.organizations.acceptInvitation({ body: { invitationId: id } })).member;
}

async function secret(number: number): Promise<string> {
  return tokenIn(await mail("organization-invitation", GUEST, number - 1));
}

/** Lists members, and changes their roles. */
async function administer(sdk: Gatewright, member: { id: string; userId: string }): Promise<void> {
  const page = ok(await sdk.organizations.listMembers({ query: { filterField: "role", filterValue: ["admin"] } }));
  assert.deepEqual(page.members.map(({ id }) => id), [member.id]);
  const body = { memberId: member.id, role: ["member"] };
  assert.equal(ok(await sdk.organizations.updateMemberRole({ body })).role, "member");
  const query = { userId: member.userId };
  assert.equal(ok(await sdk.organizations.getActiveMemberRole({ query })).role, "member");
  assert.equal(ok(await sdk.organizations.getActiveMember()).user.email, ADA);
  assert.equal(ok(await sdk.organizations.getFull()).members.length, 2);
  assert.ok(ok(await sdk.organizations.hasPermission({ body: { permissions: { member: ["update"] } } })).success);
}
