// A program that uses the generated TypeScript SDK as its users do: every operation of the contract, by its method.
// Run beside a service and a provider that the environment names; it prints nothing but what goes wrong.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { Gatewright, type ErrorCode } from "gatewright-client";
import { createClient } from "gatewright-client/client";
import { TOTP, URI } from "otpauth";

const ROOT = process.env.SERVICE_ROOT ?? "";
const PROVIDER = process.env.PROVIDER_ISSUER ?? "";
const MAILS = process.env.MAIL_FILE ?? "";
const PASSWORD = "correct horse battery";
const NEW_PASSWORD = "four more words than before";
const ADA = "ada@example.com";
const PATIENCE = 10_000;

interface Mail {
  template: string;
  to: string;
  link: string | null;
  code: string | null;
  text: string;
}

/** The SDK for whoever holds this token, of a session or of a pending sign-in; without one, for nobody. */
function holding(token?: string, headers: Record<string, string> = {}): Gatewright {
  const client = createClient({ baseUrl: ROOT, auth: token, headers, redirect: "manual" });
  return new Gatewright({ client });
}

const nobody = holding();

interface Answer<Data> {
  data?: Data;
  error?: { code: ErrorCode; message: string };
}

/** Give the data of an answer that must be a success. */
function ok<Data>(answer: Answer<Data>): NonNullable<Data> {
  if (answer.error || answer.data === undefined || answer.data === null) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

/** Give the code of an answer that must be an error. */
function refused(answer: Answer<unknown>): ErrorCode {
  assert.ok(answer.error, "no error");
  return answer.error.code;
}

async function sent(template: string, to: string): Promise<Mail[]> {
  const lines = (await readFile(MAILS, "utf8").catch(() => "")).trim().split("\n").filter(Boolean);
  return lines.map((line): Mail => JSON.parse(line)).filter((each) => each.template === template && each.to === to);
}

async function mail(template: string, to: string, besides = 0): Promise<Mail> {
  const end = Date.now() + PATIENCE;
  while (Date.now() < end) {
    const mails = await sent(template, to);
    const newest = mails.at(-1);
    if (newest && mails.length > besides) return newest;
    await new Promise((resume) => setTimeout(resume, 50));
  }
  throw new Error(`no mail ${template} to ${to}`);
}

function tokenIn(sent: Mail): string {
  const address = new URL(sent.link ?? "");
  return address.searchParams.get("token") ?? address.pathname.split("/").at(-1) ?? "";
}

async function signedIn(password = PASSWORD): Promise<{ sdk: Gatewright; token: string }> {
  const { token } = ok(await nobody.authentication.signInEmail({ body: { email: ADA, password } }));
  return { sdk: holding(token), token };
}

async function service(): Promise<void> {
  assert.equal(ok(await nobody.service.checkHealth()).ok, true);
  assert.equal(ok(await nobody.service.checkReadiness()).ready, true);
  const page = ok(await nobody.service.showError({ query: { error: "SOME_ERROR" }, parseAs: "text" }));
  assert.match(page, /SOME_ERROR/);
}

async function sessions(): Promise<void> {
  assert.equal(ok(await nobody.users.checkUsername({ body: { username: "ada" } })).available, true);
  const body = { name: "Ada", email: ADA, password: PASSWORD, username: "ada", rememberMe: true };
  ok(await nobody.authentication.signUpEmail({ body }));
  const taken = { name: "Eve", email: ADA, password: PASSWORD };
  const again = await nobody.authentication.signUpEmail({ body: taken });
  assert.equal(refused(again), "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL");
  const [one, two, three] = [await signedIn(), await signedIn(), await signedIn()];
  const byName = ok(await nobody.authentication.signInUsername({ body: { username: "ADA", password: PASSWORD } }));
  assert.ok(byName.user?.createdAt instanceof Date);
  const current = ok(await holding(byName.token).sessions.getCurrent());
  assert.equal(current.user.email, ADA);
  assert.ok(current.session.expiresAt > current.session.createdAt);
  assert.equal(ok(await one.sdk.sessions.listActive()).length, 5);
  const { token } = ok(await one.sdk.jwt.issue());
  const { kid } = JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString());
  for (const published of [ok(await nobody.jwt.keys()), ok(await nobody.jwt.wellKnownKeys())]) {
    assert.ok(published.keys.some((key) => key.kid === kid));
  }
  ok(await one.sdk.sessions.revoke({ body: { token: two.token } }));
  assert.equal(refused(await two.sdk.sessions.getCurrent()), "UNAUTHORIZED");
  ok(await one.sdk.sessions.revokeOthers());
  assert.equal(refused(await three.sdk.sessions.getCurrent()), "UNAUTHORIZED");
  ok(await one.sdk.authentication.signOut());
  const four = await signedIn();
  ok(await four.sdk.sessions.revokeAll());
  assert.equal(refused(await four.sdk.sessions.getCurrent()), "UNAUTHORIZED");
}

