// Connections for single sign-on, their domains, and what browsers and identity providers ask for.

import assert from "node:assert/strict";
import { PASSWORD, administrator, holding, nobody, ok, refused } from "../client.js";

const PROVIDER = "https://93.184.215.14";

export async function stage(): Promise<void> {
  const email = process.env["ADMIN_EMAIL"] ?? "";
  const sdk = holding(ok(await nobody.authentication.signInEmail({ body: { email, password: PASSWORD } })).token);
  const oidcConfig = {
    clientId: "client",
    clientSecret: "a-secret-of-the-provider",
    skipDiscovery: true,
    authorizationEndpoint: `${PROVIDER}/authorize`,
    tokenEndpoint: `${PROVIDER}/token`,
    jwksEndpoint: `${PROVIDER}/keys`,
  };
  const providerId = "acme";
  const wanted = { providerId, issuer: PROVIDER, domain: "acme.example", oidcConfig };
  const made = ok(await sdk.sso.register({ body: wanted }));
  assert.deepEqual(made.domains.map((one) => one.recordName), ["_gatewright-acme.acme.example"]);
  assert.deepEqual(ok(await sdk.sso.list()).providers.map((one) => one.providerId), [providerId]);
  const token = ok(await sdk.sso.requestDomain({ body: { providerId } })).domainVerificationToken;
  assert.equal(token, made.domainVerificationToken);
  assert.equal(refused(await sdk.sso.verifyDomain({ body: { providerId } })), "DOMAIN_VERIFICATION_FAILED");
  assert.equal(ok(await sdk.sso.update({ body: { providerId, name: "Acme" } })).name, "Acme");
  assert.equal(ok(await sdk.sso.get({ query: { providerId } })).name, "Acme");
  const test = ok(await sdk.sso.beginTest({ body: { providerId, callbackURL: "/" } }));
  assert.ok(test.url.startsWith(`${PROVIDER}/authorize?`));
  const result = await sdk.sso.takeTestResult({ body: { providerId, result: "x".repeat(32) } });
  assert.equal(refused(result), "SSO_TEST_NOT_FOUND");
  assert.equal(refused(await sdk.sso.metadata({ query: { providerId } })), "SSO_PROVIDER_NOT_FOUND");
  assert.equal(ok(await sdk.sso.remove({ body: { providerId } })).success, true);
  await signInWithoutConnection(providerId);
  await signOutWithoutConnection(providerId);
}

// Begin and complete sign-ins of a connection that is not there.
async function signInWithoutConnection(providerId: string): Promise<void> {
  const path = { providerId };
  assert.equal(refused(await nobody.sso.signIn({ body: { providerId, callbackURL: "/" } })), "SSO_PROVIDER_NOT_FOUND");
  const answer = await nobody.sso.receiveCallback({ path, query: { code: "y" } });
  assert.match(locationOf(answer, 302), /\/error\?error=state_not_found$/);
  const relayed = await nobody.sso.relayCallback({ path, body: { code: "y", state: "x" } });
  assert.match(locationOf(relayed, 303), /\/sso\/callback\/acme\?code=y&state=x$/);
  const consumed = await nobody.sso.consumeAssertion({ path, body: { SAMLResponse: "PHgvPg==", RelayState: "x" } });
  assert.match(locationOf(consumed, 303), /\/error\?error=oauth_provider_not_found$/);
  const completed = await nobody.sso.completeSignIn({ query: { state: "x" } });
  assert.match(locationOf(completed, 302), /\/error\?error=state_mismatch$/);
}

// Receive logout messages that end nothing, and sign out.
async function signOutWithoutConnection(providerId: string): Promise<void> {
  const path = { providerId };
  const admin = await administrator();
  assert.doesNotMatch(locationOf(await nobody.sso.endSession({ path }), 302), /error/);
  const posted = await nobody.sso.endSessionByPost({ path, body: { SAMLRequest: "PHgvPg==" } });
  assert.doesNotMatch(locationOf(posted, 303), /error/);
  const token = await nobody.sso.backchannelLogout({ path, body: { logout_token: "a.b.c" } });
  assert.equal(refused(token), "INVALID_LOGOUT_TOKEN");
  assert.equal(ok(await admin.sessions.getCurrent()).user.email, process.env["ADMIN_EMAIL"]);
  const left = ok(await admin.sso.signOut({ path, body: { callbackURL: "/" } }));
  assert.deepEqual([left.success, left.redirect], [true, true]);
  assert.match(left.url ?? "", /\/$/);
  assert.equal(refused(await admin.sessions.getCurrent()), "UNAUTHORIZED");
}

// Give the URL of a redirect of this status.
function locationOf({ response }: { response?: Response }, status: number): string {
  assert.equal(response?.status, status);
  return response.headers.get("location") ?? "";
}
