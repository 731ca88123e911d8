// The official client's plugin device-authorization, on a television and in the browser of its user.

import assert from "node:assert/strict";
import { test } from "node:test";
import { holdToken, newAddress, newClient, PASSWORD, succeeded } from "./service.mjs";

const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code";
const CLIENT = "television";

const television = newClient();
const started = async () => succeeded(await television.device.code({ client_id: CLIENT, scope: "openid email" }));
const poll = ({ device_code }) =>
  television.device.token({ grant_type: GRANT_TYPE, device_code, client_id: CLIENT });
const refusal = ({ error }) => [error?.status, error?.error, error?.error_description];

async function signedUp() {
  const user = newClient();
  const email = newAddress();
  succeeded(await user.signUp.email({ name: "Ada", email, password: PASSWORD }));
  return { user, email };
}

test("a device is approved and signed in", async () => {
  const { user, email } = await signedUp();
  const codes = await started();
  assert.ok(codes.verification_uri.endsWith("/account/device"));
  assert.match(codes.verification_uri_complete, /\/device\?user_code=[A-Z]{4}-[A-Z]{4}$/);
  assert.deepEqual([codes.expires_in, codes.interval], [600, 5]);

  const before = succeeded(await newClient().device({ query: { user_code: codes.user_code } }));
  assert.deepEqual(before, { user_code: codes.user_code, status: "pending" });
  const shown = succeeded(await user.device({ query: { user_code: codes.user_code } }));
  assert.deepEqual([shown.status, shown.client_id, shown.scope], ["pending", CLIENT, "openid email"]);
  assert.deepEqual(succeeded(await user.device.approve({ userCode: codes.user_code })), { success: true });

  const session = succeeded(await poll(codes));
  assert.deepEqual([session.token_type, session.scope], ["Bearer", "openid email"]);
  assert.ok(session.expires_in > 0);
  const fetchOptions = { headers: { Authorization: `Bearer ${session.access_token}` } };
  assert.equal(succeeded(await newClient().getSession({ fetchOptions })).user.email, email);
  holdToken(television, "");
});

test("a device waits, and is slowed down", async () => {
  const codes = await started();
  assert.deepEqual(refusal(await poll(codes)).slice(0, 2), [400, "authorization_pending"]);
  assert.deepEqual(refusal(await poll(codes)).slice(0, 2), [400, "slow_down"]);
});

test("a device is refused", async () => {
  const { user } = await signedUp();
  const codes = await started();
  assert.deepEqual(succeeded(await user.device.deny({ userCode: codes.user_code })), { success: true });
  assert.deepEqual(refusal(await poll(codes)).slice(0, 2), [400, "access_denied"]);
});

test("errors are told as the client's pages read them", async () => {
  const { user } = await signedUp();
  const codes = await started();
  succeeded(await user.device.approve({ userCode: codes.user_code }));
  const twice = await user.device.approve({ userCode: codes.user_code });
  assert.deepEqual(refusal(twice), [400, "invalid_request", "Device code already processed"]);
  assert.equal(twice.error.code, "DEVICE_CODE_ALREADY_PROCESSED");
  const unknown = [400, "invalid_request", "Invalid user code"];
  assert.deepEqual(refusal(await user.device.approve({ userCode: "BBBB-BBBB" })), unknown);
  assert.deepEqual(refusal(await user.device.deny({ userCode: "BBBB-BBBB" })), unknown);
  assert.deepEqual(refusal(await user.device({ query: { user_code: "BBBB-BBBB" } })), unknown);
  const other = await television.device.code({ client_id: "nobody", scope: "openid" });
  assert.deepEqual(refusal(other).slice(0, 2), [401, "invalid_client"]);
});
