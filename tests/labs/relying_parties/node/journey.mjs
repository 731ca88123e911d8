// Sign a user in by openid-client; verify access tokens by jose with nothing but the keys of the service.

import { createInterface } from "node:readline";
import { createRemoteJWKSet, importJWK, jwtVerify } from "jose";
import * as oidc from "openid-client";

const told = JSON.parse(process.env.APPLICATION);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function ask(question) {
  console.log(JSON.stringify(question));
  return JSON.parse((await lines.next()).value);
}

/** Return the error code that a call fails with. */
async function refusal(call) {
  try {
    await call;
  } catch (error) {
    if (error.error) return error.error;
    throw error;
  }
  return null;
}

async function authentication() {
  switch (told.method) {
    case "basic":
      return oidc.ClientSecretBasic(told.secret);
    case "post":
      return oidc.ClientSecretPost(told.secret);
    case "none":
      return oidc.None();
    case "key":
      return oidc.PrivateKeyJwt({ key: await importJWK(told.private_key, "ES256"), kid: told.private_key.kid });
  }
}

const config = await oidc.discovery(
  new URL(told.issuer),
  told.client_id,
  { id_token_signed_response_alg: told.id_token_alg },
  await authentication(),
  { algorithm: told.discovery ?? "oidc", execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks] },
);
const server = config.serverMetadata();

/** Send the user through the service; return the tokens. */
async function authorize(scope, more = {}) {
  const verifier = oidc.randomPKCECodeVerifier();
  const checks = { pkceCodeVerifier: verifier, expectedState: oidc.randomState(), expectedNonce: oidc.randomNonce() };
  const parameters = {
    redirect_uri: told.redirect_uri,
    scope,
    state: checks.expectedState,
    nonce: checks.expectedNonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    ...more,
  };
  const url = told.pushed
    ? await oidc.buildAuthorizationUrlWithPAR(config, parameters)
    : oidc.buildAuthorizationUrl(config, parameters);
  const callback = new URL(await ask({ open: url.href }));
  const resource = more.resource ? { resource: more.resource } : {};
  return { url, callback, checks, tokens: await oidc.authorizationCodeGrant(config, callback, checks, resource) };
}

async function verifyAccessToken(token) {
  const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(server.jwks_uri)), {
    issuer: told.issuer,
    audience: told.api,
    typ: "at+jwt",
    requiredClaims: ["exp", "sub", "client_id", "scope", "jti"],
  });
  return payload;
}

async function inBrowser() {
  const seen = {};
  const { url, callback, checks, tokens } = await authorize("openid profile email offline_access");
  seen.query = [...url.searchParams.keys()].sort();
  seen.claims = tokens.claims();
  seen.user = await oidc.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);
  seen.replay = await refusal(oidc.authorizationCodeGrant(config, callback, checks));

  const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token);
  seen.rotated = refreshed.refresh_token !== tokens.refresh_token;
  seen.refreshed = refreshed.claims().sub;
  if (told.method !== "none") {
    seen.active = (await oidc.tokenIntrospection(config, refreshed.access_token)).active;
    const own = await oidc.clientCredentialsGrant(config, { resource: told.api, scope: "orders:read" });
    seen.own = await verifyAccessToken(own.access_token);
  }

  const orders = await authorize("openid orders:read", { resource: told.api });
  seen.api = await verifyAccessToken(orders.tokens.access_token);

  await oidc.tokenRevocation(config, refreshed.refresh_token);
  seen.revoked = await refusal(oidc.refreshTokenGrant(config, refreshed.refresh_token));
  if (told.method !== "none") {
    seen.inactive = (await oidc.tokenIntrospection(config, refreshed.access_token)).active;
  }

  const leave = oidc.buildEndSessionUrl(config, {
    id_token_hint: refreshed.id_token,
    post_logout_redirect_uri: told.post_logout_redirect_uri,
    state: "bye",
  });
  seen.left = await ask({ open: leave.href });
  seen.silent = await refusal(authorize("openid", { prompt: "none" }));
  return seen;
}

async function onDevice() {
  const seen = {};
  const started = await oidc.initiateDeviceAuthorization(config, { scope: "openid email offline_access" });
  seen.name = await ask({ approve: started.user_code });
  const tokens = await oidc.pollDeviceAuthorizationGrant(config, started, {}, { signal: AbortSignal.timeout(30_000) });
  seen.claims = tokens.claims();
  seen.user = await oidc.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);
  const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token);
  seen.rotated = refreshed.refresh_token !== tokens.refresh_token;
  await oidc.tokenRevocation(config, refreshed.refresh_token);
  seen.revoked = await refusal(oidc.refreshTokenGrant(config, refreshed.refresh_token));
  return seen;
}

console.log(JSON.stringify({ done: told.device ? await onDevice() : await inBrowser() }));
process.exit(0);