async function passwords(): Promise<void> {
  const { sdk } = await signedIn();
  ok(await sdk.passwords.verify({ body: { password: PASSWORD } }));
  const body = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD, revokeOtherSessions: true };
  assert.equal(ok(await sdk.passwords.change({ body })).user.email, ADA);
  ok(await nobody.passwords.requestReset({ body: { email: ADA } }));
  const token = tokenIn(await mail("reset-password", ADA));
  ok(await nobody.passwords.checkResetToken({ path: { token } }));
  ok(await nobody.passwords.reset({ body: { newPassword: PASSWORD, token } }));
  assert.equal(refused(await nobody.passwords.reset({ body: { newPassword: PASSWORD, token } })), "INVALID_TOKEN");
  ok(await nobody.passwords.forget({ body: { email: ADA } }));
}

async function emailsAndProfile(): Promise<void> {
  const { sdk } = await signedIn();
  const before = (await sent("verify-email", ADA)).length; // The reset has ended the link of the sign-up.
  ok(await sdk.emails.sendVerification({ body: { email: ADA } }));
  ok(await nobody.emails.verify({ query: { token: tokenIn(await mail("verify-email", ADA, before)) } }));
  assert.equal(ok(await sdk.emails.change({ body: { newEmail: "countess@example.com" } })).verificationSent, true);
  await mail("change-email", "countess@example.com");
  ok(await sdk.users.update({ body: { name: "Countess", image: "https://example.com/ada.png" } }));
  const { user } = ok(await sdk.sessions.getCurrent());
  assert.deepEqual([user.name, user.emailVerified], ["Countess", true]);
}

async function pending(): Promise<Gatewright> {
  const answer = ok(await nobody.authentication.signInEmail({ body: { email: ADA, password: PASSWORD } }));
  assert.equal(answer.twoFactorRedirect, true);
  assert.deepEqual(answer.twoFactorMethods, ["totp", "otp"]);
  return holding(answer.token);
}

async function twoFactor(): Promise<void> {
  const { sdk } = await signedIn();
  ok(await sdk.twoFactor.enable({ body: { password: PASSWORD } }));
  const app = URI.parse(ok(await sdk.twoFactor.getTotpUri({ body: { password: PASSWORD } })).totpURI);
  assert.ok(app instanceof TOTP);
  ok(await sdk.twoFactor.verifyTotp({ body: { code: app.generate() } }));
  const codes = ok(await sdk.twoFactor.generateBackupCodes({ body: { password: PASSWORD } })).backupCodes;
  ok(await (await pending()).twoFactor.verifyTotp({ body: { code: app.generate() } }));
  const waiting = await pending();
  ok(await waiting.twoFactor.sendOtp());
  ok(await waiting.twoFactor.verifyOtp({ body: { code: (await mail("otp", ADA)).code ?? "", trustDevice: true } }));
  ok(await (await pending()).twoFactor.verifyBackupCode({ body: { code: codes[0] ?? "" } }));
  ok(await sdk.twoFactor.disable({ body: { password: PASSWORD } }));
}

async function providers(): Promise<void> {
  const { sdk } = await signedIn();
  const user = { sub: "7", email: ADA, email_verified: true, name: "Ada" };
  await fetch(`${PROVIDER}/control`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ user }),
  });
  const link = await sdk.social.link({ body: { provider: "test", callbackURL: "/" } });
  await comeBack(ok(link).url, link.response);
  const begun = await nobody.social.signIn({
    body: { provider: "test", scopes: ["openid", "email"], callbackURL: "/" },
  });
  await comeBack(ok(begun).url ?? "", begun.response);
  const relayed = await nobody.social.relayCallback({ path: { provider: "test" }, body: { state: "x", code: "y" } });
  assert.equal(relayed.response?.status, 303);
  const linked = ok(await sdk.accounts.listLinked());
  assert.deepEqual(linked.map((account) => account.provider), ["credential", "test"]);
  const body = { providerId: "test" };
  assert.equal(ok(await sdk.social.getAccessToken({ body })).tokenType, "Bearer");
  ok(await sdk.social.refreshToken({ body }));
  assert.equal(ok(await sdk.social.getProfile({ query: body })).user.email, ADA);
  ok(await sdk.accounts.unlink({ body }));
}

