// A program that uses the generated TypeScript SDK as its users do: every operation of the contract, by its method.
// Run beside a service and a provider that the environment names; it prints nothing but what goes wrong.

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import type { Gatewright } from "gatewright-client";
import { TOTP, URI } from "otpauth";
import { ADA, NEW_PASSWORD, PASSWORD, PROVIDER, holding, mail, nobody, ok, refused, sent, signedIn, tokenIn } from "./client.js";

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

// Stages that follow upon each other come first; those of capabilities find Ada signed up.
for (const stage of [service, sessions, passwords, emailsAndProfile, twoFactor, providers]) await stage();
const stages = await readdir(new URL("stages", import.meta.url));
for (const name of stages.filter((each) => each.endsWith(".js")).sort()) {
  const { stage }: { stage: () => Promise<void> } = await import(`./stages/${name}`);
  await stage();
}
await deletion();
