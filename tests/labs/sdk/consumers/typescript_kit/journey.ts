// A program that uses the part of the kit that needs no framework, as its users do: calls, lists, and tokens while keys
// are rotated, cannot be fetched, or clocks differ. Run beside a service; it prints nothing but what goes wrong.

import assert from "node:assert/strict";
import type { Gatewright } from "gatewright-client";
import { ApiError, Authenticator, connect, iterate, unwrap, type AuthenticatorOptions } from "gatewright-client/server";
import { Proxy } from "./proxy.js";

const { SERVICE_ROOT = "", ADMIN_EMAIL = "" } = process.env;
const PASSWORD = "correct horse battery";

async function refused(call: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await call.then(() => assert.fail("no error"), (reason: unknown) => reason);
  assert.ok(error instanceof ApiError, String(error));
  return error;
}

async function signedIn(email: string): Promise<{ gatewright: Gatewright; token: string }> {
  const { token } = await unwrap(connect({ url: SERVICE_ROOT }).authentication.signInEmail({ body: { email, password: PASSWORD } }));
  return { gatewright: connect({ url: SERVICE_ROOT, token }), token };
}

async function errors(): Promise<void> {
  const visitor = connect({ url: SERVICE_ROOT });
  const incomplete = { email: ADMIN_EMAIL } as { email: string; password: string };
  const malformed = await refused(unwrap(visitor.authentication.signInEmail({ body: incomplete })));
  assert.deepEqual([malformed.status, malformed.code], [400, "VALIDATION_ERROR"]);
  assert.deepEqual(malformed.fields.map(({ name }) => name), ["password"]);
  const wrong = await refused(unwrap(visitor.authentication.signInEmail({ body: { email: ADMIN_EMAIL, password: "no" } })));
  assert.deepEqual([wrong.status, wrong.code], [401, "INVALID_EMAIL_OR_PASSWORD"]);
  assert.match(wrong.requestId ?? "", /^\w{32}$/);
}

async function lists(gatewright: Gatewright): Promise<void> {
  for (let number = 0; number < 5; number++) {
    const body = { name: "Ada", email: `ada${number}@example.com`, password: PASSWORD };
    await unwrap(gatewright.authentication.signUpEmail({ body }));
  }
  const found: string[] = [];
  for await (const user of iterate((position) => gatewright.admin.searchUsers({ query: { ...position, limit: 2 } }))) {
    found.push(user.email);
  }
  const listed: string[] = [];
  for await (const user of iterate((position) => gatewright.admin.listUsers({ query: { ...position, limit: 4 } }))) {
    listed.push(user.email);
  }
  assert.deepEqual([found.length, new Set(found)], [6, new Set(listed)]);
  const times: Date[] = [];
  for await (const event of iterate((position) => gatewright.audit.listEvents({ query: { ...position, limit: 3 } }))) {
    times.push(event.time);
  }
  assert.ok(times.length > 6);
  assert.deepEqual(times, times.toSorted((one, other) => other.getTime() - one.getTime()));
  const { gatewright: ada } = await signedIn("ada1@example.com");
  const error = await refused(iterate((position) => ada.admin.listUsers({ query: position })).next());
  assert.equal(error.status, 403);
}

