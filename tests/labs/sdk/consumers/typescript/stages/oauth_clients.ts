// Clients of the OAuth provider, managed by an administrator.

import assert from "node:assert/strict";
import { administrator, ok, refused } from "../client.js";

export async function stage(): Promise<void> {
  const sdk = await administrator();
  const wanted = { client_name: "Shop", redirect_uris: ["https://shop.example/callback"] };
  const made = ok(await sdk.oauthClients.create({ body: wanted }));
  const client_id = made.client_id;
  assert.deepEqual(ok(await sdk.oauthClients.list()).map((one) => one.client_id), [client_id]);
  assert.deepEqual(ok(await sdk.oauthClients.read({ query: { client_id } })).redirect_uris, wanted.redirect_uris);
  assert.equal(ok(await sdk.oauthClients.readPublic({ query: { client_id } })).client_name, "Shop");
  const listed = ok(await sdk.adminOauthClients.listClients({ query: { search: "sho" } })).clients;
  assert.deepEqual(listed.map((one) => [one.client.client_id, one.grantCount]), [[client_id, 0]]);
  assert.deepEqual(ok(await sdk.adminOauthClients.listGrants({ query: { clientId: client_id } })).grants, []);
  assert.equal(refused(await sdk.adminOauthClients.listConnections({ query: { userId: "unknown" } })), "USER_NOT_FOUND");
  assert.equal(ok(await sdk.adminOauthClients.endGrants({ body: { clientId: client_id, consents: true } })).count, 0);
  const update = { client_name: "Store", disabled: true };
  assert.equal(ok(await sdk.oauthClients.update({ body: { client_id, update } })).client_name, "Store");
  assert.notEqual(ok(await sdk.oauthClients.rotateSecret({ body: { client_id } })).client_secret, made.client_secret);
  assert.equal(ok(await sdk.oauthClients.remove({ body: { client_id } })).success, true);
  assert.equal(refused(await sdk.oauthClients.remove({ body: { client_id } })), "CLIENT_NOT_FOUND");
}
