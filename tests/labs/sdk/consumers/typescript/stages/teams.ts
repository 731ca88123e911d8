// Teams of an organization.

import assert from "node:assert/strict";
import { ok, signedIn } from "../client.js";

export async function stage(): Promise<void> {
  const { sdk } = await signedIn();
  const crew = ok(await sdk.organizations.create({ body: { name: "Crew", slug: "crew" } }));
  const team = ok(await sdk.teams.create({ body: { name: "Sales" } }));
  const teamId = team.id;
  assert.equal(ok(await sdk.teams.update({ body: { teamId, data: { name: "Support" } } })).name, "Support");
  assert.deepEqual(ok(await sdk.teams.listAll()).map(({ name }) => name), ["Crew", "Support"]);
  const body = { teamId, userId: crew.members[0]?.userId ?? "" };
  assert.equal(ok(await sdk.teams.addMember({ body })).teamId, teamId);
  assert.equal(ok(await sdk.teams.setActive({ body: { teamId } })).id, teamId);
  assert.equal(ok(await sdk.teams.listMembers()).length, 1);
  assert.equal(ok(await sdk.teams.listOfUser()).length, 2);
  ok(await sdk.teams.removeMember({ body }));
  ok(await sdk.teams.remove({ body: { teamId } }));
  ok(await sdk.organizations.delete({ body: { organizationId: crew.id } }));
}