// Visit the provider, which decides at once, and bring what it answers to the service, with the flow's cookie.
async function comeBack(page: string, begun: Response | undefined): Promise<void> {
  const visited = await fetch(page, { redirect: "manual" });
  const answer = new URL(visited.headers.get("location") ?? "").searchParams;
  const cookie = begun?.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  const landed = await holding(undefined, { cookie }).social.receiveCallback({
    path: { provider: "test" },
    query: { code: answer.get("code") ?? "", state: answer.get("state") ?? "" },
  });
  assert.equal(landed.response?.status, 302);
  assert.doesNotMatch(landed.response?.headers.get("location") ?? "", /error/);
}

async function deletion(): Promise<void> {
  const { sdk } = await signedIn();
  assert.equal(refused(await sdk.users.confirmDeletion({ query: { token: "x".repeat(32) } })), "INVALID_TOKEN");
  ok(await sdk.users.delete({ body: { password: PASSWORD } }));
  assert.equal(refused(await sdk.sessions.getCurrent()), "UNAUTHORIZED");
  const email = "mallory@example.com";
  ok(await nobody.authentication.signUpEmail({ body: { name: "Mallory", email, password: PASSWORD } }));
  const [, token = ""] = /not-me\?token=(\w+)/.exec((await mail("verify-email", email)).text) ?? [];
  assert.equal(ok(await nobody.users.disown({ body: { token } })).success, true);
  assert.equal(refused(await nobody.users.disown({ body: { token } })), "INVALID_TOKEN");
}

async function administration(): Promise<void> {
  const email = process.env["ADMIN_EMAIL"] ?? "";
  const sdk = holding(ok(await nobody.authentication.signInEmail({ body: { email, password: PASSWORD } })).token);
  const wanted = { email: "grace@example.com", name: "Grace", password: PASSWORD, role: ["user"] };
  const { user } = ok(await sdk.admin.createUser({ body: wanted }));
  const body = { userId: user.id };
  assert.equal(ok(await sdk.admin.listUsers({ query: { searchValue: "grace", limit: 1 } })).users[0]?.id, user.id);
  assert.equal(ok(await sdk.admin.getUser({ query: { id: user.id } })).email, user.email);
  assert.equal(ok(await sdk.admin.updateUser({ body: { ...body, data: { name: "Grace H." } } })).name, "Grace H.");
  const acting = ok(await sdk.admin.impersonateUser({ body }));
  assert.ok(acting.session.impersonatedBy);
  assert.equal(ok(await holding(acting.session.token).admin.stopImpersonating()).session, null);
  ok(await sdk.admin.setRole({ body: { ...body, role: ["user", "admin"] } }));
  assert.ok(ok(await sdk.admin.hasPermission({ body: { permissions: { user: ["ban", "list"] } } })).success);
  assert.deepEqual(ok(await sdk.admin.listUserSessions({ body })).sessions, []);
  ok(await sdk.admin.revokeUserSession({ body: { sessionToken: "x".repeat(32) } }));
  assert.equal(ok(await sdk.admin.revokeUserSessions({ body })).count, 0);
  ok(await sdk.admin.setUserPassword({ body: { ...body, newPassword: NEW_PASSWORD } }));
  ok(await sdk.admin.resetTwoFactor({ body }));
  assert.ok(ok(await sdk.admin.banUser({ body })).user.banned);
  ok(await sdk.admin.unbanUser({ body }));
  ok(await sdk.admin.removeUser({ body }));
  assert.equal(refused(await sdk.admin.getUser({ query: { id: user.id } })), "USER_NOT_FOUND");
}

