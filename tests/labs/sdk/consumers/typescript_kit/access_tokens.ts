// Access tokens against forged ones. Keys are made here, and a server on this machine publishes them.
//
// It prints nothing but what goes wrong.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ApiError, Authenticator, type AuthenticatorOptions } from "gatewright-client/server";
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWTPayload } from "jose";

const ISSUER = "https://auth.example.com";
const ORDERS = "https://orders.example.com";
const NOW = Math.floor(Date.now() / 1000);
const INVALID = [401, "INVALID_TOKEN", 'Bearer error="invalid_token"'];

const current = await generateKeyPair("ES256");
const other = await generateKeyPair("ES256");
const published = { ...(await exportJWK(current.publicKey)), kid: "current", alg: "ES256", use: "sig" };
let fetches = 0;
const service = createServer((request, response) => {
  fetches++;
  response.setHeader("Content-Type", "application/json").end(JSON.stringify({ keys: [published] }));
});
await new Promise<void>((listening) => service.listen(0, "127.0.0.1", listening));
const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;

function authenticator(options: Partial<AuthenticatorOptions> = {}): Authenticator {
  return new Authenticator({ url, issuer: ISSUER, resource: ORDERS, ...options });
}

const by = (token: string) => ({ headers: new Headers({ Authorization: `Bearer ${token}` }) });
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Return an access token that is valid except for what is given; what is undefined is left out. */
async function token(claims: JWTPayload = {}, header: object = {}, key: CryptoKey | Uint8Array = current.privateKey) {
  const usual = { iss: ISSUER, aud: ORDERS, sub: "ada", client_id: "app_shop", iat: NOW, exp: NOW + 600, scope: "orders:read" };
  return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg: "ES256", kid: "current", typ: "at+jwt", ...header }).sign(key);
}

async function refusal(text: string, scopes: string[] = [], api = authenticator()) {
  try {
    await api.requireAccessToken(by(text), { scopes });
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    return [error.status, error.code, error.headers()["WWW-Authenticate"]];
  }
  return assert.fail("the token was accepted");
}

const usual = authenticator();
const valid = await token({ scope: "orders:read orders:write" });
const { clientId, userId, scopes } = await usual.requireAccessToken(by(valid), { scopes: ["orders:write"] });
assert.deepEqual([clientId, userId, scopes], ["app_shop", "ada", ["orders:read", "orders:write"]]);
assert.equal((await usual.requireAccessToken(by(await token({ sub: "app_shop" })))).userId, undefined);
for (const typ of ["AT+JWT", "application/at+jwt"]) await usual.requireAccessToken(by(await token({}, { typ })));

const [, payload] = valid.split(".");
const header = { alg: "none", kid: "current", typ: "at+jwt" };
const forged = {
  "for another API": await token({ aud: "https://reports.example.com" }),
  "for no API": await token({ aud: undefined }),
  "for the session": await token({ aud: ISSUER }),
  "an ID token": await token({}, { typ: "JWT" }),
  "a logout token": await token({}, { typ: "logout+jwt" }),
  "without a type": await token({}, { typ: undefined }),
  unsigned: `${encoded(header)}.${payload}.`,
  "without a signature": `${encoded({ ...header, alg: "ES256" })}.${payload}.`,
  "by the public key": await token({}, { alg: "HS256" }, Buffer.from(published.x ?? "", "base64url")),
  "by another key": await token({}, {}, other.privateKey),
  "by its own key": await token({}, { jwk: await exportJWK(other.publicKey) }, other.privateKey),
  "of another issuer": await token({ iss: "https://evil.example" }),
  "of no issuer": await token({ iss: undefined }),
  expired: await token({ exp: NOW - 61 }),
  "without an end": await token({ exp: undefined }),
  "from the future": await token({ nbf: NOW + 120 }),
  "without an application": await token({ client_id: undefined }),
  "with a list of scopes": await token({ scope: ["orders:read"] }),
  nonsense: "x.y.z",
  "too long": "a".repeat(9000),
};
for (const [name, text] of Object.entries(forged)) assert.deepEqual(await refusal(text, [], usual), INVALID, name);

const challenge = 'Bearer error="insufficient_scope", scope="orders:read orders:write"';
for (const scope of ["orders:read", "orders:read orders:write2", "", undefined]) {
  const needed = ["orders:read", "orders:write"];
  assert.deepEqual(await refusal(await token({ scope }), needed, usual), [403, "INSUFFICIENT_SCOPE", challenge]);
}

// Clocks that differ by up to a minute.
const at = (seconds: number) => authenticator({ now: () => new Date(seconds * 1000) });
await at(NOW + 659).requireAccessToken(by(valid));
assert.deepEqual(await refusal(valid, [], at(NOW + 661)), INVALID);

// Forged key ids cause one fetch at most in a minute, and lock nobody out.
const before = fetches;
const flooded = authenticator();
await flooded.requireAccessToken(by(valid));
for (let number = 0; number < 50; number++) {
  assert.deepEqual(await refusal(await token({}, { kid: `forged-${number}` }), [], flooded), INVALID);
}
assert.ok(fetches - before <= 2, `${fetches - before} fetches`);
await flooded.requireAccessToken(by(valid));

await assert.rejects(authenticator({ resource: undefined }).requireAccessToken(by(valid)), /option `resource`/);
service.close();
service.closeAllConnections();
