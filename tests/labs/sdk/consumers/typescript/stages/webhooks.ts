// Endpoints of webhooks, and what is sent to them.

import assert from "node:assert/strict";
import { PASSWORD, holding, nobody, ok, refused } from "../client.js";

export async function stage(): Promise<void> {
  const email = process.env["ADMIN_EMAIL"] ?? "";
  const sdk = holding(ok(await nobody.authentication.signInEmail({ body: { email, password: PASSWORD } })).token);
  const wanted = { name: "crm", url: "http://127.0.0.1:9/hook", events: ["webhook.test"] };
  const { endpoint, secret } = ok(await sdk.webhooks.create({ body: wanted }));
  const id = endpoint.id;
  assert.deepEqual(ok(await sdk.webhooks.list()).map((one) => one.id), [id]);
  assert.equal(ok(await sdk.webhooks.update({ body: { id, name: "billing" } })).endpoint.name, "billing");
  assert.notEqual(ok(await sdk.webhooks.rotateSecret({ body: { id } })).secret, secret);
  const { deliveryId } = ok(await sdk.webhooks.sendTest({ body: { id } }));
  const past = ok(await sdk.webhooks.deliveries({ query: { endpointId: id, limit: 5 } })).deliveries;
  assert.deepEqual(past.map((one) => [one.id, one.type]), [[deliveryId, "webhook.test"]]);
  const { payload } = ok(await sdk.webhooks.getDelivery({ query: { endpointId: id, deliveryId } }));
  assert.equal(JSON.parse(payload ?? "").type, "webhook.test");
  assert.notEqual(ok(await sdk.webhooks.redeliver({ body: { deliveryId } })).deliveryId, deliveryId);
  assert.equal(ok(await sdk.webhooks.remove({ body: { id } })).success, true);
  assert.equal(refused(await sdk.webhooks.sendTest({ body: { id } })), "ENDPOINT_NOT_FOUND");
}
