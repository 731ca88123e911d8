// Administration of all organizations.

import assert from "node:assert/strict";
import { PASSWORD, holding, nobody, ok, refused } from "../client.js";

export async function stage(): Promise<void> {
  const email = process.env["ADMIN_EMAIL"] ?? "";
  const sdk = holding(ok(await nobody.authentication.signInEmail({ body: { email, password: PASSWORD } })).token);
  const organizationId = ok(await sdk.organizations.create({ body: { name: "Globex", slug: "globex" } })).id;
  const invited = { email: "hank@example.com", role: ["member"], organizationId };
  const invitationId = ok(await sdk.organizations.inviteMember({ body: invited })).id;
  const found = ok(await sdk.adminOrganizations.listAll({ query: { search: "globe", limit: 5 } })).organizations;
  assert.deepEqual(found.map((one) => [one.id, one.memberCount]), [[organizationId, 1]]);
  assert.ok(`${ok(await sdk.adminOrganizations.export({ query: { search: "globex" } }))}`.includes(",globex,"));
  const query = { organizationId };
  assert.equal(ok(await sdk.adminOrganizations.get({ query })).invitations[0]?.id, invitationId);
  const memberId = ok(await sdk.adminOrganizations.listMembers({ query })).members[0]?.id ?? "";
  const data = { name: "Globex Ltd" };
  assert.equal(ok(await sdk.adminOrganizations.update({ body: { organizationId, data } })).name, "Globex Ltd");
  const canceled = { organizationId, invitationId };
  assert.equal(ok(await sdk.adminOrganizations.cancelInvitation({ body: canceled })).status, "canceled");
  const role = { organizationId, memberId, role: ["owner", "admin"] };
  assert.equal(ok(await sdk.adminOrganizations.setMemberRole({ body: role })).role, "owner,admin");
  assert.equal(
    refused(await sdk.adminOrganizations.removeMember({ body: { organizationId, memberId } })),
    "YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER",
  );
  assert.ok(ok(await sdk.adminOrganizations.listEvents({ query: { ...query, limit: 1 } })).nextCursor);
  ok(await sdk.adminOrganizations.delete({ body: { organizationId } }));
  assert.equal(refused(await sdk.adminOrganizations.get({ query })), "ORGANIZATION_NOT_FOUND");
}
