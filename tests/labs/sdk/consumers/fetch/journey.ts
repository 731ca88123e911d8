// A program whose types another generator, openapi-typescript, has read straight from a document that a service serves.
//
// Run beside two services that the environment names, the second of which requires no session; it prints nothing but
// what goes wrong.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type ErrorCode = components["schemas"]["ErrorCode"];

const EMAIL = "ada@example.com";
const PASSWORD = "correct horse battery";

/** A client of nobody, or of a session. */
function holding(token?: string, baseUrl = process.env["SERVICE_ROOT"]!) {
  return createClient<paths>({ baseUrl, headers: token === undefined ? {} : { Authorization: `Bearer ${token}` } });
}

/** Give what was answered; an error ends the journey. */
function ok<Data>(answer: { data?: Data; error?: unknown }): Data {
  assert.equal(answer.error, undefined);
  return answer.data as Data;
}

/** See that a request was refused in this way. */
function refused(
  answer: { error?: components["schemas"]["Error"]; response: Response },
  status: number,
  code: ErrorCode,
): void {
  assert.deepEqual([answer.response.status, answer.error?.code], [status, code]);
  assert.notEqual(answer.error?.message, "");
}

async function signIn() {
  const body = { email: EMAIL, password: PASSWORD, rememberMe: true };
  return ok(await holding().POST("/sign-in/email", { body }));
}

const wanted = { name: "Ada", email: EMAIL, password: PASSWORD };
assert.equal(ok(await holding().POST("/sign-up/email", { body: wanted })).token?.length, 32);
refused(await holding().POST("/sign-up/email", { body: wanted }), 422, "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL");
const wrong = { email: EMAIL, password: "wrong" };
refused(await holding().POST("/sign-in/email", { body: wrong }), 401, "INVALID_EMAIL_OR_PASSWORD");

const [one, two] = [await signIn(), await signIn()];
assert.equal(one.user?.email, EMAIL);
const ada = holding(one.token);
assert.equal(ok(await ada.GET("/get-session"))?.user.email, EMAIL);
assert.equal(ok(await ada.GET("/list-sessions")).length, 3);
assert.equal(ok(await ada.POST("/revoke-session", { body: { token: two.token } })).status, true);
refused(await holding(two.token).GET("/get-session"), 401, "UNAUTHORIZED");
assert.equal(ok(await holding(undefined, process.env["OPEN_ROOT"]!).GET("/get-session")), null);

ok(await ada.POST("/update-user", { body: { name: "Countess", image: "https://example.com/ada.png" } }));
ok(await ada.POST("/update-user", { body: { image: null } }));
const user = ok(await ada.GET("/get-session"))?.user;
assert.deepEqual([user?.name, user?.image], ["Countess", null]);
const enabled = ok(await ada.POST("/two-factor/enable", { body: { password: PASSWORD } }));
assert.equal(enabled.backupCodes.length, 10);
assert.match(enabled.totpURI ?? "", /^otpauth:/);
assert.equal(ok(await ada.POST("/sign-out")).success, true);
refused(await ada.GET("/get-session"), 401, "UNAUTHORIZED");
