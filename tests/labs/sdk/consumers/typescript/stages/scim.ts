// The tokens and the state of the directory of a connection.
// What the directory itself does is not in the SDK: it has a client for SCIM of its own.

import assert from "node:assert/strict";
import type { Gatewright } from "gatewright-client";
import { administrator, ok, refused } from "../client.js";

const PROVIDER = "https://93.184.215.14";
const providerId = "people";

export async function stage(): Promise<void> {
  const admin = await administrator();
  const oidcConfig = {
    clientId: "client",
    clientSecret: "a-secret-of-the-provider",
    skipDiscovery: true,
    authorizationEndpoint: `${PROVIDER}/authorize`,
    tokenEndpoint: `${PROVIDER}/token`,
    jwksEndpoint: `${PROVIDER}/keys`,
  };
  ok(await admin.sso.register({ body: { providerId, issuer: PROVIDER, domain: "people.example", oidcConfig } }));
  await lookAfterTokens(admin);
  const directory = ok(await admin.scim.getDirectory({ query: { providerId } }));
  assert.match(directory.url, /\/scim\/v2$/);
  assert.deepEqual([directory.activeUsers, directory.stoppedAt], [0, null]);
  assert.equal(refused(await admin.scim.confirm({ body: { providerId } })), "DIRECTORY_NOT_STOPPED");
  assert.equal(ok(await admin.sso.remove({ body: { providerId } })).success, true);
  assert.equal(refused(await admin.scim.getDirectory({ query: { providerId } })), "SSO_PROVIDER_NOT_FOUND");
}

// Create a token, list it, and revoke it.
async function lookAfterTokens(admin: Gatewright): Promise<void> {
  const body = { providerId, name: "Entra ID", expiresIn: 3600 };
  const { token, secret } = ok(await admin.scim.createToken({ body }));
  assert.match(secret, /^scim_/);
  assert.ok(token.expiresAt);
  assert.ok(token.expiresAt > token.createdAt);
  const listed = ok(await admin.scim.listTokens({ query: { providerId } }));
  assert.deepEqual(listed.map((one) => [one.id, one.name, one.lastUsedAt]), [[token.id, "Entra ID", null]]);
  const ended = { providerId, tokenId: token.id };
  assert.equal(ok(await admin.scim.revokeToken({ body: ended })).success, true);
  assert.equal(refused(await admin.scim.revokeToken({ body: ended })), "SCIM_TOKEN_NOT_FOUND");
  assert.deepEqual(ok(await admin.scim.listTokens({ query: { providerId } })), []);
}
