// Devices without a browser, which a user gives access or refuses it; what a device does is not in the SDK.

import assert from "node:assert/strict";
import { ROOT, administrator, ok, refused, signedIn } from "../client.js";

export async function stage(): Promise<void> {
  const admin = await administrator();
  const { sdk } = await signedIn();
  const wanted = {
    client_name: "Television",
    token_endpoint_auth_method: "none",
    grant_types: ["urn:ietf:params:oauth:grant-type:device_code"],
  };
  const { client_id } = ok(await admin.oauthClients.create({ body: wanted }));
  const userCode = await start(client_id);
  const waiting = ok(await sdk.device.read({ query: { user_code: userCode } }));
  assert.deepEqual([waiting.client_name, waiting.status], ["Television", "pending"]);
  ok(await sdk.device.approve({ body: { userCode } }));
  assert.equal(ok(await sdk.device.read({ query: { user_code: userCode } })).status, "approved");
  const unwanted = await start(client_id);
  ok(await sdk.device.deny({ body: { userCode: unwanted } }));
  assert.equal(ok(await sdk.device.read({ query: { user_code: unwanted } })).status, "denied");
  assert.equal(refused(await sdk.device.approve({ body: { userCode: "BBBB-BBBB" } })), "INVALID_USER_CODE");
  assert.equal(ok(await admin.oauthClients.remove({ body: { client_id } })).success, true);
}

// Give the code that a new device shows.
async function start(client_id: string): Promise<string> {
  const body = new URLSearchParams({ client_id, scope: "openid email" });
  const answer = await fetch(`${ROOT}/device/code`, { method: "POST", body });
  assert.equal(answer.status, 200);
  const { user_code }: { user_code: string } = await answer.json();
  return user_code;
}