async function repetitions(token: string): Promise<void> {
  const proxy = await new Proxy(SERVICE_ROOT).listen();
  const gatewright = connect({ url: proxy.url, token, timeout: 3000 });
  proxy.failures = [503, "close"];
  assert.equal((await unwrap(gatewright.sessions.getCurrent()))?.user.email, ADMIN_EMAIL);
  assert.equal(proxy.requests.length, 3);

  proxy.failures = [502, 502, 502];
  const gone = await refused(unwrap(gatewright.sessions.getCurrent()));
  assert.deepEqual([gone.status, gone.code], [503, "SERVICE_UNAVAILABLE"]);
  assert.equal(proxy.requests.length, 6);

  // A POST may have been carried out, except after 429.
  proxy.failures = ["close"];
  const body = { password: PASSWORD };
  assert.equal((await refused(unwrap(gatewright.passwords.verify({ body })))).code, "SERVICE_UNAVAILABLE");
  assert.equal(proxy.requests.length, 7);
  proxy.failures = [429];
  await unwrap(gatewright.passwords.verify({ body }));
  assert.equal(proxy.requests.length, 9);

  proxy.failures = ["silence"];
  const began = performance.now();
  const silent = await refused(unwrap(connect({ url: proxy.url, token, timeout: 300 }).sessions.getCurrent()));
  assert.deepEqual([silent.code, silent.retryAfter], ["SERVICE_UNAVAILABLE", 5]);
  assert.ok(performance.now() - began < 2500);

  // The client of a caller has the options of its authenticator.
  proxy.failures = [502];
  const caller = new Authenticator({ url: proxy.url, retries: 0 }).client({ headers: new Headers({ Authorization: `Bearer ${token}` }) });
  assert.equal((await refused(unwrap(caller.sessions.getCurrent()))).code, "SERVICE_UNAVAILABLE");

  // Without a connection, nothing was carried out.
  await proxy.close();
  const late = await new Proxy(SERVICE_ROOT).listen();
  await late.close();
  const verifying = unwrap(connect({ url: late.url, token, retries: 6, timeout: 10_000 }).passwords.verify({ body }));
  await late.listen();
  await verifying;
  await late.close();
}

async function tokens(session: string): Promise<void> {
  const proxy = await new Proxy(SERVICE_ROOT).listen();
  const keysFetched = () => proxy.requests.filter((request) => request.includes("jwks")).length;
  const issuer = SERVICE_ROOT;
  const authenticator = (options: Partial<AuthenticatorOptions> = {}) =>
    new Authenticator({ url: proxy.url, issuer, timeout: 1000, ...options });
  const issue = async () => (await unwrap(connect({ url: SERVICE_ROOT, token: session }).jwt.issue())).token;
  const by = (token: string) => ({ headers: new Headers({ Authorization: `Bearer ${token}` }) });

  const token = await issue();
  const usual = authenticator();
  const { sub, iat = 0, exp } = await usual.requireToken(by(token));
  for (let count = 0; count < 10; count++) assert.equal((await usual.requireToken(by(token))).sub, sub);
  assert.equal(keysFetched(), 1);

  // Clocks that differ by up to a minute.
  const at = (seconds: number) => authenticator({ now: () => new Date(seconds * 1000) }).requireToken(by(token));
  await at(exp + 59);
  await at(iat - 60);
  assert.equal((await refused(at(exp + 60))).code, "INVALID_TOKEN");

  // A key that is rotated while tokens are used.
  const attentive = authenticator({ keysSearchInterval: 0 });
  await attentive.requireToken(by(token));
  await unwrap(connect({ url: SERVICE_ROOT, token: session }).jwt.rotateSigningKey({ body: { algorithm: "ES256", now: true } }));
  const next = await issue();
  assert.notEqual(next.split(".")[0], token.split(".")[0]);
  await attentive.requireToken(by(next));
  await attentive.requireToken(by(token));
  // With an interval, random key ids do not lead to requests.
  assert.equal((await refused(usual.requireToken(by(next)))).code, "INVALID_TOKEN");

  // Keys that cannot be fetched.
  await proxy.close();
  await usual.requireToken(by(token));
  await attentive.requireToken(by(next));
  const refreshing = authenticator({ keysRefreshAfter: 0 });
  const expiring = authenticator({ keysExpireAfter: 0 });
  for (const one of [refreshing, expiring]) {
    const away = await refused(one.requireToken(by(token)));
    assert.deepEqual([away.status, away.code, away.retryAfter], [503, "SERVICE_UNAVAILABLE", 5]);
  }
  await proxy.listen();
  for (const one of [refreshing, expiring]) await one.requireToken(by(token));
  await proxy.close();
  await refreshing.requireToken(by(token));
  assert.equal((await refused(expiring.requireToken(by(token)))).status, 503);
}

const { gatewright, token } = await signedIn(ADMIN_EMAIL);
await errors();
await lists(gatewright);
await repetitions(token);
await tokens(token);