async function apiKeys(): Promise<void> {
  const { sdk } = await signedIn();
  const verifier = holding(process.env.VERIFIER);
  const made = ok(await sdk.apiKeys.create({ body: { name: "ci" } }));
  assert.equal(ok(await sdk.apiKeys.get({ query: { id: made.id } })).start, made.start);
  assert.equal(ok(await sdk.apiKeys.listOwn({ query: { sortBy: "name" } })).total, 1);
  assert.equal(ok(await verifier.apiKeys.verify({ body: { key: made.key } })).key?.id, made.id);
  ok(await sdk.apiKeys.update({ body: { keyId: made.id, enabled: false } }));
  assert.equal(ok(await verifier.apiKeys.verify({ body: { key: made.key } })).error?.code, "KEY_DISABLED");
  ok(await sdk.apiKeys.delete({ body: { keyId: made.id } }));
  assert.equal(refused(await sdk.apiKeys.get({ query: { id: made.id } })), "KEY_NOT_FOUND");
}

async function signInByMail(): Promise<void> {
  const [mary, grace, renamed] = ["mary@example.com", "grace.code@example.com", "grace.new@example.com"];
  ok(await nobody.magicLinks.request({ body: { email: ADA } }));
  const token = tokenIn(await mail("magic-link", ADA));
  assert.equal(ok(await nobody.magicLinks.peek({ query: { token } })).newUser, false);
  ok(await nobody.magicLinks.verify({ query: { token } }));
  ok(await nobody.magicLinks.request({ body: { email: mary } }));
  ok(await nobody.magicLinks.confirm({ body: { token: tokenIn(await mail("magic-link", mary)) } }));
  ok(await nobody.emailCodes.send({ body: { email: ADA, type: "sign-in" } }));
  const otp = await codeOf("sign-in-code", ADA);
  ok(await nobody.emailCodes.check({ body: { email: ADA, type: "sign-in", otp } }));
  ok(await nobody.emailCodes.signIn({ body: { email: ADA, otp } }));
  const made = ok(await nobody.authentication.signUpEmail({ body: { name: "Grace", email: grace, password: PASSWORD } }));
  ok(await nobody.emailCodes.send({ body: { email: grace, type: "email-verification" } }));
  ok(await nobody.emailCodes.verifyEmail({ body: { email: grace, otp: await codeOf("verify-email-code", grace) } }));
  const sdk = holding(made.token ?? "");
  ok(await sdk.emailCodes.requestChange({ body: { newEmail: renamed } }));
  ok(await sdk.emailCodes.changeEmail({ body: { newEmail: renamed, otp: await codeOf("change-email-code", renamed) } }));
  ok(await nobody.emailCodes.forgetPassword({ body: { email: mary } }));
  ok(await nobody.emailCodes.requestReset({ body: { email: ADA } }));
  const reset = { email: ADA, otp: await codeOf("reset-password-code", ADA), password: PASSWORD };
  ok(await nobody.emailCodes.resetPassword({ body: reset }));
}

async function passkeys(): Promise<void> {
  const { sdk } = await signedIn();
  const created = authenticator("create", ok(await sdk.passkeys.beginRegistration()));
  const added = ok(await sdk.passkeys.finishRegistration({ body: { response: created as never, name: "Laptop" } }));
  const signed = authenticator("get", ok(await sdk.passkeys.beginSignIn()));
  const answer = ok(await sdk.passkeys.signIn({ body: { response: signed as never } }));
  assert.equal("user" in answer && answer.user?.email, ADA);
  ok(await sdk.passkeys.rename({ body: { id: added.id, name: "Phone" } }));
  assert.deepEqual(ok(await sdk.passkeys.listOwn()).map((one) => one.name), ["Phone"]);
  ok(await sdk.passkeys.remove({ body: { id: added.id } }));
}

/** Ask the authenticator, which is a program, for its response. */
function authenticator(ceremony: string, options: unknown): unknown {
  const [program = "", ...given] = (process.env.AUTHENTICATOR ?? "").split(" ");
  return JSON.parse(execFileSync(program, [...given, ceremony], { input: JSON.stringify(options), encoding: "utf8" }));
}

async function codeOf(template: string, to: string): Promise<string> {
  return (await mail(template, to)).code ?? "";
}

for (const stage of [service, sessions, passwords, emailsAndProfile, twoFactor, providers, administration, apiKeys, signInByMail, passkeys, deletion]) await stage();
