// Every call of the official client's single sign-on plugin that manages connections.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ssoClient } from "@better-auth/sso/client";
import { ADMINISTRATOR, newAddress, newClient, PASSWORD, succeeded } from "./service.mjs";

const PROVIDER = "https://93.184.215.14";

async function administrator() {
  const client = newClient(ssoClient({ domainVerification: { enabled: true } }));
  succeeded(await client.signIn.email({ email: ADMINISTRATOR, password: PASSWORD }));
  return client;
}

const oidcConfig = {
  clientId: "0oa7x7Qz",
  clientSecret: "a-secret-of-the-provider",
  skipDiscovery: true,
  authorizationEndpoint: `${PROVIDER}/authorize`,
  tokenEndpoint: `${PROVIDER}/token`,
  jwksEndpoint: `${PROVIDER}/keys`,
  mapping: { id: "sub", email: "email", name: "name" },
};

test("a connection is registered, verified, changed and deleted", async () => {
  const { sso } = await administrator();
  const providerId = "acme";

  const made = succeeded(await sso.register({ providerId, issuer: PROVIDER, domain: "acme.example", oidcConfig }));
  assert.ok(made.redirectURI.endsWith(`/sso/callback/${providerId}`));
  assert.equal(made.domainVerified, false);

  const requested = succeeded(await sso.requestDomainVerification({ providerId }));
  assert.equal(requested.domainVerificationToken, made.domainVerificationToken);
  const early = await sso.verifyDomain({ providerId });
  assert.deepEqual([early.error.status, early.error.code], [502, "DOMAIN_VERIFICATION_FAILED"]);
  // The name server of the test has the record from now on.
  await fetch(process.env.DNS_CONTROL, { method: "POST", body: requested.domainVerificationToken });
  assert.equal((await sso.verifyDomain({ providerId })).error, null);
  const twice = await sso.verifyDomain({ providerId });
  assert.deepEqual([twice.error.status, twice.error.code], [409, "DOMAIN_VERIFIED"]);

  const { providers } = succeeded(await sso.providers());
  assert.deepEqual(providers.map((one) => [one.providerId, one.type, one.domainVerified]), [[providerId, "oidc", true]]);
  const shown = succeeded(await sso.getProvider({ query: { providerId } }));
  assert.equal(shown.oidcConfig.clientIdLastFour, "****x7Qz");
  assert.equal(shown.oidcConfig.pkce, true);
  const changed = succeeded(await sso.updateProvider({ providerId, oidcConfig: { scopes: ["openid", "email"] } }));
  assert.deepEqual(changed.oidcConfig.scopes, ["openid", "email"]);

  assert.deepEqual(succeeded(await sso.deleteProvider({ providerId })), { success: true });
  const gone = await sso.getProvider({ query: { providerId } });
  assert.equal(gone.error.status, 404);
});

test("others see nothing", async () => {
  const client = newClient(ssoClient());
  succeeded(await client.signUp.email({ name: "Eve", email: newAddress(), password: PASSWORD }));

  const refused = await client.sso.register({ providerId: "evil", issuer: PROVIDER, domain: "evil.example", oidcConfig });
  assert.equal(refused.error.status, 403);
  assert.deepEqual(succeeded(await client.sso.providers()).providers, []);
});
