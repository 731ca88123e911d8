// Administration of users.

import assert from "node:assert/strict";
import { NEW_PASSWORD, PASSWORD, holding, nobody, ok, refused } from "../client.js";

export async function stage(): Promise<void> {
  const email = process.env["ADMIN_EMAIL"] ?? "";
  const sdk = holding(ok(await nobody.authentication.signInEmail({ body: { email, password: PASSWORD } })).token);
  await runTheService(sdk);
  const wanted = { email: "grace@example.com", name: "Grace", password: PASSWORD, role: ["user"] };
  const { user } = ok(await sdk.admin.createUser({ body: wanted }));
  const body = { userId: user.id };
  assert.equal(ok(await sdk.admin.listUsers({ query: { searchValue: "grace", limit: 1 } })).users[0]?.id, user.id);
  assert.equal(ok(await sdk.admin.searchUsers({ query: { search: "grace" } })).users[0]?.id, user.id);
  assert.equal(ok(await sdk.admin.getUser({ query: { id: user.id } })).email, user.email);
  assert.equal(ok(await sdk.admin.updateUser({ body: { ...body, data: { name: "Grace H." } } })).name, "Grace H.");
  const [event] = ok(await sdk.audit.listEvents({ query: { subject: user.id, limit: 1 } })).events;
  assert.deepEqual(ok(await sdk.audit.getEvent({ query: { id: event?.id ?? "" } })), event);
  assert.deepEqual(ok(await sdk.apiKeys.listAll({ query: { owner: user.id } })).apiKeys, []);
  assert.ok(`${ok(await sdk.admin.exportUsers({ query: { search: "grace" } }))}`.includes(",grace@example.com,"));
  assert.ok(`${ok(await sdk.audit.exportEvents({ query: { subject: user.id } }))}`.includes("user.created"));
  assert.equal(ok(await sdk.statistics.get()).days?.length, 30);
  const acting = ok(await sdk.admin.impersonateUser({ body }));
  assert.ok(acting.session.impersonatedBy);
  assert.equal(ok(await holding(acting.session.token).admin.stopImpersonating()).session, null);
  ok(await sdk.admin.setRole({ body: { ...body, role: ["user", "admin"] } }));
  assert.ok(ok(await sdk.admin.hasPermission({ body: { permissions: { user: ["ban", "list"] } } })).success);
  assert.deepEqual(ok(await sdk.admin.listUserSessions({ body })).sessions, []);
  ok(await sdk.admin.revokeUserSession({ body: { sessionToken: "x".repeat(32) } }));
  assert.equal(ok(await sdk.admin.revokeUserSessions({ body })).count, 0);
  const [account] = ok(await sdk.admin.listUserAccounts({ query: { id: user.id } })).accounts;
  const unlinked = { ...body, accountId: account?.id ?? "" };
  assert.equal(refused(await sdk.admin.unlinkUserAccount({ body: unlinked })), "FAILED_TO_UNLINK_LAST_ACCOUNT");
  assert.deepEqual(ok(await sdk.admin.listUserPasskeys({ query: { id: user.id } })).passkeys, []);
  const lost = { ...body, passkeyId: "x".repeat(32) };
  assert.equal(refused(await sdk.admin.removeUserPasskey({ body: lost })), "PASSKEY_NOT_FOUND");
  ok(await sdk.admin.sendPasswordReset({ body }));
  assert.deepEqual(ok(await sdk.admin.exportUser({ query: { id: user.id } })).sessions, []);
  ok(await sdk.admin.setUserPassword({ body: { ...body, newPassword: NEW_PASSWORD } }));
  ok(await sdk.admin.resetTwoFactor({ body }));
  assert.ok(ok(await sdk.admin.banUser({ body })).user.banned);
  ok(await sdk.admin.unbanUser({ body }));
  ok(await sdk.admin.removeUser({ body }));
  assert.equal(refused(await sdk.admin.getUser({ query: { id: user.id } })), "USER_NOT_FOUND");
}

/** Looks after emails, signing keys and settings. */
async function runTheService(sdk: ReturnType<typeof holding>): Promise<void> {
  assert.ok(ok(await sdk.mail.listMessages({ query: { limit: 5 } })).mails.length > 0);
  const template = ok(await sdk.mail.listTemplates()).templates[0]?.name ?? "";
  assert.ok(ok(await sdk.mail.preview({ query: { template } })).subject);
  ok(await sdk.mail.sendPreview({ body: { template } }));
  const unknown = { mailId: "x".repeat(32) };
  assert.equal(refused(await sdk.mail.sendAgain({ body: unknown })), "MAIL_NOT_FOUND");
  assert.equal(refused(await sdk.mail.giveUp({ body: unknown })), "MAIL_NOT_FOUND");
  ok(await sdk.jwt.rotateSigningKey({ body: { algorithm: "ES256", now: true } }));
  const keyId = ok(await sdk.jwt.listSigningKeys()).keys.at(-1)?.id ?? "";
  ok(await sdk.jwt.revokeSigningKey({ body: { keyId } }));
  assert.ok(ok(await sdk.settings.listAll()).settings.length > 0);
  assert.ok(ok(await sdk.instances.listAll()).instances.length > 0);
  assert.ok(ok(await sdk.doctor.run()).findings.length > 0);
}
